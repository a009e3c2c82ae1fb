"""Which metric represents a dataset in the tables of OpenCompass and AISBench."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.score import Metric

PREFERRED_METRICS = (
    *("score", "auc_score", "accuracy", "humaneval_pass@1", "rouge1", "avg_toxicity_score", "bleurt_diff"),
    *("matthews_correlation", "truth", "f1", "exact_match", "extract_rate"),
)
"""The first of these metrics that a dataset has represents it."""
IGNORED_METRICS = ("bp", "sys_len", "ref_len", "type")
"""Entries that an evaluator can return besides its scores."""


def rank_metric(name: str) -> int:
    """Return a metric's rank by name: the originals' list, then others, then entries that are not scores."""
    known = name.casefold()
    if known in IGNORED_METRICS:
        return len(PREFERRED_METRICS) + 1
    return PREFERRED_METRICS.index(known) if known in PREFERRED_METRICS else len(PREFERRED_METRICS)


def sort_metrics(metrics: Sequence[Metric]) -> list[Metric]:
    """Return the metrics of one dataset, the representative one first; unranked ones keep their order."""

    def rank(metric: Metric) -> tuple[int, bool]:
        return rank_metric(metric.metric), not metric.is_headline

    return sorted((metric for metric in metrics if metric.metric not in IGNORED_METRICS), key=rank)
