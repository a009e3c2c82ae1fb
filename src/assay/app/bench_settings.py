"""The settings of a serving benchmark, and the plan built from them."""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.app.bench import BenchPlan, Ladder
from assay.app.bench_items import SYNTHETIC, ItemSettings
from assay.app.bench_report import Profile
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


class BenchSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All settings of a benchmark; texts have the syntax of the command line."""

    model: str
    model_args: dict[str, str] = {}
    # --- items ---
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
    """How to read a dataset."""
    # --- load ---
    concurrency: int | None = None
    rate: float | None = None
    burstiness: float = 0.0
    ramp: str | None = None
    """`1..50`: from the first rate to the second."""
    ramp_form: Literal["linear", "exponential"] = "linear"
    ramp_seconds: float | None = None
    duration: float | None = None
    replay: bool | None = None
    """Send a trace's requests at their recorded times. None: if the dataset is a trace and no load is set."""
    max_under_way: int | None = None
    grace: float | None = None
    think: float = 0.0
    warm_up: int = 1
    seed: int = 0
    temperature: Temperature = 0.0
    # --- sweeps ---
    sweep: LevelKind | None = None
    levels: str | None = None
    search: LevelKind | None = None
    limits: tuple[str, ...] = ()
    trial_requests: int = 100
    trial_seconds: float = 10.0
    # --- output ---
    profile: Profile = "assay"
    offline: bool = False
    """Reject every connection except to the server."""
    out: str | None = None
    runs_dir: str = "runs"

    def to_manifest(self) -> dict[str, Setting]:
        """Return all settings that differ from their defaults, for the manifest."""
        unset = BenchSettings(model="")
        values = {name: getattr(self, name) for name in self.__struct_fields__ if name != "run"}
        return {
            name: Setting(value, "flag") for name, value in values.items() if value != getattr(unset, name)
        }


def build_item_settings(settings: BenchSettings) -> ItemSettings:
    """Return the settings of the items."""
    times = TraceTimes(settings.trace_start_ms, settings.trace_end_ms, speed=settings.trace_speed or 1.0)
    return ItemSettings(
        n=settings.requests,
        seed=settings.seed,
        is_chat=settings.chat,
        output=None if settings.output is None else parse_lengths(settings.output, "--output"),
        tokenizer=settings.tokenizer,
        order=settings.order,
        input=None if settings.input is None else parse_lengths(settings.input, "--input"),
        kind="token_ids" if settings.token_ids else "text",
        shared_prefix=settings.shared_prefix,
        prefix_groups=settings.prefix_groups,
        trace=times,
        run=settings.run,
    )


def build_bench_plan(settings: BenchSettings, *, is_trace: bool) -> BenchPlan:
    """Return the plan; raise if settings contradict each other."""
    _reject_unused_settings(settings, is_trace=is_trace)
    return BenchPlan(
        load=_load(settings, is_trace=is_trace),
        n_warm_up=settings.warm_up,
        limits=LoadLimits.parse(settings.limits),
        sweep=_sweep(settings),
        trial=TrialLength(settings.trial_requests, settings.trial_seconds),
        seed=settings.seed,
    )


def _reject_unused_settings(settings: BenchSettings, *, is_trace: bool) -> None:
    """Raise if a setting has no effect on this benchmark: it must not be ignored silently."""
    unset = BenchSettings(model="")
    level_of = settings.sweep or settings.search
    if settings.ramp is None and (settings.ramp_form, settings.ramp_seconds) != (
        unset.ramp_form,
        unset.ramp_seconds,
    ):
        raise _usage_error("--ramp-form and --ramp-seconds need a ramp", "add --ramp A..B")
    if settings.think and (is_trace or settings.dataset == SYNTHETIC):
        raise _usage_error(
            "--think is a pause between turns, but every prompt has a single turn",
            "name a dataset of conversations, or remove --think",
        )
    if settings.grace is not None and settings.duration is None:
        raise _usage_error("--grace counts from the end of --duration, which is not set", "add --duration")
    if level_of is None:
        if (settings.trial_requests, settings.trial_seconds) != (unset.trial_requests, unset.trial_seconds):
            raise _usage_error(
                "--trial-requests and --trial-seconds need a sweep or search", "add --sweep or --search"
            )
        return
    for name in ("requests", "concurrency", "rate", "ramp", "duration"):
        if getattr(settings, name) is not None:
            raise _usage_error(
                f"--{name} cannot be combined with --sweep or --search: the levels define the load",
                f"remove --{name}; --trial-requests and --trial-seconds set the length of each level",
            )


def _load(settings: BenchSettings, *, is_trace: bool) -> Load:
    # An item's own output length has priority; this applies to datasets without one.
    sampling = Sampling(
        temperature=settings.temperature, seed=settings.seed if settings.temperature else None
    )
    goes_round = settings.duration is not None and not (is_trace and settings.replay is not False)
    return Load(
        _shape(settings, is_trace=is_trace),
        sampling,
        n=settings.requests,
        seconds=settings.duration,
        grace_s=settings.grace,
        goes_round=goes_round and not (settings.sweep or settings.search),
        think_s=settings.think,
    )


def _shape(settings: BenchSettings, *, is_trace: bool) -> ClosedLoad | OpenLoad:
    has_rate = settings.rate is not None or settings.ramp is not None
    is_replayed = is_trace and not has_rate and settings.concurrency is None
    if settings.replay is False or (settings.sweep or settings.search):
        is_replayed = False
    if settings.replay and not is_trace:
        raise _usage_error(
            "--replay needs a trace, but the dataset is not one", "use --concurrency or --rate"
        )
    if settings.replay and (has_rate or settings.concurrency is not None):
        raise _usage_error(
            "--replay sends requests at the times of the trace", "remove --rate, --ramp and --concurrency"
        )
    if has_rate and settings.concurrency is not None:
        raise _usage_error(
            "--concurrency sets a closed load, but --rate and --ramp set an open one",
            "use one of them; --max-under-way N limits the concurrency of an open load",
        )
    if "rate" in (settings.sweep, settings.search):
        # Each level sets its own rate.
        return OpenLoad(Arrivals(1.0, None, settings.burstiness, settings.seed), settings.max_under_way)
    if is_replayed:
        return OpenLoad(TraceArrivals(), settings.max_under_way)
    if has_rate:
        return OpenLoad(_arrivals(settings), settings.max_under_way)
    if settings.burstiness:
        raise _usage_error("--burstiness changes the gaps of a rate, but no rate is set", "add --rate")
    if settings.max_under_way is not None:
        raise _usage_error(
            "--max-under-way limits a load with a rate, but no rate is set",
            "add --rate, or use --concurrency instead",
        )
    return ClosedLoad(DEFAULT_CONCURRENCY if settings.concurrency is None else settings.concurrency)


def _arrivals(settings: BenchSettings) -> Arrivals:
    ramp: Ramp | None = None
    if settings.ramp is not None:
        if settings.rate is not None:
            raise _usage_error("--ramp and --rate both set the rate", "remove --rate")
        start, dots, end = settings.ramp.partition("..")
        try:
            ramp = Ramp(float(start), float(end), settings.ramp_form, settings.ramp_seconds)
        except ValueError:
            dots = ""
        if not dots:
            raise _usage_error(f"--ramp is {settings.ramp!r}", "write two rates, such as --ramp 1..50")
    is_rescaled = settings.profile == "aisbench" and ramp is None and settings.requests is not None
    return Arrivals(settings.rate, ramp, settings.burstiness, settings.seed, is_rescaled=is_rescaled)


def _sweep(settings: BenchSettings) -> Ladder | SearchPlan | None:
    if settings.sweep is not None and settings.search is not None:
        raise _usage_error("--sweep and --search exclude each other", "use one of them")
    if settings.sweep is not None:
        default = "1..64"
        return Ladder(settings.sweep, parse_levels(settings.levels or default, settings.sweep))
    if settings.search is None:
        if settings.levels is not None:
            raise _usage_error("--levels needs a sweep or search", "add --sweep concurrency or --sweep rate")
        return None
    if not settings.limits:
        raise _usage_error(
            "--search finds the highest level within limits, but no limit is set",
            "add --limit 'p99 ttft < 500ms'",
        )
    if settings.levels is None:
        return SearchPlan(settings.search)
    start, dots, most = settings.levels.partition("..")
    try:
        return SearchPlan(settings.search, float(start), float(most) if dots else None)
    except ValueError:
        raise _usage_error(
            f"--levels is {settings.levels!r}", "write the first and last level, such as --levels 1..512"
        ) from None


def _usage_error(what: str, fix: str) -> UsageError:
    return UsageError(Problem("LOAD-010", what, fix))
