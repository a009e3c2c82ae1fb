"""Sweeps: the same load at several levels, one after the other.

A level is a concurrency or a rate. This module only chooses levels. The caller runs the trials, and ensures
that no trial sends items of an earlier one while there are others.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from typing import Literal, TypeAlias

import msgspec

from assay.bench.arrivals import Arrivals
from assay.bench.limits import LoadLimits
from assay.bench.load import ClosedLoad, Load, OpenLoad
from assay.bench.load_result import LoadResult
from assay.bench.summary import BenchSummary
from assay.core.errors import Problem, UsageError

LevelKind: TypeAlias = Literal["concurrency", "rate"]

FACTOR = 2
"""Factor between the levels of a sweep given by its ends."""
_ROUNDS = 5
"""Minimum calls per client of a closed trial: its first and last calls are not under full load."""


class AttemptResult(msgspec.Struct, frozen=True):
    """The result of a load at one level."""

    driven: LoadResult
    summary: BenchSummary


class LoadTrial(msgspec.Struct, frozen=True, omit_defaults=True):
    """One tested level."""

    level: float
    driven: LoadResult
    summary: BenchSummary
    broken: tuple[str, ...] = ()
    """Limits that it did not meet, with the measured values."""


class SweepResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of a sweep or a search."""

    of: LevelKind
    trials: tuple[LoadTrial, ...]
    """In the order in which they ran."""
    best: float | None
    """For a sweep, the level with the highest request throughput; for a search, the highest level that
    met the limits. None: there is none."""
    ended: str
    """Why it ended."""
    limits: tuple[str, ...] = ()
    """The limits of a search."""
    is_partial: bool = False
    """Whether it was interrupted."""


Attempt: TypeAlias = Callable[[float], Awaitable[AttemptResult]]
OnTrial: TypeAlias = Callable[[LoadTrial], None]


class TrialLength(msgspec.Struct, frozen=True):
    """The minimum size of a trial: it ends when both are reached."""

    requests: int = 100
    seconds: float = 10.0

    def __post_init__(self) -> None:
        if self.requests < 1:
            raise build_level_error(f"a trial has {self.requests} requests", "1 or more")
        if not (math.isfinite(self.seconds) and self.seconds >= 0):
            raise build_level_error(f"a trial has {self.seconds:g} seconds", "0 or more")


def build_trial_load(base: Load, of: LevelKind, level: float, length: TrialLength) -> Load:
    """Return the load of one level; all but its level and its length is as in `base`."""
    shape: ClosedLoad | OpenLoad
    if of == "rate":
        open_ = base.shape if isinstance(base.shape, OpenLoad) else OpenLoad(Arrivals(rate=level))
        drawn = open_.arrivals if isinstance(open_.arrivals, Arrivals) else Arrivals(rate=level)
        arrivals = msgspec.structs.replace(drawn, rate=level, ramp=None)
        shape = msgspec.structs.replace(open_, arrivals=arrivals)
        n = max(length.requests, math.ceil(level * length.seconds))
    else:
        closed = base.shape if isinstance(base.shape, ClosedLoad) else ClosedLoad(1)
        shape = msgspec.structs.replace(closed, concurrency=int(level), least_seconds=length.seconds)
        n = max(length.requests, _ROUNDS * int(level))
    return msgspec.structs.replace(base, shape=shape, n=n, seconds=None)


def parse_levels(text: str, of: LevelKind) -> tuple[float, ...]:
    """Parse the levels of a sweep: `1,2,4,8`, or `1..64` for doubling."""
    expected = "ascending numbers above 0 such as '1,2,4,8', or '1..64' for doubling"
    try:
        levels = [float(part) for part in (text.split("..", 1) if ".." in text else text.split(","))]
    except ValueError:
        raise build_level_error(f"the levels are {text!r}", expected) from None
    is_rising = all(before < after for before, after in pairwise(levels))
    if not is_rising or levels[0] <= 0 or not all(map(math.isfinite, levels)):
        raise build_level_error(f"the levels are {text!r}", expected)
    if ".." in text:
        low, high = levels
        n = math.ceil(math.log(high / low, FACTOR) - 1e-9)
        levels = [*(low * FACTOR**number for number in range(n)), high]
    if of == "concurrency" and any(level % 1 for level in levels):
        raise build_level_error(f"the levels are {text!r}", "integers: a level is a number of clients")
    return tuple(levels)


async def run_ladder(
    levels: Sequence[float],
    of: LevelKind,
    attempt: Attempt,
    *,
    limits: LoadLimits | None = None,
    failed_at_most: float = 0.05,
    on_trial: OnTrial = lambda trial: None,
) -> SweepResult:
    """Test levels in order.

    Ends early if too many calls fail, or if throughput falls twice in a row.
    """
    trials: list[LoadTrial] = []
    through: list[float] = []
    ended = ""
    for level in levels:
        attempted = await attempt(level)
        broken = limits.list_broken_limits(attempted.summary) if limits else ()
        trials.append(LoadTrial(level, attempted.driven, attempted.summary, broken))
        on_trial(trials[-1])
        through.append(attempted.summary.value("requests_per_s") or 0.0)
        if ended := _find_end_reason(trials[-1], through, failed_at_most):
            break
    best = trials[through.index(max(through))].level if any(through) else None
    is_partial = trials[-1].driven.is_partial if trials else False
    return SweepResult(of, tuple(trials), best, ended or "all levels were tested", is_partial=is_partial)


def _find_end_reason(last: LoadTrial, through: Sequence[float], failed_at_most: float) -> str:
    """Return why the sweep ends; empty if it continues."""
    if last.driven.is_partial:
        return "interrupted"
    failed = last.summary.value("failed")
    if failed is None or failed > failed_at_most:
        share = "no request succeeded" if failed is None else f"{failed:.1%} of the requests failed"
        return f"at {last.level:g} {share}; the maximum is {failed_at_most:.1%}"
    if len(through) > 2 and through[-1] < through[-2] < through[-3]:
        return f"throughput fell twice, from {through[-3]:.4g} to {through[-1]:.4g} requests/s"
    return ""


def build_level_error(what: str, expected: str) -> UsageError:
    """Return the error for an invalid level or trial length."""
    return UsageError(Problem("LOAD-007", f"{what}; expected {expected}", "correct the value"))
