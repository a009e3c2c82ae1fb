"""The result of running a load: what was sent and finished, and how well the client followed the schedule."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator

import msgspec

from assay.bench.load import Load
from assay.core.response import Failure
from assay.core.timing import LoadProgress, TimedCall

LATE_S = 0.005
"""Longer delays count as late: the client, not the server, shaped the load."""
GRAIN_S = 1e-4
_N_BINS = 10_000
"""Up to one second; longer delays share one bin, and the longest is known."""


class DelayStats(msgspec.Struct, frozen=True):
    """Statistics of delays. Percentiles are exact to a tenth of a millisecond, and never too small."""

    n: int
    p50_s: float
    p99_s: float
    max_s: float
    late_share: float
    """Fraction above 5 ms."""


class Delays:
    """Counts delays."""

    def __init__(self) -> None:
        self.n = 0
        self.n_late = 0
        self.max_s = 0.0
        self._bins = array("Q", bytes(8 * (_N_BINS + 1)))

    def add(self, seconds: float) -> None:
        """Add a delay; a negative one counts as 0."""
        self.n += 1
        self.n_late += seconds > LATE_S
        self.max_s = max(self.max_s, seconds)
        self._bins[min(max(int(seconds / GRAIN_S), 0), _N_BINS)] += 1

    @property
    def late_share(self) -> float:
        """Return the fraction above 5 ms."""
        return self.n_late / self.n if self.n else 0.0

    def quantile(self, share: float) -> float:
        """Return the smallest value that this fraction of the delays does not exceed, to `GRAIN_S`."""
        wanted = share * self.n
        seen = 0
        for number, n in enumerate(self._bins[:_N_BINS]):
            seen += n
            if seen >= wanted and seen:
                return min((number + 1) * GRAIN_S, self.max_s)
        return self.max_s

    def stats(self) -> DelayStats | None:
        """Return the statistics; None without delays."""
        if not self.n:
            return None
        return DelayStats(self.n, self.quantile(0.5), self.quantile(0.99), self.max_s, self.late_share)


_RATE_OVER_S = 4.0
"""The current rate is that of the last seconds."""
_LATE_SHARE = 0.01
"""Above this fraction, the client is reported as the bottleneck."""


class LoadResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of a load."""

    seconds: float
    """From the start until the last call ended."""
    n_items: int
    """Items started."""
    n_sent: int
    """Calls; an item of several turns makes several."""
    n_done: int
    n_failed: int
    n_cut: int = 0
    """Calls that were running when the load was interrupted or its grace period ended; they have
    no record."""
    n_turns_unsent: int = 0
    """Turns of started conversations that were not sent: an earlier one failed, or the time was over."""
    n_held: int = 0
    """Items that were sent late because the maximum concurrency was reached."""
    is_partial: bool = False
    """Whether it was interrupted."""
    is_client_bound: bool = False
    """Whether the client was the bottleneck: it sent more than 1 % of the items more than 5 ms late."""
    lateness: DelayStats | None = None
    """Open loads: how late calls started."""
    idleness: DelayStats | None = None
    """Closed loads: how long a client was idle between a response and its next call."""
    lag: DelayStats | None = None
    """How late timers of the event loop were: measured times may be too long by the same amount."""
    notes: tuple[str, ...] = ()


class LoadTally:
    """Counts during a load."""

    def __init__(self) -> None:
        self.n_items = self.n_sent = self.n_done = self.n_failed = self.n_under_way = 0
        self.n_cut = self.n_turns_unsent = self.n_held = 0
        self.last_ended = float("-inf")
        self.lag = Delays()
        self._lateness, self._idleness = Delays(), Delays()
        self._n_own_late = 0
        self._seen: deque[tuple[float, int]] = deque([(0.0, 0)])

    def count_call(self, call: TimedCall) -> None:
        """Count a call that ended."""
        self.n_done += 1
        self.n_failed += isinstance(call.outcome, Failure)
        self.last_ended = max(self.last_ended, call.times.ended)

    def count_lateness(self, seconds: float, *, is_held: bool) -> None:
        """Count how late a call started; the client is not to blame if it was held."""
        self._lateness.add(seconds)
        self._n_own_late += not is_held and seconds > LATE_S

    def count_idle_time(self, seconds: float) -> None:
        """Count how long a client of a closed load was idle."""
        self._idleness.add(seconds)

    def progress(self, seconds: float) -> LoadProgress:
        """Return the progress this many seconds after the start."""
        while len(self._seen) > 1 and seconds - self._seen[0][0] > _RATE_OVER_S:
            self._seen.popleft()
        since, n_before = self._seen[0]
        per_s = (self.n_done - n_before) / (seconds - since) if seconds > since else 0.0
        self._seen.append((seconds, self.n_done))
        return LoadProgress(seconds, self.n_sent, self.n_done, self.n_failed, self.n_under_way, per_s)

    def build_result(self, load: Load, began: float, *, is_partial: bool) -> LoadResult:
        """Return the result."""
        return LoadResult(
            seconds=max(self.last_ended - began, 0.0),
            n_items=self.n_items,
            n_sent=self.n_sent,
            n_done=self.n_done,
            n_failed=self.n_failed,
            n_cut=self.n_cut,
            n_turns_unsent=self.n_turns_unsent,
            n_held=self.n_held,
            is_partial=is_partial,
            is_client_bound=max(self._own_late_share, self._idleness.late_share) > _LATE_SHARE,
            lateness=self._lateness.stats(),
            idleness=self._idleness.stats(),
            lag=self.lag.stats(),
            notes=(*self._iter_load_notes(load, is_partial), *self._iter_client_notes()),
        )

    @property
    def _own_late_share(self) -> float:
        return self._n_own_late / self._lateness.n if self._lateness.n else 0.0

    def _iter_load_notes(self, load: Load, is_partial: bool) -> Iterator[str]:
        if is_partial:
            yield "the load was stopped early; the numbers cover only the requests that finished"
        elif load.n is not None and load.seconds is None and self.n_items < load.n:
            yield f"there were {self.n_items:,} items, fewer than the {load.n:,} requested"
        if self.n_cut:
            yield f"{self.n_cut:,} requests were cancelled before they finished; the numbers exclude them"
        if self.n_turns_unsent:
            yield (
                f"{self.n_turns_unsent:,} turns were not sent: an earlier turn failed, "
                "or the time limit was reached"
            )
        if self.n_held:
            yield (
                f"{self.n_held:,} items were sent late because the maximum concurrency was reached: the load "
                "did not follow its schedule"
            )

    def _iter_client_notes(self) -> Iterator[str]:
        late = f"{LATE_S * 1000:g} ms"
        if (share := self._own_late_share) > _LATE_SHARE:
            yield f"the client was the bottleneck: it sent {share:.1%} of the items more than {late} late"
        if (share := self._idleness.late_share) > _LATE_SHARE:
            yield (
                f"the client was the bottleneck: it sent {share:.1%} of the items more than {late} after "
                "the previous response"
            )
        if self.lag.quantile(0.99) > LATE_S:
            yield (
                f"the client was busy: its timers were up to {self.lag.max_s * 1000:.0f} ms late, and "
                "measured times may be too long by the same amount"
            )
