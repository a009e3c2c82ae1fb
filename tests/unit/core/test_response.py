from __future__ import annotations

import pytest

from assay.core.response import LabelProbs


@pytest.mark.parametrize(
    ("probs", "at_most", "decided"),
    [
        ((0.2, 0.5, 0.1), (), 1),
        ((0.5, 0.5), (), 0),
        ((0.0, 0.0), (), None),
        # A label whose bound is below the best cannot win; one whose bound is above it may.
        ((0.0, 0.5), (0.4, 0.5), 1),
        ((0.0, 0.5), (0.6, 0.5), None),
        # Of equals the first wins: one before the best may be it, one behind it may not.
        ((0.0, 0.5), (0.5, 0.5), None),
        ((0.5, 0.0), (0.5, 0.5), 0),
    ],
)
def test_a_label_is_decided_where_no_other_can_be_it(
    probs: tuple[float, ...], at_most: tuple[float, ...], decided: int | None
) -> None:
    assert LabelProbs(probs, sum(probs), 1, at_most=at_most).decided_label == decided
