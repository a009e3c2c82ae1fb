"""F1 and correlation over labels of classes. A label is any hashable value; a prediction may be foreign."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence


def _count_classes(
    predictions: Sequence[Hashable], references: Sequence[Hashable]
) -> tuple[Counter[Hashable], Counter[Hashable], Counter[Hashable]]:
    """Return how often each class was right, predicted and expected."""
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
    """Return the mean of the classes' F1, each class counting alike."""
    scores = compute_f1_by_class(predictions, references)
    return math.fsum(scores.values()) / len(scores)


def micro_f1(predictions: Sequence[Hashable], references: Sequence[Hashable]) -> float:
    """Return F1 over all decisions together: with one label per row, the share that is right."""
    right, predicted, _ = _count_classes(predictions, references)
    return right.total() / predicted.total()


def one_against_rest(
    predictions: Sequence[Hashable], references: Sequence[Hashable], classes: Sequence[Hashable]
) -> float:
    """Return the mean over classes of the share of rows where "is it this class?" was answered right.

    Rises towards 1 with the number of classes, since most rows are rightly not of most classes. Some systems
    call it F1 over several classes.
    """
    pairs = list(zip(predictions, references, strict=True))
    if not pairs or not classes:
        raise ValueError("expected at least one prediction and one class")
    agreed = sum(
        (prediction == name) == (reference == name) for prediction, reference in pairs for name in classes
    )
    return agreed / (len(pairs) * len(classes))


def matthews(predictions: Sequence[Hashable], references: Sequence[Hashable]) -> float:
    """Return Matthews' correlation for any number of classes, -1 to 1.

    (right · n - Σ predicted · expected) / √((n² - Σ predicted²) (n² - Σ expected²)). 0 when either side
    knows one class only, where nothing can correlate.
    """
    right, predicted, expected = _count_classes(predictions, references)
    n = len(predictions)
    spread = (n * n - _products(predicted, predicted)) * (n * n - _products(expected, expected))
    if not spread:
        return 0.0
    return (right.total() * n - _products(predicted, expected)) / math.sqrt(spread)


def _products(one: Counter[Hashable], other: Counter[Hashable]) -> int:
    return sum(count * other[name] for name, count in one.items())
