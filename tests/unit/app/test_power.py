"""What is printed before a run about the differences that it could show."""

from __future__ import annotations

import re

import numpy as np
import pytest

from assay.app.power import EXPECTED_DISCORDANCE, describe_detectable_difference
from assay.results.paired import mcnemar


@pytest.mark.parametrize("n", [200, 500])
def test_the_difference_is_detected_with_80_percent_power(n: int) -> None:
    line = describe_detectable_difference([n])
    found = re.search(r"differences of ([\d.]+) points", line)
    assert found is not None
    d = float(found[1]) / 100
    generator = np.random.default_rng(n)
    lost, won = (EXPECTED_DISCORDANCE + d) / 2, (EXPECTED_DISCORDANCE - d) / 2
    counts = generator.multinomial(n, [lost, won, 1 - lost - won], 4000)
    power = np.mean([mcnemar(int(b), int(c)) < 0.05 for b, c, _ in counts])
    # The formula is that of the asymptotic test; the exact one is a little less powerful.
    assert power == pytest.approx(0.8, abs=0.06)


def test_few_rows_and_subsets() -> None:
    assert describe_detectable_difference([1]) == "with 1 row, no difference between two runs is detectable"
    few = describe_detectable_difference([20])
    assert re.fullmatch(
        r"with 20 rows, only differences of [\d.]+ points or more are detectable \(80 % power\)", few
    )
    assert "if two runs disagree on 10 % of the rows" in describe_detectable_difference([200])
    assert describe_detectable_difference([100, 100]) == describe_detectable_difference([200])
    uneven, even = (
        float(re.search(r"of ([\d.]+) points", describe_detectable_difference(sizes))[1])  # type: ignore[index]
        for sizes in ([20, 380], [200, 200])
    )
    assert uneven > 2 * even
