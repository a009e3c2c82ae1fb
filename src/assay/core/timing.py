"""When a call to a server began, received text and ended."""

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
