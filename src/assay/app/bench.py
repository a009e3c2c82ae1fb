"""The use case of the serving benchmark: a load of items, sent to a server, becomes a folder of numbers."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from assay.app.run_names import short_name, slug, utc_now, versions
from assay.bench.drive import Clock, LoadDriver, warm_up
from assay.bench.folder import BenchFolder, BenchManifest, BenchResult, RecordWriter, read_records
from assay.bench.item_prefetch import ItemPrefetcher
from assay.bench.item_stream import Items
from assay.bench.items import LoadItem
from assay.bench.limits import LoadLimits
from assay.bench.load import ClosedLoad, Load
from assay.bench.load_result import LoadProgress, LoadResult
from assay.bench.measures import Measures
from assay.bench.records import CallRecord
from assay.bench.search import SearchPlan, find_highest_level, require_common_limit
from assay.bench.steady import NoSteadyWindow, find_steady_window
from assay.bench.summary import BenchSummary
from assay.bench.sweep import (
    AttemptResult,
    LevelKind,
    LoadTrial,
    SweepResult,
    TrialLength,
    build_trial_load,
    run_ladder,
)
from assay.core.errors import Problem, UsageError
from assay.core.ports import TimedClient
from assay.core.run import Setting

_WARM_UP_AT_A_TIME = 16
_UNREADY_SHARE = 0.01
"""Above it a load is said to be slowed by the making of its items."""


class Ladder(msgspec.Struct, frozen=True):
    """Levels that are tried one after the other."""

    of: LevelKind
    levels: tuple[float, ...]
    failed_at_most: float = 0.05
    """No higher level is tried after one at which a larger share of the calls failed."""


class BenchPlan(msgspec.Struct, frozen=True):
    """What is asked of a benchmark."""

    load: Load
    n_warm_up: int = 1
    """Calls before each load whose times do not count."""
    limits: LoadLimits = LoadLimits()
    sweep: Ladder | SearchPlan | None = None
    trial: TrialLength = TrialLength()
    """How long each level of a sweep is tried."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.n_warm_up < 0:
            what = f"{self.n_warm_up} calls to warm up are asked for; expected 0 or more"
            raise UsageError(Problem("LOAD-001", what, "correct the value"))
        if isinstance(self.sweep, SearchPlan):
            require_common_limit(self.limits)


class Target(NamedTuple):
    """Who is asked."""

    client: TimedClient
    model: str
    """As the person named it, without secrets."""


class BenchObserver:
    """What a face hears of a benchmark; every method may be left as it is."""

    def started(self, manifest: BenchManifest, folder: Path) -> None:
        """Take the benchmark that begins."""

    def preparing(self) -> None:
        """Hear that items are made ready for a load, which may take seconds."""

    def warmed_up(self, driven: LoadResult) -> None:
        """Take how the calls before a load went."""

    def load_began(self, load: Load, level: float | None) -> None:
        """Take the load that is sent now; its level where it is a trial of a sweep."""

    def progress(self, progress: LoadProgress) -> None:
        """Take how far the load is; called several times a second."""

    def tried(self, trial: LoadTrial) -> None:
        """Take what came of one level of a sweep."""

    def finished(self, bench: FinishedBench) -> None:
        """Take the result."""


class FinishedBench(NamedTuple):
    """A benchmark that came to its end, or was ended."""

    folder: Path
    manifest: BenchManifest
    result: BenchResult

    @property
    def n_failed(self) -> int:
        """Return how many calls failed; of a sweep, at all levels together."""
        return sum(summary.n_failed for summary in self._summaries)

    @property
    def is_measured(self) -> bool:
        """Whether a call succeeded: without one there is no number."""
        return any(summary.n_succeeded for summary in self._summaries)

    @property
    def _summaries(self) -> list[BenchSummary]:
        swept = self.result.swept
        found = [trial.summary for trial in swept.trials] if swept else [self.result.summary]
        return [summary for summary in found if summary is not None]


CoroutineRunner: TypeAlias = Callable[[Coroutine[Any, Any, BenchResult]], BenchResult]


def bench(
    target: Target,
    items: Items,
    plan: BenchPlan,
    *,
    out: str | None = None,
    runs_dir: str = "runs",
    settings: Mapping[str, Setting] | None = None,
    observer: BenchObserver | None = None,
    run: CoroutineRunner = asyncio.run,
    clock: Clock = time.perf_counter,
) -> FinishedBench:
    """Send a load, or the loads of a sweep, and write what came of them.

    Ctrl-C ends it: what is complete by then is written, and said to be a part. `run` is what runs a coroutine
    to its end, `clock` the one that the client reads.
    """
    observer = observer or BenchObserver()
    started = utc_now()
    time_of_day = started.partition("+")[0].replace(":", "").replace("T", "-")
    id_ = f"bench-{slug(short_name(target.model))}-{time_of_day}"
    manifest = BenchManifest(
        id_,
        target.model,
        items.describes,
        plan.load,
        plan.limits,
        plan.n_warm_up,
        plan.seed,
        dict(settings or {}),
        versions(),
        started,
    )
    folder = BenchFolder(Path(out) if out else _find_free_path(Path(runs_dir) / id_))
    folder.write_manifest(manifest)
    observer.started(manifest, folder.path)
    with _frozen_gc():
        result = run(_Bench(target.client, items, plan, folder, observer, clock).run())
    folder.write_result(result)
    finished = FinishedBench(folder.path, manifest, result)
    observer.finished(finished)
    return finished


class _Bench:
    """One benchmark under way."""

    def __init__(
        self,
        client: TimedClient,
        items: Items,
        plan: BenchPlan,
        folder: BenchFolder,
        observer: BenchObserver,
        clock: Clock,
    ) -> None:
        self._client = client
        self._items = items
        self._plan = plan
        self._folder = folder
        self._observer = observer
        self._clock = clock
        self._warm_up_items: Sequence[LoadItem] | None = None
        self._n_trials = 0
        self._notes = [*items.notes]

    async def run(self) -> BenchResult:
        async with self._client:
            sweep = self._plan.sweep
            if sweep is None:
                return await self._run_load()
            # Each trial goes on where the one before it ended: what a server has seen it answers faster.
            stock = ItemPrefetcher(self._items.iter_forever())

            async def attempt(level: float) -> AttemptResult:
                return await self._trial(sweep.of, level, stock)

            if isinstance(sweep, Ladder):
                swept = await run_ladder(
                    sweep.levels,
                    sweep.of,
                    attempt,
                    limits=self._plan.limits,
                    failed_at_most=sweep.failed_at_most,
                    on_trial=self._observer.tried,
                )
            else:
                swept = await find_highest_level(
                    sweep, self._plan.limits, attempt, on_trial=self._observer.tried
                )
            return self._build_sweep_result(swept)

    async def _run_load(self) -> BenchResult:
        load = self._plan.load
        stock = ItemPrefetcher(self._items.iter_forever() if load.goes_round else self._items)
        measures = Measures(self._plan.limits.of_each)
        path = self._folder.requests()
        driven = await self._sent(load, None, stock, path, measures)
        level = load.shape.concurrency if isinstance(load.shape, ClosedLoad) else None
        window = find_steady_window(measures.build_concurrency_curve(), level=level)
        steady: BenchSummary | None = None
        if not isinstance(window, NoSteadyWindow):
            inside = Measures(self._plan.limits.of_each, window=window)
            for record in read_records(path):
                inside.add(record)
            steady = inside.summary()
        summary = measures.summary()
        return BenchResult(
            driven=driven,
            summary=summary,
            steady=steady,
            not_steady=window.reason if isinstance(window, NoSteadyWindow) else "",
            is_partial=driven.is_partial,
            finished=utc_now(),
            notes=(
                *self._plan.limits.verdicts(summary),
                *self._notes,
                *self._items.came_up(driven.n_items),
                *driven.notes,
                *(steady.notes if steady is not None else ()),
            ),
        )

    async def _trial(self, of: LevelKind, level: float, stock: ItemPrefetcher) -> AttemptResult:
        load = build_trial_load(self._plan.load, of, level, self._plan.trial)
        self._n_trials += 1
        measures = Measures(self._plan.limits.of_each)
        path = self._folder.requests(f"{self._n_trials:02d}-{level:g}")
        driven = await self._sent(load, level, stock, path, measures)
        return AttemptResult(driven, measures.summary())

    def _build_sweep_result(self, swept: SweepResult) -> BenchResult:
        # What one trial had to say is with the trial.
        n_sent = sum(trial.driven.n_items for trial in swept.trials)
        notes = (*self._notes, *self._items.came_up(n_sent))
        return BenchResult(swept=swept, is_partial=swept.is_partial, finished=utc_now(), notes=notes)

    async def _warm_up(self) -> None:
        n = self._plan.n_warm_up
        if not n:
            return
        if self._warm_up_items is None:
            self._warm_up_items, are_measured = self._items.warmup(n)
            if are_measured:
                self._notes.append("the warm-up sent items that were measured as well: there are no others")
        at_a_time = min(n, _WARM_UP_AT_A_TIME)
        sampling = self._plan.load.sampling
        driven = await warm_up(self._client, self._warm_up_items, sampling, at_a_time, clock=self._clock)
        self._observer.warmed_up(driven)

    async def _sent(
        self, load: Load, level: float | None, stock: ItemPrefetcher, path: Path, measures: Measures
    ) -> LoadResult:
        """Send one load and keep every call of it."""
        self._observer.preparing()
        stock.prepare(load.n_expected, load.shape.concurrency if isinstance(load.shape, ClosedLoad) else 1)
        await self._warm_up()
        await self._client.connect(_connections(load))
        self._observer.load_began(load, level)
        # Whether items begin again is the stock's to know.
        load = msgspec.structs.replace(load, goes_round=False)
        n_unready = stock.n_unready
        with RecordWriter(path) as writer:

            def keep(record: CallRecord) -> None:
                writer.write(record)
                measures.add(record)

            def look_on(progress: LoadProgress) -> None:
                writer.flush()
                self._observer.progress(progress)

            drive = LoadDriver(self._client, stock, load, keep, on_progress=look_on, clock=self._clock)
            with _stopping_on_ctrl_c(drive.stop):
                driven = await drive.run()
        n_unready = stock.n_unready - n_unready
        if n_unready <= _UNREADY_SHARE * driven.n_items:
            return driven
        note = f"{n_unready:,} items were not ready when they were to be sent: making them takes too long"
        return msgspec.structs.replace(driven, notes=(*driven.notes, note))


def _connections(load: Load) -> int:
    """Return how many connections a load surely needs; of an open one nobody knows more than the first."""
    if not isinstance(load.shape, ClosedLoad):
        return 1
    return load.shape.concurrency if load.n is None else min(load.shape.concurrency, load.n)


@contextmanager
def _stopping_on_ctrl_c(stop: Callable[[], None]) -> Iterator[None]:
    """Let the first Ctrl-C end a load in order; a second one ends the program as always."""
    loop = asyncio.get_running_loop()
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    before = signal.getsignal(signal.SIGINT)

    def restore() -> None:
        # The loop would leave Python's own handler instead.
        if loop.remove_signal_handler(signal.SIGINT):
            signal.signal(signal.SIGINT, before)

    def once() -> None:
        restore()
        stop()

    loop.add_signal_handler(signal.SIGINT, once)
    try:
        yield
    finally:
        restore()


@contextmanager
def _frozen_gc() -> Iterator[None]:
    """Hide what is there by now from the garbage collector: looking through it would delay calls."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _find_free_path(path: Path) -> Path:
    """Return a path that is not there yet: two benchmarks may begin in one second."""
    number = 1
    found = path
    while found.exists():
        number += 1
        found = path.with_name(f"{path.name}-{number}")
    return found
