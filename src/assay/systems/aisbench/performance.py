"""The use case of AISBench's performance mode: measure one load of one model in a work folder."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.app.bench import BenchObserver, BenchPlan, FinishedBench, Target, bench
from assay.app.bench_run import reserve_connections, run_on_fast_loop
from assay.app.offline.watch import offline_watch
from assay.app.settings import RunSettings
from assay.backends.http.server_metrics import find_server_root, read_metrics
from assay.backends.registry import open_timed_client
from assay.bench.item_stream import Items
from assay.bench.spec_decode import Counters, compute_spec_decode, read_counters
from assay.core.errors import BackendError, Problem
from assay.core.ports import TimedClient
from assay.dialects.openicl.models import ModelConfig
from assay.systems.aisbench.performance_files import PERFORMANCES, LoadNames
from assay.systems.aisbench.performance_loads import PerfLoad
from assay.systems.aisbench.performance_plan import (
    PerfOptions,
    build_item_settings,
    client_args,
    get_pacing,
    perf_plan,
)
from assay.systems.opencompass.work_folder import WorkFolder


class ReadyLoad(NamedTuple):
    """A load that is completely prepared before any request is sent."""

    model: ModelConfig
    load: PerfLoad
    client: TimedClient
    items: Items
    plan: BenchPlan
    run: RunSettings
    """How its datasets are read, and whether it is offline."""

    @property
    def has_times(self) -> bool:
        """Return whether the items have times."""
        return is_trace(self.items)

    @property
    def names(self) -> LoadNames:
        """Return the names of the benchmark."""
        datasets = tuple(part.abbr for part in self.load.parts)
        return LoadNames(self.model.abbr, self.load.name, datasets, get_pacing(self.model).batch_size)


class MeasuredLoad(NamedTuple):
    """The result of a load."""

    bench: FinishedBench
    spec_decode: Path | None = None
    """The file with the server's speculative decoding counters."""


def prepare_load(model: ModelConfig, load: PerfLoad, run: RunSettings, options: PerfOptions) -> ReadyLoad:
    """Read the datasets of a load and plan it; raise all errors before any request is sent."""
    client = open_timed_client(model.model, client_args(model))
    with offline_watch(run) as watch:
        # Datasets' own code reads the data, and must be offline as well.
        watch.seal()
        items = load.items(build_item_settings(model, run, options))
    plan = perf_plan(model, items.n, options, has_times=is_trace(items))
    return ReadyLoad(model, load, client, items, plan, run)


def is_trace(items: Items) -> bool:
    """Return whether items have times."""
    return bool(items.describes.get("kind") == "trace")


def measure_load(
    ready: ReadyLoad,
    work: WorkFolder,
    observer: BenchObserver | None = None,
    *,
    has_spec_decode: bool = False,
) -> MeasuredLoad:
    """Send a load and store its results in the work folder."""
    names, model = ready.names, ready.model
    reserve_connections(ready.plan)
    with offline_watch(ready.run) as watch:
        watch.seal()
        counters = SpecDecodeWatch(model) if has_spec_decode else None
        finished = bench(
            Target(ready.client, model.model),
            ready.items,
            ready.plan,
            out=str(work.get_bench_folder(names.model, names.load)),
            settings=names.settings(),
            observer=observer,
            run=run_on_fast_loop,
        )
        written = None if counters is None else counters.written(work)
    return MeasuredLoad(finished, written)


class SpecDecodeWatch:
    """The counters of speculative decoding before and after a load."""

    def __init__(self, model: ModelConfig) -> None:
        self._server = find_server_root(model.model)
        self._before = self._read()

    def written(self, work: WorkFolder) -> Path:
        """Write the difference of the counters; raise if there is none."""
        counts = compute_spec_decode(self._before, self._read())
        if counts is None:
            raise self._wrong("the counters show no drafts during the load")
        host = re.sub(r"[^\w.-]+", "_", self._server.partition("://")[2])
        path = work.path / PERFORMANCES / f"spec_decode_{host}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(msgspec.to_builtins(counts), indent=4) + "\n", encoding="utf-8")
        return path

    def _read(self) -> Counters:
        counters = read_counters(run_on_fast_loop(read_metrics(self._server)))
        if not counters:
            raise self._wrong("there is no counter of speculative decoding")
        return counters

    def _wrong(self, why: str) -> BackendError:
        what = f"--spec-decode: {self._server}/metrics: {why}"
        fix = "remove --spec-decode, or start the server with speculative decoding"
        return BackendError(Problem("BENCH-031", what, fix))
