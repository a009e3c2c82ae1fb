"""The serving benchmark: send a load of items to a server and write a folder of measurements."""

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

from assay.app.bench_report import build_level_row
from assay.app.run_names import short_name, slug, utc_now, versions
from assay.bench.drive import Clock, LoadDriver, warm_up
from assay.bench.folder import BenchFolder, BenchManifest, BenchResult, RecordWriter, read_records
from assay.bench.item_prefetch import ItemPrefetcher
from assay.bench.item_stream import Items
from assay.bench.items import LoadItem
from assay.bench.limits import LoadLimits
from assay.bench.load import ClosedLoad, Load
from assay.bench.load_result import LoadResult
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
from assay.core.timing import LoadProgress

_WARM_UP_AT_A_TIME = 16
_UNREADY_SHARE = 0.01
"""Above this share, a note says that creating items slowed the load down."""


class Ladder(msgspec.Struct, frozen=True):
    """Levels that run one after the other."""

    of: LevelKind
    levels: tuple[float, ...]
    failed_at_most: float = 0.05
    """The ladder stops after a level at which a larger share of requests failed."""


class BenchPlan(msgspec.Struct, frozen=True):
    """The plan of a benchmark."""

    load: Load
    n_warm_up: int = 1
    """Requests before each load that are not measured."""
    limits: LoadLimits = LoadLimits()
    sweep: Ladder | SearchPlan | None = None
    trial: TrialLength = TrialLength()
    """The length of each level of a sweep."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.n_warm_up < 0:
            what = f"--warm-up is {self.n_warm_up}, expected 0 or more"
            raise UsageError(Problem("LOAD-001", what, "write --warm-up 1, or --warm-up 0 for none"))
        if isinstance(self.sweep, SearchPlan):
            require_common_limit(self.limits)


class Target(NamedTuple):
    """The server that is measured."""

    client: TimedClient
    model: str
    """As the person named it, without secrets."""


class BenchObserver:
    """Receives the events of a benchmark; override the methods you need."""

    def on_start(self, server: str, requests: str) -> None:
        """Handle the start of the benchmark; `requests` describes where they come from and how many."""

    def on_load(self, level: float | None) -> None:
        """Handle the start of a load; `level` is set for the levels of a sweep."""

    def on_progress(self, progress: LoadProgress) -> None:
        """Handle progress; called several times a second."""

    def on_level(self, row: Sequence[str]) -> None:
        """Handle the result of one level of a sweep: its row of the table."""


class FinishedBench(NamedTuple):
    """A benchmark that finished or was stopped."""

    folder: Path
    manifest: BenchManifest
    result: BenchResult

    @property
    def n_failed(self) -> int:
        """Return the number of failed requests; for a sweep, over all levels."""
        return sum(summary.n_failed for summary in self._summaries)

    @property
    def is_measured(self) -> bool:
        """Return whether at least one request succeeded: otherwise there are no numbers."""
        return any(summary.n_succeeded for summary in self._summaries)

    @property
    def _summaries(self) -> list[BenchSummary]:
        swept = self.result.swept
        summaries = [trial.summary for trial in swept.trials] if swept else [self.result.summary]
        return [summary for summary in summaries if summary is not None]


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
    """Send a load, or the loads of a sweep, and write the results.

    Ctrl-C stops it: completed requests are written and the result is marked as partial. `run` runs a
    coroutine to completion; `clock` is the clock that the client reads.
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
    source = items.describes.get("source", items.describes.get("kind"))
    observer.on_start(target.model, f"{source}, {items.n:,}")
    with _frozen_gc():
        result = run(_Bench(target.client, items, plan, folder, observer, clock).run())
    folder.write_result(result)
    return FinishedBench(folder.path, manifest, result)


class _Bench:
    """One benchmark in progress."""

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
            # Each trial continues where the last one ended: a server answers known prompts faster.
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
                    on_trial=self._report_trial,
                )
            else:
                swept = await find_highest_level(
                    sweep, self._plan.limits, attempt, on_trial=self._report_trial
                )
            return self._build_sweep_result(swept)

    async def _run_load(self) -> BenchResult:
        load = self._plan.load
        stock = ItemPrefetcher(self._items.iter_forever() if load.goes_round else self._items)
        measures = Measures(self._plan.limits.of_each)
        path = self._folder.requests()
        driven = await self._send_load(load, None, stock, path, measures)
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
                *self._items.list_notes(driven.n_items),
                *driven.notes,
                *(steady.notes if steady is not None else ()),
            ),
        )

    async def _trial(self, of: LevelKind, level: float, stock: ItemPrefetcher) -> AttemptResult:
        load = build_trial_load(self._plan.load, of, level, self._plan.trial)
        self._n_trials += 1
        measures = Measures(self._plan.limits.of_each)
        path = self._folder.requests(f"{self._n_trials:02d}-{level:g}")
        driven = await self._send_load(load, level, stock, path, measures)
        return AttemptResult(driven, measures.summary())

    def _report_trial(self, trial: LoadTrial) -> None:
        self._observer.on_level(build_level_row(trial))

    def _build_sweep_result(self, swept: SweepResult) -> BenchResult:
        # Notes about a single trial are stored with the trial.
        n_sent = sum(trial.driven.n_items for trial in swept.trials)
        notes = (*self._notes, *self._items.list_notes(n_sent))
        return BenchResult(swept=swept, is_partial=swept.is_partial, finished=utc_now(), notes=notes)

    async def _warm_up(self) -> None:
        n = self._plan.n_warm_up
        if not n:
            return
        if self._warm_up_items is None:
            self._warm_up_items, are_measured = self._items.warmup(n)
            if are_measured:
                self._notes.append("the warm-up sent items that are also measured: there are no others")
        at_a_time = min(n, _WARM_UP_AT_A_TIME)
        sampling = self._plan.load.sampling
        await warm_up(self._client, self._warm_up_items, sampling, at_a_time, clock=self._clock)

    async def _send_load(
        self, load: Load, level: float | None, stock: ItemPrefetcher, path: Path, measures: Measures
    ) -> LoadResult:
        """Send one load and record every request."""
        stock.prepare(load.n_expected, load.shape.concurrency if isinstance(load.shape, ClosedLoad) else 1)
        await self._warm_up()
        await self._client.connect(_connections(load))
        self._observer.on_load(level)
        # The prefetcher decides whether items start again.
        load = msgspec.structs.replace(load, goes_round=False)
        n_unready = stock.n_unready
        with RecordWriter(path) as writer:

            def keep(record: CallRecord) -> None:
                writer.write(record)
                measures.add(record)

            def look_on(progress: LoadProgress) -> None:
                writer.flush()
                self._observer.on_progress(progress)

            drive = LoadDriver(self._client, stock, load, keep, on_progress=look_on, clock=self._clock)
            with _stopping_on_ctrl_c(drive.stop):
                driven = await drive.run()
        n_unready = stock.n_unready - n_unready
        if n_unready <= _UNREADY_SHARE * driven.n_items:
            return driven
        note = f"{n_unready:,} items were not ready in time: creating them takes too long"
        return msgspec.structs.replace(driven, notes=(*driven.notes, note))


def _connections(load: Load) -> int:
    """Return the number of connections that a load certainly needs; for an open load, only one is certain."""
    if not isinstance(load.shape, ClosedLoad):
        return 1
    return load.shape.concurrency if load.n is None else min(load.shape.concurrency, load.n)


@contextmanager
def _stopping_on_ctrl_c(stop: Callable[[], None]) -> Iterator[None]:
    """Let the first Ctrl-C stop a load in order; a second one stops the program as usual."""
    loop = asyncio.get_running_loop()
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    before = signal.getsignal(signal.SIGINT)

    def restore() -> None:
        # The loop would restore Python's default handler instead.
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
    """Hide existing objects from the garbage collector: scanning them would delay requests."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _find_free_path(path: Path) -> Path:
    """Return a path that does not exist yet: two benchmarks may start in the same second."""
    number = 1
    free = path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free
