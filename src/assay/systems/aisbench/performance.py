"""AISBench's performance mode: plan one load of one model, and measure it in a work folder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.app.bench import BenchObserver, BenchPlan, FinishedBench, Target, bench
from assay.app.bench_items import ItemSettings
from assay.app.bench_run import reserve_connections, run_on_fast_loop
from assay.app.config_declarations import export_model_key
from assay.app.offline.watch import offline_watch
from assay.app.settings import RunSettings
from assay.backends.http.server_metrics import find_server_root, read_metrics
from assay.backends.registry import open_timed_client
from assay.bench.arrivals import Arrivals, Ramp, TraceArrivals
from assay.bench.item_stream import Items
from assay.bench.lengths import ConstantLength
from assay.bench.load import ClosedLoad, Load, OpenLoad
from assay.bench.spec_decode import Counters, compute_spec_decode, read_counters
from assay.core.errors import BackendError, Problem
from assay.core.ports import TimedClient
from assay.core.request import Sampling
from assay.dialects.openicl.models import ModelConfig
from assay.dialects.openicl.pacing import Pacing
from assay.systems.aisbench.performance_files import PERFORMANCES, LoadNames
from assay.systems.aisbench.performance_loads import PerfLoad
from assay.systems.opencompass.work_folder import WorkFolder

_USUAL_LENGTH = 512
"""Maximum output length if neither the dataset nor the model sets one: that of the original's presets."""


class PerfOptions(NamedTuple):
    """The options of a command for every load."""

    n_warm_up: int = 1
    num_prompts: int | None = None
    """Maximum number of rows of each dataset."""
    pressure_s: float | None = None
    """Duration for which as many clients as the batch size send one request after the other. None: send each
    row once."""
    max_out_len: int | None = None
    """Maximum output length, overriding datasets and models."""
    seed: int = 0


def build_item_settings(model: ModelConfig, run: RunSettings, options: PerfOptions) -> ItemSettings:
    """Return the settings of the items for a model; `run`: how datasets are read."""
    return ItemSettings(
        at_most=options.num_prompts,
        seed=options.seed,
        is_chat=model.is_chat is not False,
        output=None if options.max_out_len is None else ConstantLength(options.max_out_len),
        tokenizer=model.tokenizer,
        run=run,
    )


def perf_plan(model: ModelConfig, n_items: int, options: PerfOptions, *, has_times: bool) -> BenchPlan:
    """Return the plan for one load of a model; `has_times`: the items have times."""
    pacing = get_pacing(model)
    is_pressed = options.pressure_s is not None
    load = Load(
        _shape(pacing, options, has_times=has_times),
        _build_sampling(model, options),
        n=None if is_pressed else n_items,
        seconds=options.pressure_s,
        goes_round=is_pressed,
    )
    return BenchPlan(load, n_warm_up=options.n_warm_up, seed=options.seed)


def perf_notes(model: ModelConfig, options: PerfOptions, *, has_times: bool) -> Iterator[str]:
    """Yield notes about pacing settings without effect, and about unexpected behaviour."""
    pacing = get_pacing(model)
    is_pressed = options.pressure_s is not None
    if is_pressed and (pacing.ramp is not None or pacing.uses_timestamps):
        yield "traffic_cfg and use_timestamp have no effect: --pressure starts clients evenly at request_rate"
    elif pacing.uses_timestamps and not has_times:
        yield "use_timestamp has no effect: the dataset has no times, so request_rate applies"
    elif pacing.uses_timestamps:
        yield "use_timestamp: requests are sent at the times of the trace, with no limit on concurrency"
    elif pacing.ramp is not None and pacing.rate is None:
        yield "traffic_cfg: the ramp also applies without a request_rate; the original ignores it"
    if model.model_args.get("stream") == "false":
        yield "stream is off: TTFT is the time to the whole reply, and there are no inter-token latencies"


def client_args(model: ModelConfig) -> dict[str, str]:
    """Return the arguments of the client that measures a model."""
    args = dict(export_model_key(model))
    # The original only sends what the config sets: the server decides the rest.
    unset = [name for name in ("temperature", "top_p") if getattr(model.drawing, name) is None]
    if unset and "decoding" not in args:
        args["omit"] = ",".join(filter(None, (args.get("omit"), *unset)))
    return args


def get_pacing(model: ModelConfig) -> Pacing:
    """Return the pacing of a model."""
    assert model.pacing is not None, "models of a timed plan have a pacing"
    return model.pacing


def _shape(pacing: Pacing, options: PerfOptions, *, has_times: bool) -> ClosedLoad | OpenLoad:
    if options.pressure_s is not None:
        return ClosedLoad(pacing.batch_size, starts_per_s=pacing.rate)
    if pacing.uses_timestamps and has_times:
        return OpenLoad(TraceArrivals())
    ramp = pacing.ramp
    if ramp is not None:
        bench_ramp = Ramp(ramp.start, ramp.end, ramp.form)
        arrivals = Arrivals(
            ramp=bench_ramp, burstiness=pacing.burstiness, seed=options.seed, is_rescaled=True
        )
        return OpenLoad(arrivals, pacing.batch_size)
    if pacing.rate is None:
        return ClosedLoad(pacing.batch_size)
    arrivals = Arrivals(pacing.rate, burstiness=pacing.burstiness, seed=options.seed, is_rescaled=True)
    return OpenLoad(arrivals, pacing.batch_size)


def _build_sampling(model: ModelConfig, options: PerfOptions) -> Sampling:
    drawing = model.drawing
    return Sampling(
        max_tokens=options.max_out_len or model.max_tokens or _USUAL_LENGTH,
        temperature=1.0 if drawing.temperature is None else drawing.temperature,
        top_p=1.0 if drawing.top_p is None else drawing.top_p,
        stop=drawing.stop,
        seed=drawing.seed,
    )


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
        path = None if counters is None else counters.write_difference(work)
    return MeasuredLoad(finished, path)


class SpecDecodeWatch:
    """The counters of speculative decoding before and after a load."""

    def __init__(self, model: ModelConfig) -> None:
        self._server = find_server_root(model.model)
        self._before = self._read()

    def write_difference(self, work: WorkFolder) -> Path:
        """Write the difference of the counters; raise if there is none."""
        counts = compute_spec_decode(self._before, self._read())
        if counts is None:
            raise self._build_error("the counters show no drafts during the load")
        host = re.sub(r"[^\w.-]+", "_", self._server.partition("://")[2])
        path = work.path / PERFORMANCES / f"spec_decode_{host}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(msgspec.to_builtins(counts), indent=4) + "\n", encoding="utf-8")
        return path

    def _read(self) -> Counters:
        counters = read_counters(run_on_fast_loop(read_metrics(self._server)))
        if not counters:
            raise self._build_error("there is no counter of speculative decoding")
        return counters

    def _build_error(self, why: str) -> BackendError:
        what = f"--spec-decode: {self._server}/metrics: {why}"
        fix = "remove --spec-decode, or start the server with speculative decoding"
        return BackendError(Problem("BENCH-031", what, fix))
