"""Which metrics ask a judge, handing it to them, and what it told them.

Knows metrics by what they say of themselves alone.

A metric that asks a judge has `bind(judge)`. One that may hold others, such as a mean over repeats, has
`bind` whatever it holds, so it says with `needs_judge` whether a judge is asked at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from assay.core.ports import Judge
from assay.core.score import JudgeReply


def needs_judge(metric: Any) -> bool:
    """Whether a metric, or one inside it, asks a judge."""
    return bool(getattr(metric, "needs_judge", hasattr(metric, "bind")))


def bind_judge(metrics: Iterable[Any], judge: Judge) -> None:
    """Give the judge to the metrics that ask one."""
    for metric in metrics:
        if needs_judge(metric):
            metric.bind(judge)


def last_replies(metric: Any, n_rows: int) -> list[tuple[JudgeReply, ...]]:
    """Return what a judge replied about each of so many rows in the latest call of a metric."""
    replies: Sequence[tuple[JudgeReply, ...]] = (
        getattr(metric, "last_replies", ()) if needs_judge(metric) else ()
    )
    return list(replies) if len(replies) == n_rows else [()] * n_rows
