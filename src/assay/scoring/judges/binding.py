"""Passing a judge to the metrics that use one, and collecting its replies.

A metric that uses a judge has `bind(judge)`. A metric that may wrap others, such as a mean over repeats,
always has `bind`; its `needs_judge` says whether a judge is used at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from assay.core.ports import Judge
from assay.core.score import JudgeReply


def needs_judge(metric: Any) -> bool:
    """Whether a metric, or one inside it, uses a judge."""
    return bool(getattr(metric, "needs_judge", hasattr(metric, "bind")))


def bind_judge(metrics: Iterable[Any], judge: Judge) -> None:
    """Pass the judge to the metrics that use one."""
    for metric in metrics:
        if needs_judge(metric):
            metric.bind(judge)


def last_replies(metric: Any, n_rows: int) -> list[tuple[JudgeReply, ...]]:
    """Return the judge's replies about each of `n` rows in the latest call of a metric."""
    replies: Sequence[tuple[JudgeReply, ...]] = (
        getattr(metric, "last_replies", ()) if needs_judge(metric) else ()
    )
    return list(replies) if len(replies) == n_rows else [()] * n_rows
