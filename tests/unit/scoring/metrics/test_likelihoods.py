from __future__ import annotations

import math
from typing import Any

import pytest

from assay.core.errors import AuthorError
from assay.scoring.metrics import PPL


def test_ppl_is_the_mean_and_lower_is_better() -> None:
    metric = PPL()
    assert metric([1.0, 2.5], [None, None]) == {"PPL": 1.75}
    assert metric.last_score_lists == {"PPL": [1.0, 2.5]}
    assert not metric.higher_is_better


@pytest.mark.parametrize("prediction", ["x", None, math.inf, math.nan])
def test_ppl_of_what_is_no_number_is_an_error(prediction: Any) -> None:
    with pytest.raises(AuthorError, match="METRIC-002 PPL, row 2"):
        PPL()([1.0, prediction], [None, None])
