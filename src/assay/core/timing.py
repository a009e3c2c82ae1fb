"""When a call to a server began, brought text and ended."""

from __future__ import annotations

import msgspec

from assay.core.response import Completion, Failure


class CallTimes(msgspec.Struct, frozen=True, omit_defaults=True):
    """Moments of one call, in seconds on one monotonic clock that all calls of a run share."""

    began: float
    """Just before the first byte of the request is written; a connection that is opened for it counts."""
    ended: float
    """When the reply was whole, or the trouble was known."""
    text_at: tuple[float, ...] = ()
    """When each piece came that holds text of the answer, of its reasoning or of a tool call; empty without
    a stream."""
    event_at: tuple[float, ...] = ()
    """When each event of a stream came, also those that hold no text, but not its end mark."""


class TimedCall(msgspec.Struct, frozen=True):
    """What came of one call that was made once, without retries, and when."""

    times: CallTimes
    outcome: Completion | Failure
