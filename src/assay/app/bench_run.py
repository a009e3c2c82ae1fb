"""A serving benchmark from its settings: the server, the items and the plan put together."""

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
from assay.backends.http.event_loop import new_event_loop
from assay.backends.http.open_files import raise_connection_limit
from assay.backends.registry import open_timed_client
from assay.bench.load import ClosedLoad
from assay.bench.search import SearchPlan
from assay.core.errors import Problem, UsageError

T = TypeVar("T")
_MOST_TRIED = 4096
"""Connections that a search without an end is given room for."""


def run_bench(asked: BenchSettings, observer: BenchObserver | None = None) -> FinishedBench:
    """Measure a server; what is wrong with the settings or the dataset is told before it is asked."""
    with offline_watch(RunSettings(model=asked.model, offline=asked.offline)) as watch:
        watch.seal()
        return _measure_server(asked, observer)


def _measure_server(asked: BenchSettings, observer: BenchObserver | None) -> FinishedBench:
    client = open_timed_client(asked.model, asked.model_args)
    items = load_items(asked.dataset, build_item_settings(asked))
    plan = build_bench_plan(asked, is_trace=items.describes.get("kind") == "trace")
    reserve_connections(plan)
    finished = bench(
        Target(client, asked.model),
        items,
        plan,
        out=asked.out,
        runs_dir=asked.runs_dir,
        settings=asked.recorded(),
        observer=observer,
        run=run_on_fast_loop,
    )
    write_page(StoredBench(*finished))
    return finished


def reserve_connections(plan: BenchPlan) -> None:
    """Let this process have as many connections as a plan needs."""
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
        what = f"{most:,} connections are asked for, and this system lets a process have {room:,} (ulimit -n)"
        raise UsageError(Problem("LOAD-011", what, "raise the limit, or ask for fewer"))


def run_on_fast_loop(doing: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on the fastest loop that there is."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(doing)
