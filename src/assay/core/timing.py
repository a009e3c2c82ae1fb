"""When a call to a server began, received text and ended, and the progress of a load of calls."""

from __future__ import annotations

import msgspec

from assay.core.response import Completion, Failure


class CallTimes(msgspec.Struct, frozen=True, omit_defaults=True):
    """Timestamps of one call, in seconds on a monotonic clock shared by all calls of a run."""

    began: float
    """Just before the first byte of the request is written; includes opening a connection."""
    ended: float
    """When the reply was complete, or the error was known."""
    text_at: tuple[float, ...] = ()
    """When each piece arrived that contains text of the answer, of its reasoning or of a tool call; empty
    without a stream."""
    event_at: tuple[float, ...] = ()
    """When each event of a stream arrived, including those without text, but not its end mark."""


class TimedCall(msgspec.Struct, frozen=True):
    """The result and the times of one call, made once without retries."""

    times: CallTimes
    outcome: Completion | Failure


class LoadProgress(msgspec.Struct, frozen=True):
    """The progress of a load."""

    seconds: float
    n_sent: int
    n_done: int
    """Calls that ended, including failed ones."""
    n_failed: int
    n_under_way: int
    per_s: float
    """Calls that ended per second, over the last few seconds."""
