"""What a person asks of a serving benchmark, as the commands say it, and the plan that it becomes."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from assay.app.bench import BenchPlan, Ladder
from assay.app.bench_items import SYNTHETIC, ItemSettings
from assay.app.settings import RunSettings
from assay.bench.arrivals import Arrivals, Ramp, TraceArrivals
from assay.bench.lengths import parse_lengths
from assay.bench.limits import LoadLimits
from assay.bench.load import ClosedLoad, Load, OpenLoad
from assay.bench.mooncake import TraceTimes
from assay.bench.search import SearchPlan
from assay.bench.sweep import LevelKind, TrialLength, parse_levels
from assay.core.errors import Problem, UsageError
from assay.core.request import Sampling
from assay.core.run import Setting
from assay.core.sampling_bounds import Temperature
from assay.dialects.shared.request_selection import SamplingMode

DEFAULT_CONCURRENCY = 16
Profile: TypeAlias = Literal["assay", "aisbench"]


class BenchSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that can be set for a benchmark; texts are read as the command line writes them."""

    model: str
    model_args: dict[str, str] = {}
    # --- what is sent ---
    dataset: str = SYNTHETIC
    requests: int | None = None
    input: str | None = None
    output: str | None = None
    token_ids: bool = False
    shared_prefix: int = 0
    prefix_groups: int = 1
    tokenizer: str | None = None
    order: SamplingMode = "default"
    chat: bool = True
    trace_speed: float | None = None
    trace_start_ms: float | None = None
    trace_end_ms: float | None = None
    run: RunSettings = RunSettings()
    """How a dataset is read."""
    # --- when ---
    concurrency: int | None = None
    rate: float | None = None
    burstiness: float = 0.0
    ramp: str | None = None
    """`1..50`: from one rate to the other."""
    ramp_form: Literal["linear", "exponential"] = "linear"
    ramp_seconds: float | None = None
    duration: float | None = None
    replay: bool | None = None
    """Send a trace's requests when it says that they came. None: where it is one and nothing else is said."""
    max_under_way: int | None = None
    grace: float | None = None
    think: float = 0.0
    warm_up: int = 1
    seed: int = 0
    temperature: Temperature = 0.0
    # --- several loads ---
    sweep: LevelKind | None = None
    levels: str | None = None
    search: LevelKind | None = None
    limits: tuple[str, ...] = ()
    trial_requests: int = 100
    trial_seconds: float = 10.0
    # --- what comes out ---
    profile: Profile = "assay"
    offline: bool = False
    """Refuse every connection but to the server."""
    out: str | None = None
    runs_dir: str = "runs"

    def recorded(self) -> dict[str, Setting]:
        """Return what was set, for the manifest; the rest are defaults."""
        unset = BenchSettings(model="")
        said = {name: getattr(self, name) for name in self.__struct_fields__ if name != "run"}
        return {name: Setting(value, "flag") for name, value in said.items() if value != getattr(unset, name)}


def build_item_settings(asked: BenchSettings) -> ItemSettings:
    """Return what is asked of the items."""
    times = TraceTimes(asked.trace_start_ms, asked.trace_end_ms, speed=asked.trace_speed or 1.0)
    return ItemSettings(
        n=asked.requests,
        seed=asked.seed,
        is_chat=asked.chat,
        output=None if asked.output is None else parse_lengths(asked.output, "--output"),
        tokenizer=asked.tokenizer,
        order=asked.order,
        input=None if asked.input is None else parse_lengths(asked.input, "--input"),
        kind="token_ids" if asked.token_ids else "text",
        shared_prefix=asked.shared_prefix,
        prefix_groups=asked.prefix_groups,
        trace=times,
        run=asked.run,
    )


def build_bench_plan(asked: BenchSettings, *, is_trace: bool) -> BenchPlan:
    """Return the plan, or raise when what is asked does not go together."""
    _reject_unused_settings(asked, is_trace=is_trace)
    return BenchPlan(
        load=_load(asked, is_trace=is_trace),
        n_warm_up=asked.warm_up,
        limits=LoadLimits.parse(asked.limits),
        sweep=_sweep(asked),
        trial=TrialLength(asked.trial_requests, asked.trial_seconds),
        seed=asked.seed,
    )


def _reject_unused_settings(asked: BenchSettings, *, is_trace: bool) -> None:
    """Raise when something is set that this benchmark has no use for: it would be passed over in silence."""
    unset = BenchSettings(model="")
    level_of = asked.sweep or asked.search
    if asked.ramp is None and (asked.ramp_form, asked.ramp_seconds) != (unset.ramp_form, unset.ramp_seconds):
        raise _usage_error("--ramp-form and --ramp-seconds belong to a ramp", "add --ramp A..B")
    if asked.think and (is_trace or asked.dataset == SYNTHETIC):
        raise _usage_error("--think is a pause between turns, and all prompts have one", "name conversations")
    if asked.grace is not None and asked.duration is None:
        raise _usage_error("--grace counts from the end of --duration", "add --duration")
    if level_of is None:
        if (asked.trial_requests, asked.trial_seconds) != (unset.trial_requests, unset.trial_seconds):
            raise _usage_error(
                "--trial-requests and --trial-seconds belong to a sweep", "add --sweep or --search"
            )
        return
    for name in ("requests", "concurrency", "rate", "ramp", "duration"):
        if getattr(asked, name) is not None:
            raise _usage_error(
                f"--{name} is not asked of a sweep or a search: the levels say how much is sent",
                "leave it away; --trial-requests and --trial-seconds say how long each level is tried",
            )


def _load(asked: BenchSettings, *, is_trace: bool) -> Load:
    # An item's own length goes before; this one is for datasets that name none.
    sampling = Sampling(temperature=asked.temperature, seed=asked.seed if asked.temperature else None)
    goes_round = asked.duration is not None and not (is_trace and asked.replay is not False)
    return Load(
        _shape(asked, is_trace=is_trace),
        sampling,
        n=asked.requests,
        seconds=asked.duration,
        grace_s=asked.grace,
        goes_round=goes_round and not (asked.sweep or asked.search),
        think_s=asked.think,
    )


def _shape(asked: BenchSettings, *, is_trace: bool) -> ClosedLoad | OpenLoad:
    has_rate = asked.rate is not None or asked.ramp is not None
    is_replayed = is_trace and not has_rate and asked.concurrency is None
    if asked.replay is False or (asked.sweep or asked.search):
        is_replayed = False
    if asked.replay and not is_trace:
        raise _usage_error("--replay: the dataset is no trace", "give --concurrency or --rate")
    if asked.replay and (has_rate or asked.concurrency is not None):
        raise _usage_error(
            "--replay sends at the trace's own times", "leave --rate, --ramp and --concurrency away"
        )
    if has_rate and asked.concurrency is not None:
        raise _usage_error(
            "--concurrency is a closed load, --rate and --ramp are open ones",
            "give one of them; --max-under-way N bounds an open load",
        )
    if "rate" in (asked.sweep, asked.search):
        # Each level has a rate of its own.
        return OpenLoad(Arrivals(1.0, None, asked.burstiness, asked.seed), asked.max_under_way)
    if is_replayed:
        return OpenLoad(TraceArrivals(), asked.max_under_way)
    if has_rate:
        return OpenLoad(_arrivals(asked), asked.max_under_way)
    if asked.burstiness:
        raise _usage_error("--burstiness is about the gaps of a rate", "give --rate")
    if asked.max_under_way is not None:
        raise _usage_error("--max-under-way bounds a load with a rate", "give --rate, or --concurrency alone")
    return ClosedLoad(DEFAULT_CONCURRENCY if asked.concurrency is None else asked.concurrency)


def _arrivals(asked: BenchSettings) -> Arrivals:
    ramp: Ramp | None = None
    if asked.ramp is not None:
        if asked.rate is not None:
            raise _usage_error("--ramp says the rate already", "leave --rate away")
        start, dots, end = asked.ramp.partition("..")
        try:
            ramp = Ramp(float(start), float(end), asked.ramp_form, asked.ramp_seconds)
        except ValueError:
            dots = ""
        if not dots:
            raise _usage_error(f"--ramp: found {asked.ramp!r}", "write two rates, such as --ramp 1..50")
    is_rescaled = asked.profile == "aisbench" and ramp is None and asked.requests is not None
    return Arrivals(asked.rate, ramp, asked.burstiness, asked.seed, is_rescaled=is_rescaled)


def _sweep(asked: BenchSettings) -> Ladder | SearchPlan | None:
    if asked.sweep is not None and asked.search is not None:
        raise _usage_error("--sweep and --search are two ways to go up", "give one of them")
    if asked.sweep is not None:
        default = "1..64"
        return Ladder(asked.sweep, parse_levels(asked.levels or default, asked.sweep))
    if asked.search is None:
        if asked.levels is not None:
            raise _usage_error("--levels belongs to a sweep", "add --sweep concurrency, or --sweep rate")
        return None
    if not asked.limits:
        raise _usage_error(
            "--search looks for the highest level that keeps limits, and none is given",
            "add --limit 'p99 ttft < 500ms'",
        )
    if asked.levels is None:
        return SearchPlan(asked.search)
    start, dots, most = asked.levels.partition("..")
    try:
        return SearchPlan(asked.search, float(start), float(most) if dots else None)
    except ValueError:
        raise _usage_error(
            f"--levels: found {asked.levels!r}", "write where to begin and end, such as --levels 1..512"
        ) from None


def _usage_error(what: str, fix: str) -> UsageError:
    return UsageError(Problem("LOAD-010", what, fix))
