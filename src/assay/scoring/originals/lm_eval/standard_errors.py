"""Standard errors as lm-eval computes them.

The mean has a formula. For other aggregations, the values of all documents are drawn again many times: the
standard deviation of the aggregations of these draws. Draws come in chunks, each with its own generator.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.scoring.originals.leap.aggregations import (
    acc_all,
    bleu,
    chrf,
    f1_score,
    matthews_corrcoef,
    mean,
    mean_stderr,
    perplexity,
    ter,
)
from assay.scoring.originals.lm_eval.metrics import chrf_plus_plus, median, nanmean

ITERATIONS = 100_000
_CHUNK = 1_000
_BATCH_VALUES = 2_000_000
"""Maximum numbers drawn at once, to bound memory."""
_SLOW = ("bleu", "chrf", "chrf++", "ter")
_SLOW_ITERATIONS = 100
_BY_LISTS = (bleu, chrf, chrf_plus_plus, ter)
"""Aggregations that are called with each draw."""

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


def estimate_stderr(
    metric: str, aggregation: Callable[[Any], Any], values: Sequence[Any], iterations: int = ITERATIONS
) -> float | None:
    """Return the standard error of a metric over all documents; None if the original computes none."""
    if iterations <= 0 or len(values) < 2:
        return None
    if aggregation is mean:
        return mean_stderr(values)
    if aggregation is acc_all:
        return _acc_all_stderr(values)
    n = min(iterations, _SLOW_ITERATIONS) if metric in _SLOW else iterations
    if aggregation in _BY_LISTS:
        draws = (aggregation([values[at] for at in row]) for rows in _draw(len(values), n) for row in rows)
        return _sample_stddev(np.fromiter(draws, dtype=np.float64))
    compute = _VECTORISED.get(aggregation)
    if compute is None:
        return None
    prepared = compute(values)
    return _sample_stddev(np.concatenate([prepared(rows) for rows in _draw(len(values), n)]))


def combine_stderrs(stderrs: Sequence[float], sizes: Sequence[int], *, is_weighted: bool) -> float:
    """Return the standard error of a group's mean over its tasks.

    Weighted by size: the pooled variance of all documents. Otherwise: the root of the sum of squares.
    """
    if not is_weighted:
        return math.sqrt(math.fsum(one**2 for one in stderrs)) / len(stderrs)
    total = sum(sizes)
    squares = math.fsum((n - 1) * one**2 * n for one, n in zip(stderrs, sizes, strict=True))
    return math.sqrt(squares / (total - len(sizes)) / total)


def combine_values(values: Sequence[float], sizes: Sequence[int], *, is_weighted: bool) -> float:
    """Return a group's mean over its tasks."""
    weights = sizes if is_weighted else [1] * len(values)
    return math.fsum(one * n for one, n in zip(values, weights, strict=True)) / sum(weights)


def _acc_all_stderr(items: Sequence[tuple[Any, Any]]) -> float | None:
    # The original distinguishes questions by their number alone, not by their paragraph.
    questions: dict[Any, bool] = {}
    for prediction, doc in items:
        number = doc["idx"]["question"]
        questions[number] = questions.get(number, True) and bool(prediction) == (doc["label"] == 1)
    return mean_stderr([int(one) for one in questions.values()]) if len(questions) > 1 else None


def _draw(n_values: int, iterations: int) -> Iterator[Numbers]:
    """Yield draws with replacement as rows of positions: those of `random.Random(chunk).choices`."""
    size = min(_CHUNK, iterations)
    at_once = max(1, _BATCH_VALUES // n_values)
    for chunk in range(iterations // size):
        state = random.Random(chunk).getstate()[1]
        generator = np.random.RandomState()
        # The same generator in numpy draws many numbers at once.
        generator.set_state(("MT19937", np.array(state[:-1], dtype=np.uint32), state[-1], 0, 0.0))
        for begin in range(0, size, at_once):
            rows = min(at_once, size - begin)
            yield (generator.random_sample((rows, n_values)) * n_values).astype(np.int64)


def _sample_stddev(numbers: Floats) -> float:
    return float(np.std(numbers, ddof=1))


def _perplexities(values: Sequence[Any]) -> Callable[[Numbers], Floats]:
    numbers = np.array(values, dtype=np.float64)

    def compute(rows: Numbers) -> Floats:
        drawn: Floats = np.exp(-numbers[rows].mean(axis=1))
        return drawn

    return compute


def _medians(values: Sequence[Any]) -> Callable[[Numbers], Floats]:
    numbers = np.array(values, dtype=np.float64)
    return lambda rows: np.sort(numbers[rows], axis=1)[:, len(numbers) // 2]


def _means_of_numbers(values: Sequence[Any]) -> Callable[[Numbers], Floats]:
    numbers = np.array(values, dtype=np.float64)
    is_number = ~np.isnan(numbers)
    filled = np.where(is_number, numbers, 0.0)

    def compute(rows: Numbers) -> Floats:
        counts = is_number[rows].sum(axis=1)
        sums: Floats = filled[rows].sum(axis=1)
        means: Floats = np.divide(sums, counts, out=np.full(len(rows), np.nan), where=counts > 0)
        return means

    return compute


def _f1_scores(values: Sequence[Any]) -> Callable[[Numbers], Floats]:
    golds, predictions = _to_classes(values)
    is_gold, is_predicted = golds == 1, predictions == 1

    def compute(rows: Numbers) -> Floats:
        both = 2.0 * (is_gold & is_predicted)[rows].sum(axis=1)
        either = is_gold[rows].sum(axis=1) + is_predicted[rows].sum(axis=1)
        scores: Floats = np.divide(both, either, out=np.zeros(len(rows)), where=either > 0)
        return scores

    return compute


def _correlations(values: Sequence[Any]) -> Callable[[Numbers], Floats]:
    golds, predictions = _to_classes(values)
    classes = np.unique(np.concatenate([golds, predictions]))
    n = float(len(golds))

    def compute(rows: Numbers) -> Floats:
        of_gold = np.stack([(golds == one)[rows].sum(axis=1) for one in classes])
        of_prediction = np.stack([(predictions == one)[rows].sum(axis=1) for one in classes])
        right = (golds == predictions)[rows].sum(axis=1)
        spread = (n * n - (of_gold**2).sum(axis=0)) * (n * n - (of_prediction**2).sum(axis=0))
        above = right * n - (of_gold * of_prediction).sum(axis=0)
        drawn: Floats = np.divide(above, np.sqrt(spread), out=np.zeros(len(rows)), where=spread > 0)
        return drawn

    return compute


def _to_classes(values: Sequence[Any]) -> tuple[Numbers, Numbers]:
    """Return targets and predictions as numbers; anything but a whole number gets a number of its own."""
    known: dict[Any, int] = {}
    pairs = [[_number_class(one, known) for one in pair] for pair in values]
    columns = np.array(pairs, dtype=np.int64)
    return columns[:, 0], columns[:, 1]


def _number_class(value: Any, known: dict[Any, int]) -> int:
    if isinstance(value, int | np.integer):
        return int(value)
    return known.setdefault(str(value), -1_000_000 - len(known))


_VECTORISED: dict[Callable[[Any], Any], Callable[[Sequence[Any]], Callable[[Numbers], Floats]]] = {
    perplexity: _perplexities,
    median: _medians,
    nanmean: _means_of_numbers,
    f1_score: _f1_scores,
    matthews_corrcoef: _correlations,
}
