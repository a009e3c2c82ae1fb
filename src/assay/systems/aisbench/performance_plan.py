"""The plan of a serving benchmark for AISBench's performance mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay.app.bench import BenchPlan
from assay.app.bench_items import ItemSettings
from assay.app.config_declarations import export_model_key
from assay.app.settings import RunSettings
from assay.bench.arrivals import Arrivals, Ramp, TraceArrivals
from assay.bench.lengths import ConstantLength
from assay.bench.load import ClosedLoad, Load, OpenLoad
from assay.core.request import Sampling
from assay.dialects.openicl.models import ModelConfig
from assay.dialects.openicl.pacing import Pacing

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
        _sampling(model, options),
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


def _sampling(model: ModelConfig, options: PerfOptions) -> Sampling:
    drawing = model.drawing
    return Sampling(
        max_tokens=options.max_out_len or model.max_tokens or _USUAL_LENGTH,
        temperature=1.0 if drawing.temperature is None else drawing.temperature,
        top_p=1.0 if drawing.top_p is None else drawing.top_p,
        stop=drawing.stop,
        seed=drawing.seed,
    )
