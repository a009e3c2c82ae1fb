"""How many calls may be under way at a server: as many as a person says, or as many as turn out to pay.

The level is found by trying. Throughput at a level is the level times what one call brings in a second
(Little's law), so it is measured over calls and no span of time has to be guessed. More calls pay where they
bring more throughput; where they only wait longer, fewer do as well. A server that says no is believed at
once, and the level that it refused is remembered for a while.

Pure: the clock is the caller's. Knows no sockets and no requests.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from typing import NamedTuple

START = 16
"""Calls under way while nothing is known of a server."""
MOST = 1024

_DOUBLING_PAYS = 0.2
"""Of the calls added, the share that must show as throughput: twice the calls, a fifth more."""
_DOUBLINGS = 2
"""So many doublings in a row that do not pay are the last: among few calls one long answer hides a gain."""
_STEP_PAYS = 0.08
"""The same for a small step; of a server that slows down gently as much of its power is left unused."""
_STEP_UP = 4
"""A small step adds one call in so many, and at least one; the step back takes as many away.

Of a few calls none is taken away: too little could be saved."""
_FALL = 0.7
"""Share of the level that is left when the server says no."""
_BELOW_CEILING = 0.95
"""Share of a refused level up to which it rises again."""
_LOOSER = 1.1
"""What a ceiling is multiplied by when it has held: enough to try once what was refused."""
_CEILING_HOLDS_S = 30.0
_CEILING_HOLDS_LATENCIES = 30
"""A ceiling holds for these seconds, or for so many times a call's if that is longer."""
_CEILING_HOLDS_AT_MOST = 20
"""So many times as long, where it proved right again and again."""
_USED = 0.25
"""Share of the level that is seen under way, at least, where calls wait for a place: long ones show late."""
_FEWEST = 32
"""Calls in a measurement, at least."""
_LONGER = 2
"""So many times as long are the measurements of small steps."""
_LONGEST_REST = 8
"""Measurements between two tries, once no try pays."""
_EXCUSED_AT_MOST = 6.0
"""All attempts at one bad input."""
_CALLS_TO_EXCUSE_ONE = 50
"""One failure in so many calls may be the input's; it says nothing about the level."""


class LevelChange(NamedTuple):
    """A level that was taken, when and why."""

    now: float
    limit: int
    why: str


class Level:
    """How many calls may be under way now, told what becomes of each.

    Told on one thread; `limit` may be read on another.
    """

    def __init__(self, start: int) -> None:
        self._limit = start
        self.highest = start
        """The highest level so far."""
        self.n_refused = 0
        """How often the server said no, or nothing."""
        self.n_falls = 0
        """How often the level fell for it."""

    @property
    def limit(self) -> int:
        """Return how many calls may be under way now."""
        return self._limit

    def done(self, now: float, seconds: float, n_tokens: int) -> None:
        """Take a call that was answered: how long its last attempt took, and what it wrote; 0 if not told."""

    def refused(self, now: float, *, may_be_the_input: bool = False) -> None:
        """Take a call that was not: 429 or 503, or a trouble that a single input may have caused."""
        self.n_refused += 1


class FixedLevel(Level):
    """As many as a person says, whatever comes."""


class _Throughput(NamedTuple):
    """What a level brings."""

    limit: int
    calls_per_s: float
    tokens_per_s: float

    def pays_over(self, fewer: _Throughput, share: float) -> bool:
        """Whether more calls bring this share of what they should, had they nothing to wait for."""
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
        """Return tokens rather than calls where both are told: long answers take long at any level."""
        return self.tokens_per_s if self.tokens_per_s and other.tokens_per_s else self.calls_per_s


class AdaptiveLevel(Level):
    """Finds the level: doubles while that pays, then takes small steps; falls when the server says no."""

    def __init__(self, start: int = START, most: int = MOST) -> None:
        super().__init__(min(start, most))
        self._most = most
        self.history: deque[LevelChange] = deque(maxlen=64)
        """The latest changes of the level."""
        self._latencies: deque[float] = deque(maxlen=101)
        self._n_doublings = _DOUBLINGS
        self._is_rising = True
        """Where the next small step goes."""
        self._base: _Throughput | None = None
        """The level that is held to be right; the present one may be a try."""
        self._n_resting = 0
        """Measurements to make before the next try."""
        self._n_to_rest = 1
        # What the server said no to, and until when that counts.
        self._ceiling = math.inf
        self._loosened = math.inf
        self._ceiling_until = 0.0
        self._n_holds = 1
        self._deaf_until = -math.inf
        self._n_left_over = 0
        """Calls under way that were begun before the last fall."""
        self._n_excused = _EXCUSED_AT_MOST
        # The measurement under way.
        self._n_skipped = self._limit
        self._measure_anew(-math.inf)

    def done(self, now: float, seconds: float, n_tokens: int) -> None:
        """Take a call that was answered."""
        self._latencies.append(seconds)
        self._n_left_over = max(0, self._n_left_over - 1)
        self._n_excused = min(_EXCUSED_AT_MOST, self._n_excused + 1 / _CALLS_TO_EXCUSE_ONE)
        if self._n_skipped:
            # As many as are under way may have been begun at another level.
            self._n_skipped -= 1
            self._measure_anew(now)
            return
        self._n += 1
        self._n_tokens += n_tokens
        self._busy_s += seconds
        # A small step shows only in the mean of many calls.
        if self._n >= max(_FEWEST, self._limit) * (1 if self._is_doubling else _LONGER):
            self._take(now)

    def refused(self, now: float, *, may_be_the_input: bool = False) -> None:
        """Take a call that was not answered. Many at once are one sign: calls made before it tell no more."""
        super().refused(now)
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
        """Make what was measured the base, or go back to that."""
        measured = self._measure_throughput()
        # Else fewer calls are there to make than may be made, and the level decides nothing.
        is_used = self._busy_s >= _USED * self._limit * (now - self._began)
        self._measure_anew(now)
        base = self._base
        if base is None or measured.limit == base.limit:
            self._base = measured if base is None else measured.with_earlier(base)
            if self._n_resting:
                self._n_resting -= 1
            elif is_used:
                self._try(now)
        elif measured.limit > base.limit:
            share = _DOUBLING_PAYS if self._is_doubling else _STEP_PAYS
            if is_used and measured.pays_over(base, share):
                self._keep(now, measured)
            else:
                # Between a level that paid and twice that lies the best one: small steps go on up.
                self._is_rising = self._is_doubling
                self._n_doublings = max(0, self._n_doublings - 1)
                self._go_back(now, base, "more calls only waited longer")
        elif base.pays_over(measured, _STEP_PAYS):
            self._is_rising = True
            self._go_back(now, base, "fewer calls brought less")
        else:
            self._keep(now, measured)

    def _measure_throughput(self) -> _Throughput:
        per_s = self._limit / max(self._busy_s, 1e-9)
        return _Throughput(self._limit, per_s * self._n, per_s * self._n_tokens)

    def _keep(self, now: float, measured: _Throughput) -> None:
        """Hold a level that was tried, and try on."""
        self._base = measured
        self._n_to_rest = 1
        self._n_doublings = _DOUBLINGS if self._is_doubling else 0
        if measured.limit >= self._ceiling:
            self._ceiling = self._loosened = math.inf  # What was refused once no longer is.
        self._try(now)

    def _go_back(self, now: float, base: _Throughput, why: str) -> None:
        """Leave a level that was tried."""
        self._rest()
        self._move(now, base.limit, why)

    def _rest(self) -> None:
        """Put off the next try, the longer the more tries did not pay."""
        self._n_resting = self._n_to_rest
        self._n_to_rest = min(2 * self._n_to_rest, _LONGEST_REST)

    def _try(self, now: float) -> None:
        """Take the next step; where there is none, turn."""
        limit = self._limit
        if not self._is_rising:
            # A server that refuses nobody is not spared by less than that, and the client has its own waits.
            target = max(limit - limit // (_STEP_UP + 1), min(limit, START))
            why = "whether fewer do as well"
        else:
            ceiling = self._loosen_ceiling(now)
            if 2 * limit > _FALL * ceiling:
                self._n_doublings = 0
            target = 2 * limit if self._is_doubling else limit + max(1, limit // _STEP_UP)
            target = int(min(target, self._most, max(limit, _BELOW_CEILING * ceiling)))
            why = "whether more bring more"
        if target == limit:
            self._n_doublings, self._is_rising = 0, not self._is_rising
            self._rest()
        else:
            self._move(now, target, why)

    def _move(self, now: float, limit: int, why: str) -> None:
        self._limit = limit
        self.highest = max(self.highest, limit)
        self.history.append(LevelChange(now, limit, why))
        self._n_skipped = limit
        self._measure_anew(now)

    def _measure_anew(self, now: float) -> None:
        self._began = now
        self._n = self._n_tokens = 0
        self._busy_s = 0.0

    def _lower_ceiling(self, now: float) -> None:
        """Remember that this level was too high; for longer where it was known and forgotten."""
        is_known = abs(self._limit - self._ceiling) <= 0.2 * self._limit
        self._n_holds = min(2 * self._n_holds, _CEILING_HOLDS_AT_MOST) if is_known else 1
        self._ceiling = self._loosened = self._limit
        self._hold_ceiling(now)

    def _loosen_ceiling(self, now: float) -> float:
        """Return the ceiling, which loosens with time: a server may have fewer guests later."""
        if now >= self._ceiling_until:
            self._loosened *= _LOOSER
            self._hold_ceiling(now)
        return self._loosened

    def _hold_ceiling(self, now: float) -> None:
        once_s = max(_CEILING_HOLDS_S, _CEILING_HOLDS_LATENCIES * self._latency())
        self._ceiling_until = now + self._n_holds * once_s

    def _latency(self) -> float:
        """Return how long a call takes of late."""
        return statistics.median(self._latencies) if self._latencies else 1.0
