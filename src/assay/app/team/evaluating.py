"""Run one evaluation in its own process: the same run as on the command line, reported as events."""

from __future__ import annotations

import time
from collections.abc import Callable

from assay.app.run import Observer, run
from assay.app.team.folders import require_allowed
from assay.app.team.messages import Evaluate, EvaluationProgress, Event
from assay.core.errors import PlanError, Problem
from assay.core.run import RunStatus
from assay.core.tally import JudgeTally, Tally

_EVERY_S = 0.5
"""Minimum interval between progress events."""


def evaluate(order: Evaluate, send: Callable[[Event], None]) -> None:
    """Run an evaluation, or resume an earlier attempt."""
    require_allowed(order.plan.datasets, order.allow_python)
    finished = run(order.plan.datasets, order.plan.settings(order.out), _ProgressReporter(send))
    if finished.manifest.status is RunStatus.STOPPED:
        why = finished.run_notes[0]
        raise PlanError(Problem("BUDGET-004", why, "evaluate again with a higher budget, or without one"))
    if finished.manifest.status is RunStatus.UNSCORED:
        raise PlanError(
            [
                Problem(
                    "TEAM-014",
                    f"{one.task} {one.method}: no sample could be scored: {one.why}",
                    "correct the dataset or its code and evaluate again; the model's answers are kept",
                )
                for one in finished.manifest.unscored
            ]
        )


class _ProgressReporter(Observer):
    """Sends progress events at a limited rate."""

    def __init__(self, send: Callable[[Event], None]) -> None:
        self._send = send
        self._next = 0.0
        self._has_sent_last = False

    def on_progress(self, tally: Tally) -> None:
        """Send an event if one is due; the event that all samples are answered is always sent, once."""
        is_over = tally.n_done >= tally.n_samples and not self._has_sent_last
        if time.monotonic() < self._next and not is_over:
            return
        self._has_sent_last |= is_over
        self._next = time.monotonic() + _EVERY_S
        self._send(EvaluationProgress(_count_progress(tally), tally.n_answered - tally.n_journaled))


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
