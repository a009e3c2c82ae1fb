"""Run a serving benchmark from its settings: combine the server, the items and the plan."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from assay.app.bench import BenchObserver, BenchPlan, FinishedBench, Ladder, Target, bench
from assay.app.bench_items import load_items
from assay.app.bench_page import StoredBench, write_page
from assay.app.bench_settings import BenchSettings, build_bench_plan, build_item_settings
from assay.app.offline.watch import offline_watch
from assay.app.settings import RunSettings
from assay.backends.http.open_files import raise_connection_limit
from assay.backends.http.pull import new_event_loop
from assay.backends.registry import open_timed_client
from assay.bench.load import ClosedLoad
from assay.bench.search import SearchPlan
from assay.core.errors import Problem, UsageError

T = TypeVar("T")
_MOST_TRIED = 4096
"""Connections to reserve for a search without an upper level."""


def run_bench(settings: BenchSettings, observer: BenchObserver | None = None) -> FinishedBench:
    """Measure a server; report errors in the settings or the dataset before any request is sent."""
    with offline_watch(RunSettings(model=settings.model, offline=settings.offline)) as watch:
        watch.seal()
        return _measure_server(settings, observer)


def _measure_server(settings: BenchSettings, observer: BenchObserver | None) -> FinishedBench:
    client = open_timed_client(settings.model, settings.model_args)
    items = load_items(settings.dataset, build_item_settings(settings))
    plan = build_bench_plan(settings, is_trace=items.describes.get("kind") == "trace")
    reserve_connections(plan)
    finished = bench(
        Target(client, settings.model),
        items,
        plan,
        out=settings.out,
        runs_dir=settings.runs_dir,
        settings=settings.to_manifest(),
        observer=observer,
        run=run_on_fast_loop,
    )
    write_page(StoredBench(*finished))
    return finished


def reserve_connections(plan: BenchPlan) -> None:
    """Raise this process's connection limit to what a plan needs."""
    if isinstance(plan.sweep, Ladder):
        most = int(max(plan.sweep.levels)) if plan.sweep.of == "concurrency" else _MOST_TRIED
    elif isinstance(plan.sweep, SearchPlan):
        most = int(plan.sweep.most or _MOST_TRIED) if plan.sweep.of == "concurrency" else _MOST_TRIED
    elif isinstance(plan.load.shape, ClosedLoad):
        most = plan.load.shape.concurrency
    else:
        most = plan.load.shape.at_most_under_way or _MOST_TRIED
    room = raise_connection_limit(most)
    if room < most and isinstance(plan.load.shape, ClosedLoad):
        what = f"the load needs {most:,} connections, but this system allows a process {room:,} (ulimit -n)"
        raise UsageError(Problem("LOAD-011", what, "raise the limit, or lower the concurrency"))


def run_on_fast_loop(doing: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to completion on the fastest available event loop."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(doing)
