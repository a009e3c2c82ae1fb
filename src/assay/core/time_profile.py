"""Where a run's time goes: seconds by phase, and a trace that Perfetto and Chrome open.

Code marks its phases with `measuring`. While nothing records, this costs one comparison.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Literal, TypeAlias, TypeVar

TimedPhase: TypeAlias = Literal[
    "dataset", "hash", "load", "requests", "tokenize", "plan", "wait", "device", "journal", "score", "report"
]
_SHORTEST_EVENT_S = 0.0005
"""Shorter stretches count in the sums, but are not in the trace: there can be millions of them."""
T = TypeVar("T")


class _End:
    """Marks that an iterator has no more items."""


_END = _End()
_NOTHING: AbstractContextManager[None] = nullcontext()


class TimeRecorder:
    """Collects the phases of one run."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._seconds: dict[str, float] = {}
        self._events: list[dict[str, Any]] = []
        self._open = threading.local()
        self._lock = threading.Lock()

    @contextmanager
    def measure(self, phase: TimedPhase) -> Iterator[None]:
        """Add the time of a block to a phase, without that of phases inside it."""
        # For each open block of this thread: the seconds of the blocks inside it.
        inside: list[float] = self._open.__dict__.setdefault("inside", [])
        inside.append(0.0)
        began = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - began
            own = seconds - inside.pop()
            if inside:
                inside[-1] += seconds
            self._add(phase, began, seconds, own)

    def _add(self, phase: str, began: float, seconds: float, own: float) -> None:
        with self._lock:
            self._seconds[phase] = self._seconds.get(phase, 0.0) + own
            if seconds >= _SHORTEST_EVENT_S:
                times = {"ts": round((began - self._began) * 1e6), "dur": round(seconds * 1e6)}
                event = {"name": phase, "ph": "X", "pid": 1, "tid": threading.get_native_id(), **times}
                self._events.append(event)

    def compute_seconds(self) -> dict[str, float]:
        """Return the seconds of each phase, in the order of their first end, and of everything else."""
        with self._lock:
            found = dict(self._seconds)
        total = time.perf_counter() - self._began
        return {**found, "other": max(0.0, total - sum(found.values()))}

    def build_trace(self) -> Mapping[str, Any]:
        """Return the phases as trace events, in microseconds since recording began."""
        with self._lock:
            return {"displayTimeUnit": "ms", "traceEvents": sorted(self._events, key=lambda one: one["ts"])}


_recorder: TimeRecorder | None = None


@contextmanager
def recording_time() -> Iterator[TimeRecorder]:
    """Record the phases of everything inside the block."""
    global _recorder
    before, _recorder = _recorder, TimeRecorder()
    try:
        yield _recorder
    finally:
        _recorder = before


def get_recorder() -> TimeRecorder | None:
    """Return what records now; None if nothing does."""
    return _recorder


def iterate_measured(phase: TimedPhase, items: Iterable[T]) -> Iterator[T]:
    """Yield the items; the time until each of them arrives belongs to a phase."""
    source = iter(items)
    while True:
        with measuring(phase):
            item = next(source, _END)
        if isinstance(item, _End):
            return
        yield item


def measuring(phase: TimedPhase) -> AbstractContextManager[None]:
    """Return a block whose time belongs to a phase."""
    return _NOTHING if _recorder is None else _recorder.measure(phase)
