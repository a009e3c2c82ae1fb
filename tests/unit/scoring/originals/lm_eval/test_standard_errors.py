"""lm-eval's standard errors; expected values were computed by lm-eval 0.4.13 with the same numbers."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from assay.scoring.originals.lm_eval.metrics import AGGREGATIONS
from assay.scoring.originals.lm_eval.standard_errors import (
    combine_stderrs,
    combine_values,
    estimate_stderr,
)

_GENERATOR = random.Random(3)
NUMBERS = [-_GENERATOR.random() for _ in range(500)]
PAIRS = [(_GENERATOR.randint(0, 1), _GENERATOR.randint(0, 1)) for _ in range(40)]
TEXTS = [("a b c d e", "a b c d f"), ("x y z u v", "x y z u v"), ("q w e r t", "q w e t r")]


@pytest.mark.parametrize(
    ("name", "values", "iterations", "expected"),
    [
        ("perplexity", NUMBERS, 100_000, 0.020871160130742087),
        ("f1", PAIRS, 2_000, 0.1037614757091797),
        ("matthews_corrcoef", PAIRS, 2_000, 0.1593063320933802),
        ("median", NUMBERS[:30], 2_000, 0.07472649285699241),
        ("nanmean", [*NUMBERS[:30], math.nan], 2_000, 0.051783099092188374),
        ("bleu", TEXTS, 100_000, 16.388491340492646),
    ],
)
def test_draws_are_the_originals(name: str, values: list[Any], iterations: int, expected: float) -> None:
    pytest.importorskip("sacrebleu")
    assert estimate_stderr(name, AGGREGATIONS[name], values, iterations) == pytest.approx(expected, rel=1e-9)


def test_a_vectorised_draw_aggregates_as_the_function_itself() -> None:
    several_classes = [(number % 3, (number * 7) % 4) for number in range(25)]
    for name, values in (
        ("matthews_corrcoef", several_classes),
        ("f1", PAIRS[:9]),
        ("median", NUMBERS[:8]),
        ("perplexity", NUMBERS[:9]),
    ):
        by_draw = _draw_with_python(AGGREGATIONS[name], values, 300)
        found = estimate_stderr(name, AGGREGATIONS[name], values, 300)
        assert found == pytest.approx(by_draw, rel=1e-9), name


def _draw_with_python(aggregate: Callable[[Any], Any], values: list[Any], iterations: int) -> float:
    generator = random.Random(0)
    drawn = [aggregate(generator.choices(values, k=len(values))) for _ in range(iterations)]
    middle = math.fsum(drawn) / len(drawn)
    return math.sqrt(math.fsum((one - middle) ** 2 for one in drawn) / (len(drawn) - 1))


def test_a_mean_has_a_formula_and_needs_two_values() -> None:
    mean = AGGREGATIONS["mean"]
    assert estimate_stderr("acc", mean, [1.0, 0.0, 1.0, 1.0]) == pytest.approx(0.25)
    assert estimate_stderr("acc", mean, [1.0]) is None
    assert estimate_stderr("acc", mean, [1.0, 0.0], iterations=0) is None


def test_other_aggregations_have_none() -> None:
    assert estimate_stderr("brier_score", AGGREGATIONS["brier_score"], [(0, [1.0]), (0, [1.0])]) is None
    assert estimate_stderr("mine", len, [1, 2, 3]) is None


def test_groups_pool_the_variance_or_add_the_squares() -> None:
    assert combine_values([0.5, 1.0], [30, 10], is_weighted=True) == pytest.approx(0.625)
    assert combine_values([0.5, 1.0], [30, 10], is_weighted=False) == pytest.approx(0.75)
    pooled = math.sqrt((29 * 0.1**2 * 30 + 9 * 0.2**2 * 10) / 38 / 40)
    assert combine_stderrs([0.1, 0.2], [30, 10], is_weighted=True) == pytest.approx(pooled)
    assert combine_stderrs([0.3, 0.4], [30, 10], is_weighted=False) == pytest.approx(0.25)
