"""Which of a dataset's metrics stands for it in the tables of OpenCompass and AISBench."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.score import Metric

PREFERRED_METRICS = (
    *("score", "auc_score", "accuracy", "humaneval_pass@1", "rouge1", "avg_toxicity_score", "bleurt_diff"),
    *("matthews_correlation", "truth", "f1", "exact_match", "extract_rate"),
)
"""The first of these that a dataset has is what it is told by."""
IGNORED_METRICS = ("bp", "sys_len", "ref_len", "type")
"""What an evaluator may return beside its scores."""


def rank_metric(name: str) -> int:
    """Return a metric's rank by its name: those of the originals' list, then all others, then no scores."""
    known = name.casefold()
    if known in IGNORED_METRICS:
        return len(PREFERRED_METRICS) + 1
    return PREFERRED_METRICS.index(known) if known in PREFERRED_METRICS else len(PREFERRED_METRICS)


def sort_metrics(metrics: Sequence[Metric]) -> list[Metric]:
    """Return the metrics of one dataset, what it is told by first, those of no rank as they are."""

    def rank(metric: Metric) -> tuple[int, bool]:
        return rank_metric(metric.metric), not metric.is_headline

    return sorted((one for one in metrics if one.metric not in IGNORED_METRICS), key=rank)
