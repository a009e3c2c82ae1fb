from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.metrics.classification import (
    compute_f1_by_class,
    macro_f1,
    matthews,
)

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12)


def parted(rows: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [row[0] for row in rows], [row[1] for row in rows]


@given(ROWS)
def test_f1_by_class_and_its_means(rows: list[tuple[int, int]]) -> None:
    predictions, references = parted(rows)
    expected = {}
    for name in {*predictions, *references}:
        hits = sum(prediction == reference == name for prediction, reference in rows)
        precision = hits / predictions.count(name) if name in predictions else 0.0
        recall = hits / references.count(name) if name in references else 0.0
        expected[name] = 2 * precision * recall / (precision + recall) if hits else 0.0
    assert compute_f1_by_class(predictions, references) == pytest.approx(expected)
    assert macro_f1(predictions, references) == pytest.approx(sum(expected.values()) / len(expected))


@given(ROWS)
def test_matthews_is_the_correlation_of_indicators(rows: list[tuple[int, int]]) -> None:
    """Gorodkin's definition: covariances of the one-hot rows, summed over classes."""
    predictions, references = parted(rows)
    one, other = np.eye(4)[predictions], np.eye(4)[references]
    one, other = one - one.mean(axis=0), other - other.mean(axis=0)
    below = math.sqrt((one * one).sum() * (other * other).sum())
    expected = float((one * other).sum()) / below if below > 1e-9 else 0.0
    assert matthews(predictions, references) == pytest.approx(expected, abs=1e-9)


def test_matthews_of_two_classes_at_its_ends() -> None:
    assert matthews([0, 1, 1, 0], [0, 1, 1, 0]) == 1
    assert matthews([0, 1, 1, 0], [1, 0, 0, 1]) == -1
    assert matthews([1, 1, 1], [0, 1, 1]) == 0


def test_nothing_to_count_is_rejected() -> None:
    for score in (macro_f1, matthews):
        with pytest.raises(ValueError, match="at least one"):
            score([], [])
        with pytest.raises(ValueError, match="zip"):
            score([1], [])
