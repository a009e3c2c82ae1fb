"""One evaluation, in a process of its own: the same run as on the command line, told in events."""

from __future__ import annotations

import time
from collections.abc import Callable

from assay.app.run import Observer, run
from assay.app.team.folders import require_allowed
from assay.app.team.messages import Evaluate, EvaluationProgress, Event
from assay.core.errors import PlanError, Problem
from assay.core.run import RunStatus
from assay.engine.execute import Tally
from assay.engine.judging import JudgeTally

_EVERY_S = 0.5
"""So often is told how far it is."""


def evaluate(order: Evaluate, say: Callable[[Event], None]) -> None:
    """Evaluate, or go on where an earlier attempt ended."""
    require_allowed(order.plan.datasets, order.allow_python)
    finished = run(order.plan.datasets, order.plan.settings(order.out), _ProgressReporter(say))
    if finished.manifest.status is RunStatus.UNSCORED:
        raise PlanError(
            [
                Problem(
                    "TEAM-014",
                    f"{one.task} {one.method}: nothing could be scored: {one.why}",
                    "correct the dataset or its code, and evaluate again: answers of the model are kept",
                )
                for one in finished.manifest.unscored
            ]
        )


class _ProgressReporter(Observer):
    """Tells how far the run is, not too often."""

    def __init__(self, say: Callable[[Event], None]) -> None:
        self._say = say
        self._next = 0.0
        self._has_told_last = False

    def progress(self, tally: Tally) -> None:
        """Tell it, if it is time; that all samples are answered is always told, once."""
        is_over = tally.n_done >= tally.n_samples and not self._has_told_last
        if time.monotonic() < self._next and not is_over:
            return
        self._has_told_last |= is_over
        self._next = time.monotonic() + _EVERY_S
        self._say(EvaluationProgress(_count_progress(tally), tally.n_answered - tally.n_journaled))


def _count_progress(tally: Tally) -> dict[str, float]:
    judge = tally.judge or JudgeTally()
    return {
        "n_samples": tally.n_samples,
        "n_done": tally.n_done,
        "n_failed": tally.n_failed,
        "n_requests": tally.n_requests,
        "n_answered": tally.n_answered,
        "n_journaled": tally.n_journaled,
        "n_cached": tally.n_cached,
        "share_done": round(tally.share_done, 4),
        "n_judge_prompts": judge.n_prompts,
        "n_judge_replies": judge.n_replied,
        "n_judge_failed": judge.n_failed,
    }
