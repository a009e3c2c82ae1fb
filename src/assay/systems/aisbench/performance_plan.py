"""What AISBench's performance mode asks of a model, as the plan of a serving benchmark."""

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
"""Longest answers where neither the dataset nor the model says one: that of the original's presets."""


class PerfOptions(NamedTuple):
    """What a command says of every load."""

    n_warm_up: int = 1
    num_prompts: int | None = None
    """Rows of each dataset at most."""
    pressure_s: float | None = None
    """Let so many clients as the batch has ask for so long, one request after the other. None: each row
    once."""
    max_out_len: int | None = None
    """Longest answers, whatever datasets and models say."""
    seed: int = 0


def build_item_settings(model: ModelConfig, run: RunSettings, asked: PerfOptions) -> ItemSettings:
    """Return what is asked of the items for a model; `run`: how datasets are read."""
    return ItemSettings(
        at_most=asked.num_prompts,
        seed=asked.seed,
        is_chat=model.is_chat is not False,
        output=None if asked.max_out_len is None else ConstantLength(asked.max_out_len),
        tokenizer=model.tokenizer,
        run=run,
    )


def perf_plan(model: ModelConfig, n_items: int, asked: PerfOptions, *, has_times: bool) -> BenchPlan:
    """Return the plan for one load of a model; `has_times`: the items say when they were sent."""
    pacing = get_pacing(model)
    is_pressed = asked.pressure_s is not None
    load = Load(
        _shape(pacing, asked, has_times=has_times),
        _sampling(model, asked),
        n=None if is_pressed else n_items,
        seconds=asked.pressure_s,
        goes_round=is_pressed,
    )
    return BenchPlan(load, n_warm_up=asked.n_warm_up, seed=asked.seed)


def perf_notes(model: ModelConfig, asked: PerfOptions, *, has_times: bool) -> Iterator[str]:
    """Yield what of a model's pacing has no effect on a load, and what a person may not expect."""
    pacing = get_pacing(model)
    is_pressed = asked.pressure_s is not None
    if is_pressed and (pacing.ramp is not None or pacing.uses_timestamps):
        yield "traffic_cfg and use_timestamp: clients of --pressure start at request_rate, evenly"
    elif pacing.uses_timestamps and not has_times:
        yield "use_timestamp: the dataset says no times, so the rate counts"
    elif pacing.uses_timestamps:
        yield "use_timestamp: requests are sent when the trace says, however many are under way"
    elif pacing.ramp is not None and pacing.rate is None:
        yield "traffic_cfg: the ramp counts without a request_rate as well; the original forgets it"
    if model.model_args.get("stream") == "false":
        yield "stream is off: TTFT is the time to the whole reply, and there are no times between tokens"


def client_args(model: ModelConfig) -> dict[str, str]:
    """Return the arguments of the client that measures a model."""
    args = dict(export_model_key(model))
    # The original sends what the config says and nothing else: for the rest the server decides.
    unsaid = [name for name in ("temperature", "top_p") if getattr(model.drawing, name) is None]
    if unsaid and "decoding" not in args:
        args["omit"] = ",".join(filter(None, (args.get("omit"), *unsaid)))
    return args


def get_pacing(model: ModelConfig) -> Pacing:
    """Return how a model is loaded."""
    assert model.pacing is not None, "models of a timed plan have a pacing"
    return model.pacing


def _shape(pacing: Pacing, asked: PerfOptions, *, has_times: bool) -> ClosedLoad | OpenLoad:
    if asked.pressure_s is not None:
        return ClosedLoad(pacing.batch_size, starts_per_s=pacing.rate)
    if pacing.uses_timestamps and has_times:
        return OpenLoad(TraceArrivals())
    ramp = pacing.ramp
    if ramp is not None:
        shown = Ramp(ramp.start, ramp.end, ramp.form)
        arrivals = Arrivals(ramp=shown, burstiness=pacing.burstiness, seed=asked.seed, is_rescaled=True)
        return OpenLoad(arrivals, pacing.batch_size)
    if pacing.rate is None:
        return ClosedLoad(pacing.batch_size)
    arrivals = Arrivals(pacing.rate, burstiness=pacing.burstiness, seed=asked.seed, is_rescaled=True)
    return OpenLoad(arrivals, pacing.batch_size)


def _sampling(model: ModelConfig, asked: PerfOptions) -> Sampling:
    drawing = model.drawing
    return Sampling(
        max_tokens=asked.max_out_len or model.max_tokens or _USUAL_LENGTH,
        temperature=1.0 if drawing.temperature is None else drawing.temperature,
        top_p=1.0 if drawing.top_p is None else drawing.top_p,
        stop=drawing.stop,
        seed=drawing.seed,
    )
