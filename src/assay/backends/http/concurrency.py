"""The number of concurrent requests to a server: a fixed number, or one found automatically.

The level is found by experiment. Throughput at a level is the level times what one call delivers per second
(Little's law), so it is measured over calls and needs no fixed time span. A higher level is kept if it brings
more throughput. If calls only wait longer, a lower level is as good. When a server rejects a call, the level
falls at once, and the rejected level is remembered for a while.

Pure: the caller passes the time. Knows no sockets and no requests.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from typing import NamedTuple

START = 16
"""Concurrent calls at the start, before anything is known about the server."""
MOST = 1024

_DOUBLING_PAYS = 0.2
"""The part of the added calls that must show as throughput: twice the calls, a fifth more throughput."""
_DOUBLINGS = 2
"""Doubling ends after this many in a row without a gain: one long answer among few calls can hide a gain."""
_STEP_PAYS = 0.08
"""The same for a small step; this much of the capacity of a server that slows down gently remains unused."""
_STEP_UP = 4
"""A small step adds one call for every four, and at least one; the step back removes as many.

A low level is not reduced further: this would save too little."""
_FALL = 0.7
"""Factor by which the level falls when the server rejects a call."""
_BELOW_CEILING = 0.95
"""Fraction of a rejected level up to which the level rises again."""
_LOOSER = 1.1
"""Factor by which a ceiling rises when it expires: enough to try the rejected level once."""
_CEILING_HOLDS_S = 30.0
_CEILING_HOLDS_LATENCIES = 30
"""A ceiling applies for this many seconds, or this many latencies of a call if that is longer."""
_CEILING_HOLDS_AT_MOST = 20
"""Maximum factor of this time, for a ceiling that was confirmed repeatedly."""
_USED = 0.25
"""Minimum fraction of the level in use if calls wait for a free slot: long calls are counted late."""
_FEWEST = 32
"""Minimum number of calls in a measurement."""
_LONGER = 2
"""Factor by which the measurements of small steps are longer."""
_LONGEST_REST = 8
"""Maximum number of measurements between two attempts, once attempts bring no gain."""
_EXCUSED_AT_MOST = 6.0
"""All attempts of one bad input."""
_CALLS_TO_EXCUSE_ONE = 50
"""One failure in this many calls may be caused by the input; it says nothing about the level."""


class LevelChange(NamedTuple):
    """A change of the level: when, to what, and why."""

    now: float
    limit: int
    why: str


class Level:
    """The maximum number of concurrent calls, updated with the result of each call.

    Updated on one thread; another thread may read `limit`.
    """

    def __init__(self, start: int) -> None:
        self._limit = start
        self.highest = start
        """The highest level so far."""
        self.n_refused = 0
        """How often the server rejected a call or did not answer."""
        self.n_falls = 0
        """How often the level fell for this reason."""

    @property
    def limit(self) -> int:
        """Return the maximum number of concurrent calls."""
        return self._limit

    def record_answer(self, now: float, seconds: float, n_tokens: int) -> None:
        """Record an answered call: duration of its last attempt, and its tokens (0 if unknown)."""

    def record_rejection(self, now: float, *, may_be_the_input: bool = False) -> None:
        """Record an unanswered call: 429, 503, or an error that a single input may have caused."""
        self.n_refused += 1


class FixedLevel(Level):
    """A fixed number of concurrent calls."""


class _Throughput(NamedTuple):
    """Throughput at a level."""

    limit: int
    calls_per_s: float
    tokens_per_s: float

    def exceeds(self, fewer: _Throughput, share: float) -> bool:
        """Return whether more calls bring at least this part of their ideal gain."""
        more_calls = self.limit / fewer.limit - 1
        return self._rate(fewer) >= fewer._rate(self) * (1 + share * more_calls)

    def with_earlier(self, earlier: _Throughput) -> _Throughput:
        """Return the mean of two measurements of one level: the later one counts as much as all before."""
        return _Throughput(
            self.limit,
            (self.calls_per_s + earlier.calls_per_s) / 2,
            (self.tokens_per_s + earlier.tokens_per_s) / 2,
        )

    def _rate(self, other: _Throughput) -> float:
        """Return tokens rather than calls if both are known: long answers take long at any level."""
        return self.tokens_per_s if self.tokens_per_s and other.tokens_per_s else self.calls_per_s


class AdaptiveLevel(Level):
    """Finds the level: doubles while that helps, then takes small steps; falls after a rejected call."""

    def __init__(self, start: int = START, most: int = MOST) -> None:
        super().__init__(min(start, most))
        self._most = most
        self.history: deque[LevelChange] = deque(maxlen=64)
        """The latest changes of the level."""
        self._latencies: deque[float] = deque(maxlen=101)
        self._n_doublings = _DOUBLINGS
        self._is_rising = True
        """Direction of the next small step."""
        self._base: _Throughput | None = None
        """The best level so far; the current one may be an attempt."""
        self._n_resting = 0
        """Measurements before the next attempt."""
        self._n_to_rest = 1
        # The level that the server rejected, and how long this counts.
        self._ceiling = math.inf
        self._loosened = math.inf
        self._ceiling_until = 0.0
        self._n_holds = 1
        self._deaf_until = -math.inf
        self._n_left_over = 0
        """Calls in progress that began before the last fall."""
        self._n_excused = _EXCUSED_AT_MOST
        # The current measurement.
        self._n_skipped = self._limit
        self._restart_measurement(-math.inf)

    def record_answer(self, now: float, seconds: float, n_tokens: int) -> None:
        """Record an answered call."""
        self._latencies.append(seconds)
        self._n_left_over = max(0, self._n_left_over - 1)
        self._n_excused = min(_EXCUSED_AT_MOST, self._n_excused + 1 / _CALLS_TO_EXCUSE_ONE)
        if self._n_skipped:
            # This many calls in progress may have begun at another level.
            self._n_skipped -= 1
            self._restart_measurement(now)
            return
        self._n += 1
        self._n_tokens += n_tokens
        self._busy_s += seconds
        # A small step shows only in the mean of many calls.
        if self._n >= max(_FEWEST, self._limit) * (1 if self._is_doubling else _LONGER):
            self._take(now)

    def record_rejection(self, now: float, *, may_be_the_input: bool = False) -> None:
        """Record an unanswered call. Several at once count as one: calls made before add no information."""
        super().record_rejection(now)
        if may_be_the_input and self._n_excused >= 1:
            self._n_excused -= 1
            return
        if now < self._deaf_until or self._limit == 1:
            return
        if not self._n_left_over and not may_be_the_input:
            self._lower_ceiling(now)
        self._deaf_until = now + self._latency()
        self.n_falls += 1
        self._n_left_over = max(self._n_left_over, self._limit)
        self._n_doublings, self._is_rising = _DOUBLINGS, True
        self._base = None
        self._n_resting, self._n_to_rest = 0, 1
        self._move(now, max(1, int(self._limit * _FALL)), "refused")

    @property
    def _is_doubling(self) -> bool:
        return self._n_doublings > 0

    def _take(self, now: float) -> None:
        """Make the measured level the base, or return to the base."""
        measured = self._measure_throughput()
        # Otherwise fewer calls are available than allowed, and the level decides nothing.
        is_used = self._busy_s >= _USED * self._limit * (now - self._began)
        self._restart_measurement(now)
        base = self._base
        if base is None or measured.limit == base.limit:
            self._base = measured if base is None else measured.with_earlier(base)
            if self._n_resting:
                self._n_resting -= 1
            elif is_used:
                self._try(now)
        elif measured.limit > base.limit:
            share = _DOUBLING_PAYS if self._is_doubling else _STEP_PAYS
            if is_used and measured.exceeds(base, share):
                self._keep(now, measured)
            else:
                # The best level is between one that helped and its double: continue with small steps up.
                self._is_rising = self._is_doubling
                self._n_doublings = max(0, self._n_doublings - 1)
                self._go_back(now, base, "more concurrent requests only increased the wait")
        elif base.exceeds(measured, _STEP_PAYS):
            self._is_rising = True
            self._go_back(now, base, "fewer concurrent requests lowered the throughput")
        else:
            self._keep(now, measured)

    def _measure_throughput(self) -> _Throughput:
        per_s = self._limit / max(self._busy_s, 1e-9)
        return _Throughput(self._limit, per_s * self._n, per_s * self._n_tokens)

    def _keep(self, now: float, measured: _Throughput) -> None:
        """Make a level the base, and try the next."""
        self._base = measured
        self._n_to_rest = 1
        self._n_doublings = _DOUBLINGS if self._is_doubling else 0
        if measured.limit >= self._ceiling:
            self._ceiling = self._loosened = math.inf  # The server accepts this level again.
        self._try(now)

    def _go_back(self, now: float, base: _Throughput, why: str) -> None:
        """Return to the base after an attempt."""
        self._postpone_attempt()
        self._move(now, base.limit, why)

    def _postpone_attempt(self) -> None:
        """Postpone the next attempt, for longer after each attempt without a gain."""
        self._n_resting = self._n_to_rest
        self._n_to_rest = min(2 * self._n_to_rest, _LONGEST_REST)

    def _try(self, now: float) -> None:
        """Take the next step; if there is none, change direction."""
        limit = self._limit
        if not self._is_rising:
            # A lower level would not help a server that rejects nothing, and the client has its own delays.
            target = max(limit - limit // (_STEP_UP + 1), min(limit, START))
            why = "testing whether fewer are as fast"
        else:
            ceiling = self._loosen_ceiling(now)
            if 2 * limit > _FALL * ceiling:
                self._n_doublings = 0
            target = 2 * limit if self._is_doubling else limit + max(1, limit // _STEP_UP)
            target = int(min(target, self._most, max(limit, _BELOW_CEILING * ceiling)))
            why = "testing whether more are faster"
        if target == limit:
            self._n_doublings, self._is_rising = 0, not self._is_rising
            self._postpone_attempt()
        else:
            self._move(now, target, why)

    def _move(self, now: float, limit: int, why: str) -> None:
        self._limit = limit
        self.highest = max(self.highest, limit)
        self.history.append(LevelChange(now, limit, why))
        self._n_skipped = limit
        self._restart_measurement(now)

    def _restart_measurement(self, now: float) -> None:
        self._began = now
        self._n = self._n_tokens = 0
        self._busy_s = 0.0

    def _lower_ceiling(self, now: float) -> None:
        """Remember that this level was too high; for longer if it was known and had expired."""
        is_known = abs(self._limit - self._ceiling) <= 0.2 * self._limit
        self._n_holds = min(2 * self._n_holds, _CEILING_HOLDS_AT_MOST) if is_known else 1
        self._ceiling = self._loosened = self._limit
        self._hold_ceiling(now)

    def _loosen_ceiling(self, now: float) -> float:
        """Return the ceiling, which rises over time: a server may have fewer clients later."""
        if now >= self._ceiling_until:
            self._loosened *= _LOOSER
            self._hold_ceiling(now)
        return self._loosened

    def _hold_ceiling(self, now: float) -> None:
        once_s = max(_CEILING_HOLDS_S, _CEILING_HOLDS_LATENCIES * self._latency())
        self._ceiling_until = now + self._n_holds * once_s

    def _latency(self) -> float:
        """Return the recent duration of a call."""
        return statistics.median(self._latencies) if self._latencies else 1.0
