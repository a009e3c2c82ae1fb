"""One evaluation, in a process of its own: the same run as on the command line, told in events."""

from __future__ import annotations

import time
from collections.abc import Callable

from assay.app.run import Observer, run
from assay.app.team.folders import require_allowed
from assay.app.team.messages import Advanced, Evaluate, Event
from assay.engine.execute import Tally

_EVERY_S = 0.5
"""So often is told how far it is."""


def evaluate(order: Evaluate, say: Callable[[Event], None]) -> None:
    """Evaluate, or go on where an earlier attempt ended."""
    require_allowed(order.plan.datasets, order.allow_python)
    run(order.plan.datasets, order.plan.settings(order.out), _Teller(say))


class _Teller(Observer):
    """Tells how far the run is, not too often."""

    def __init__(self, say: Callable[[Event], None]) -> None:
        self._say = say
        self._next = 0.0

    def progress(self, tally: Tally) -> None:
        """Tell it, if it is time; the end is always told."""
        is_over = tally.n_done >= tally.n_samples
        if time.monotonic() < self._next and not is_over:
            return
        self._next = time.monotonic() + _EVERY_S
        self._say(Advanced(_told(tally), tally.n_answered - tally.n_journaled))


def _told(tally: Tally) -> dict[str, float]:
    return {
        "n_samples": tally.n_samples,
        "n_done": tally.n_done,
        "n_failed": tally.n_failed,
        "n_requests": tally.n_requests,
        "n_answered": tally.n_answered,
        "n_journaled": tally.n_journaled,
        "n_cached": tally.n_cached,
        "share_done": round(tally.share_done, 4),
    }
