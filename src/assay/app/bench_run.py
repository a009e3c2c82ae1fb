"""A serving benchmark from its settings: the server, the items and the plan put together."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from assay.app.bench import BenchObserver, BenchPlan, FinishedBench, Ladder, Target, bench
from assay.app.bench_items import load_items
from assay.app.bench_page import StoredBench, write_page
from assay.app.bench_settings import BenchSettings, items_asked, plan_of
from assay.app.offline.watch import kept_offline
from assay.app.settings import RunSettings
from assay.backends.http.event_loop import new_event_loop
from assay.backends.http.open_files import room_for_connections
from assay.backends.registry import open_timed_client
from assay.bench.load import Closed
from assay.bench.search import Search
from assay.core.errors import Problem, UsageError

T = TypeVar("T")
_MOST_TRIED = 4096
"""Connections that a search without an end is given room for."""


def run_bench(asked: BenchSettings, observer: BenchObserver | None = None) -> FinishedBench:
    """Measure a server; what is wrong with the settings or the dataset is told before it is asked."""
    with kept_offline(RunSettings(model=asked.model, offline=asked.offline)) as watch:
        watch.seal()
        return _measured(asked, observer)


def _measured(asked: BenchSettings, observer: BenchObserver | None) -> FinishedBench:
    client = open_timed_client(asked.model, asked.model_args)
    items = load_items(asked.dataset, items_asked(asked))
    plan = plan_of(asked, is_trace=items.describes.get("kind") == "trace")
    give_room(plan)
    finished = bench(
        Target(client, asked.model),
        items,
        plan,
        out=asked.out,
        runs_dir=asked.runs_dir,
        settings=asked.recorded(),
        observer=observer,
        run=run_quickly,
    )
    write_page(StoredBench(*finished))
    return finished


def give_room(plan: BenchPlan) -> None:
    """Let this process have as many connections as a plan needs."""
    if isinstance(plan.sweep, Ladder):
        most = int(max(plan.sweep.levels)) if plan.sweep.of == "concurrency" else _MOST_TRIED
    elif isinstance(plan.sweep, Search):
        most = int(plan.sweep.most or _MOST_TRIED) if plan.sweep.of == "concurrency" else _MOST_TRIED
    elif isinstance(plan.load.shape, Closed):
        most = plan.load.shape.concurrency
    else:
        most = plan.load.shape.at_most_under_way or _MOST_TRIED
    room = room_for_connections(most)
    if room < most and isinstance(plan.load.shape, Closed):
        what = f"{most:,} connections are asked for, and this system lets a process have {room:,} (ulimit -n)"
        raise UsageError(Problem("LOAD-011", what, "raise the limit, or ask for fewer"))


def run_quickly(doing: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on the fastest loop that there is."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(doing)
