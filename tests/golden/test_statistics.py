"""Coverage of intervals, by simulation, and visibility of failures."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from assay.core.method import Method
from assay.core.score import Metric, Score, Verdict
from assay.scoring.aggregate import MeanAggregator
from assay.scoring.statistics import (
    Estimate,
    RunningMean,
    macro,
    standard_error,
    wilson,
)
from cli import assay

N = 1500
"""Simulated evaluations: coverage is within 0.017 of the true one, except three times in 1,000."""


def coverage(estimates: Iterable[Estimate], truth: float) -> float:
    inside = [
        one.low is not None and one.high is not None and one.low <= truth <= one.high for one in estimates
    ]
    return sum(inside) / len(inside)


@pytest.mark.parametrize(("n", "p"), [(10, 0.5), (25, 0.9), (40, 0.7), (200, 0.97)])
def test_wilson_intervals_cover_on_average(n: int, p: float) -> None:
    """L20: small samples and shares near 1 keep their coverage, exactly summed over all outcomes."""
    exact = sum(
        math.comb(n, k) * p**k * (1 - p) ** (n - k)
        for k in range(n + 1)
        if wilson(k, n).low <= p <= wilson(k, n).high
    )
    assert 0.92 < exact < 0.985


@pytest.mark.parametrize(("n_clusters", "low"), [(6, 0.915), (10, 0.92), (30, 0.93)])
def test_clustered_intervals_cover_with_few_clusters(n_clusters: int, low: float) -> None:
    """L20: questions that share a passage; six passages are enough for an honest interval."""
    rng = np.random.default_rng(5)

    def estimates() -> Iterable[Estimate]:
        for _ in range(N):
            running = RunningMean()
            for cluster, rate in enumerate(rng.beta(2, 2, size=n_clusters)):
                for value in rng.random(8) < rate:
                    running.add(float(value), cluster)
            yield running.estimate()

    assert low < coverage(estimates(), 0.5) < 0.97


@pytest.mark.parametrize(("n_groups", "n"), [(4, 25), (10, 30), (25, 12)])
def test_macro_intervals_cover(n_groups: int, n: int) -> None:
    """L21: the mean of groups, each counting alike, with sqrt(sum se^2) / k."""
    rng = np.random.default_rng(8)
    rates = np.linspace(0.3, 0.9, n_groups)

    def estimates() -> Iterable[Estimate]:
        for _ in range(N):
            yield macro(RunningMean.of((rng.random(n) < rate).astype(float)).estimate() for rate in rates)

    assert 0.93 < coverage(estimates(), float(rates.mean())) < 0.97


def test_means_of_numbers_cover() -> None:
    """L20: Student's interval for values between 0 and 1, such as F1."""
    rng = np.random.default_rng(3)
    estimates = (RunningMean.of([float(v) for v in rng.beta(2, 3, size=12)]).student() for _ in range(N))
    assert 0.93 < coverage(estimates, 2 / 5) < 0.97


def test_the_standard_error_is_the_spread_of_the_mean() -> None:
    """L20: it equals the deviation of bootstrap means, not that deviation over the root of their number."""
    rng = np.random.default_rng(4)
    values = rng.random(60)
    means = rng.choice(values, size=(20_000, 60)).mean(axis=1)
    found = standard_error(60, float(values.sum()), float((values**2).sum()))
    # A bootstrap spreads by n, the standard error by n - 1.
    assert found == pytest.approx(float(means.std()) * math.sqrt(60 / 59), rel=0.02)


def score(value: float | None, group: str, verdict: Verdict = Verdict.SCORED) -> Score:
    return Score("t", f"{group}{value}", Method.GEN, "accuracy", verdict, value, group=group)


def metrics_of(scores: Iterable[Score]) -> dict[tuple[str, str | None], Metric]:
    aggregator = MeanAggregator()
    for one in scores:
        aggregator.add(one)
    return {(metric.metric, metric.group): metric for metric in aggregator.metrics()}


def test_groups_are_pooled_by_size_or_counted_alike_never_mixed_up() -> None:
    """L21: `accuracy` weighs rows, `accuracy_macro` weighs groups; each has the error of its own weights."""
    small, large = [1.0] * 8 + [0.0] * 2, [1.0] * 30 + [0.0] * 60
    found = metrics_of([*(score(v, "small") for v in small), *(score(v, "large") for v in large)])
    pooled, even = found["accuracy", None], found["accuracy_macro", None]
    assert pooled.value == pytest.approx(0.38)
    assert even.value == pytest.approx((0.8 + 1 / 3) / 2)
    errors = [float(np.std(part, ddof=1)) / math.sqrt(len(part)) for part in (small, large)]
    assert even.stderr == pytest.approx(math.hypot(*errors) / 2)
    assert pooled.stderr == pytest.approx(float(np.std(small + large, ddof=1)) / 10)
    parts = [RunningMean.of(small).estimate(), RunningMean.of(large).estimate()]
    assert macro(parts).value == pytest.approx(even.value)
    assert macro(parts).value != pytest.approx(pooled.value)


def test_what_has_no_score_is_counted_and_never_dropped() -> None:
    """L28: failed rows leave the mean and stay in the counts; unanswered ones are in both; NaN fails."""
    scores = [
        score(1.0, "g"),
        score(0.0, "g"),
        score(None, "g", Verdict.UNANSWERED),
        score(None, "g", Verdict.FAILED),
        score(math.nan, "g"),
    ]
    found = metrics_of(scores)["accuracy", None]
    assert found.value == pytest.approx(1 / 3)
    assert (found.n, found.n_scored, found.n_unanswered, found.n_failed) == (5, 2, 1, 2)


def test_failed_requests_reach_the_summary_and_the_exit_status(workdir: Path) -> None:
    """L28: from a failing model to summary.json: every row of the dataset is accounted for."""
    rows = "".join(f"q{n},x,y,{'AB'[n % 2]}\n" for n in range(12))
    (workdir / "data.csv").write_text("question,A,B,answer\n" + rows)
    failing = ("--model", "mock", "--model-arg", "fail_every=3")
    assert assay("run", "data.csv", *failing, "--method", "ppl,prob,gen", "--out", "run").status == 3
    summary = json.loads((workdir / "run" / "summary.json").read_text())
    headlines = [metric for metric in summary if metric["is_headline"]]
    assert len(headlines) == 3
    for metric in headlines:
        assert metric["n"] == 12
        assert metric["n_scored"] + metric["n_unanswered"] + metric["n_failed"] == 12
    assert sum(metric["n_failed"] for metric in headlines) > 0
