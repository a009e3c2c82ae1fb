"""Macro F1 and Matthews correlation over class labels. A label is any hashable value."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence


def _count_classes(
    predictions: Sequence[Hashable], references: Sequence[Hashable]
) -> tuple[Counter[Hashable], Counter[Hashable], Counter[Hashable]]:
    """Return how often each class was predicted correctly, predicted, and expected."""
    if not predictions:
        raise ValueError("expected at least one prediction")
    pairs = list(zip(predictions, references, strict=True))
    right = Counter(reference for prediction, reference in pairs if prediction == reference)
    return right, Counter(predictions), Counter(references)


def compute_f1_by_class(
    predictions: Sequence[Hashable], references: Sequence[Hashable]
) -> dict[Hashable, float]:
    """Return 2 · right / (predicted + expected) for each class that was predicted or expected."""
    right, predicted, expected = _count_classes(predictions, references)
    return {name: 2 * right[name] / (predicted[name] + expected[name]) for name in predicted | expected}


def macro_f1(predictions: Sequence[Hashable], references: Sequence[Hashable]) -> float:
    """Return the mean of the classes' F1, with equal weights."""
    scores = compute_f1_by_class(predictions, references)
    return math.fsum(scores.values()) / len(scores)


def matthews(predictions: Sequence[Hashable], references: Sequence[Hashable]) -> float:
    """Return the Matthews correlation for any number of classes, from -1 to 1.

    (right · n - Σ predicted · expected) / √((n² - Σ predicted²) (n² - Σ expected²)). 0 if predictions or
    references contain only one class.
    """
    right, predicted, expected = _count_classes(predictions, references)
    n = len(predictions)
    spread = (n * n - _products(predicted, predicted)) * (n * n - _products(expected, expected))
    if not spread:
        return 0.0
    return (right.total() * n - _products(predicted, expected)) / math.sqrt(spread)


def _products(one: Counter[Hashable], other: Counter[Hashable]) -> int:
    return sum(count * other[name] for name, count in one.items())
