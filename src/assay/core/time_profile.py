"""Where a run's time goes: seconds by phase, and a trace that Perfetto and Chrome open.

Code marks its phases with `measuring`. While nothing records, this costs one comparison.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import TracebackType
from typing import Any, Literal, TypeAlias, TypeVar

Preparing: TypeAlias = Literal["start", "dataset", "hash", "import", "load", "requests", "tokenize", "plan"]
Answering: TypeAlias = Literal["trial", "wait", "compile", "device", "journal", "score", "report"]
TimedPhase: TypeAlias = Preparing | Answering
_PROCESS = 1
_SHORTEST_EVENT_S = 0.0005
"""Shorter stretches count in the sums, but are not in the trace: there can be millions of them."""
T = TypeVar("T")


class _End:
    """Marks that an iterator has no more items."""


_END = _End()
_NOTHING: AbstractContextManager[None] = nullcontext()


class _ThreadState:
    """The open blocks of a thread."""

    def __init__(self, id_: int) -> None:
        self.id = id_
        self.inside: list[float] = []
        """For each open block: the seconds of the blocks inside it."""


class _Block:
    """One stretch of a phase. A class, because there are several per sample, and generators take longer."""

    __slots__ = ("_began", "_phase", "_recorder", "_state")

    def __init__(self, recorder: TimeRecorder, phase: TimedPhase, state: _ThreadState) -> None:
        self._recorder = recorder
        self._phase = phase
        self._state = state
        self._began = 0.0

    def __enter__(self) -> None:
        self._state.inside.append(0.0)
        self._began = time.perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        seconds = time.perf_counter() - self._began
        inside = self._state.inside
        own = seconds - inside.pop()
        if inside:
            inside[-1] += seconds
        self._recorder._add(self._state, self._phase, self._began, seconds, own)


class TimeRecorder:
    """Collects the phases of one run.

    The phases of the thread that began add up to the whole time; what other threads do meanwhile is separate.
    """

    def __init__(self, began: float | None = None) -> None:
        """`began`: when the time to record began, on the clock of `perf_counter`; None: now."""
        self._began = time.perf_counter() if began is None else began
        self._seconds: dict[str, float] = {}
        self._seconds_ahead: dict[str, float] = {}
        self._events: list[dict[str, Any]] = []
        self._threads: dict[int, str] = {}
        self._local = threading.local()
        self._lock = threading.Lock()
        self._own = self._begin_thread()
        if began is not None:
            self._add(self._own, "start", began, seconds := time.perf_counter() - began, seconds)

    def measure(self, phase: TimedPhase) -> _Block:
        """Return a block whose time is added to a phase, without that of blocks inside it."""
        state: _ThreadState | None = self._local.__dict__.get("state")
        return _Block(self, phase, state or self._begin_thread())

    def _begin_thread(self) -> _ThreadState:
        """Return what is known about this thread, which has opened no block before."""
        state = self._local.state = _ThreadState(threading.get_native_id())
        with self._lock:
            self._threads[state.id] = threading.current_thread().name
        return state

    def _add(self, state: _ThreadState, phase: str, began: float, seconds: float, own: float) -> None:
        thread = state.id
        with self._lock:
            sums = self._seconds if state is self._own else self._seconds_ahead
            sums[phase] = sums.get(phase, 0.0) + own
            if seconds >= _SHORTEST_EVENT_S:
                times = {"ts": round((began - self._began) * 1e6), "dur": round(seconds * 1e6)}
                self._events.append({"name": phase, "ph": "X", "pid": _PROCESS, "tid": thread, **times})

    def compute_seconds(self) -> dict[str, float]:
        """Return the seconds of each phase, in the order of their first end, and of everything else."""
        with self._lock:
            found = dict(self._seconds)
        total = time.perf_counter() - self._began
        return {**found, "other": max(0.0, total - sum(found.values()))}

    def compute_seconds_ahead(self) -> dict[str, float]:
        """Return the seconds of each phase on other threads, while this one did something else."""
        with self._lock:
            return dict(self._seconds_ahead)

    def build_trace(self) -> Mapping[str, Any]:
        """Return the phases as trace events, in microseconds since recording began."""
        with self._lock:
            names = [
                {"name": "thread_name", "ph": "M", "pid": _PROCESS, "tid": thread, "args": {"name": name}}
                for thread, name in self._threads.items()
            ]
            return {
                "displayTimeUnit": "ms",
                "traceEvents": [*names, *sorted(self._events, key=lambda one: one["ts"])],
            }


def find_process_start() -> float:
    """Return when this process began, on the clock of `perf_counter`; now if the system does not tell."""
    now = time.perf_counter()
    try:
        with open("/proc/self/stat", encoding="utf-8") as file:
            # The second field, the program's name in parentheses, can contain spaces.
            ticks = int(file.read().rpartition(")")[2].split()[19])
        since_boot = time.clock_gettime(time.CLOCK_BOOTTIME)
    except (OSError, ValueError, IndexError, AttributeError):
        return now
    return now - max(0.0, since_boot - ticks / os.sysconf("SC_CLK_TCK"))


_recorder: TimeRecorder | None = None


@contextmanager
def recording_time(began: float | None = None) -> Iterator[TimeRecorder]:
    """Record the phases of everything inside the block; what precedes it, since `began`, is the start."""
    global _recorder
    before, _recorder = _recorder, TimeRecorder(began)
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
