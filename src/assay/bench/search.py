"""Search for the highest level that meets limits: doubling or halving, then bisection.

One trial decides about a level, so trials must be long enough. The search assumes that levels are in
order: all levels below one that meets the limits meet them, and no level above one that does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from assay.bench.limits import LoadLimits
from assay.bench.summary import BenchSummary
from assay.bench.sweep import FACTOR, Attempt, LevelKind, LoadTrial, OnTrial, SweepResult, build_level_error
from assay.core.errors import Problem, UsageError

_LOWEST_RATE = 1 / 64
"""The lowest rate tested, as a fraction of the start rate."""
_MOST_CLIENT_BOUND = 3
"""Trials with the client as the bottleneck after which a search that found no level ends."""


class SearchPlan(msgspec.Struct, frozen=True):
    """Where a search starts and when it ends."""

    of: LevelKind
    start: float = 1.0
    most: float | None = None
    """The highest level to test."""
    tolerance: float = 0.05
    """Maximum relative difference between the lowest level that failed and the highest that did not."""
    trials_at_most: int = 30

    def __post_init__(self) -> None:
        if not (math.isfinite(self.start) and self.start > 0):
            raise build_level_error(f"the search starts at {self.start:g}", "a level above 0")
        if self.most is not None and self.most < self.start:
            raise build_level_error(f"the search goes from {self.start:g} to {self.most:g}", "a higher end")
        if not 0 < self.tolerance < 1:
            raise build_level_error(f"the tolerance is {self.tolerance:g}", "a fraction such as 0.05")
        if self.trials_at_most < 1:
            raise build_level_error(f"the search has {self.trials_at_most} trials", "1 or more")
        whole = (self.start, self.start if self.most is None else self.most)
        if self.of == "concurrency" and any(level % 1 for level in whole):
            raise build_level_error(
                f"the search starts at {whole[0]:g} and ends at {whole[1]:g} clients", "integers"
            )

    def next_level(self, passed: float | None, broke: float | None) -> float | str:
        """Return which level is tried next; where there is none, why not.

        `kept` and `broke`: the highest level that kept the limits, and the lowest that did not.
        """
        if broke is None:
            assert passed is not None
            if passed == self.most:
                return f"{passed:g} meets the limits, and it is the highest level allowed"
            return min(passed * FACTOR, math.inf if self.most is None else self.most)
        if passed is None:
            least = 1.0 if self.of == "concurrency" else self.start * _LOWEST_RATE
            return (
                self._pick_midpoint(0.0, broke)
                if broke > least
                else f"even {broke:g} does not meet the limits"
            )
        is_near = broke <= passed * (1 + self.tolerance) or (self.of == "concurrency" and broke - passed <= 1)
        return (
            f"{passed:g} meets the limits and {broke:g} does not"
            if is_near
            else self._pick_midpoint(passed, broke)
        )

    def _pick_midpoint(self, low: float, high: float) -> float:
        if self.of == "concurrency":
            return float((int(low) + int(high)) // 2)
        return (low + high) / 2


def require_common_limit(limits: LoadLimits) -> None:
    """Raise UsageError if there is no limit that a level could break."""
    if not limits.of_all:
        raise UsageError(
            Problem(
                "LOAD-005",
                "there is no limit on all requests together, so every level would meet the limits",
                "add one, such as 'p99 ttft < 500ms' or 'goodput > 95%'",
            )
        )


async def find_highest_level(
    plan: SearchPlan, limits: LoadLimits, attempt: Attempt, *, on_trial: OnTrial = lambda trial: None
) -> SweepResult:
    """Find the highest level that meets the limits."""
    require_common_limit(limits)
    trials: list[LoadTrial] = []
    kept: float | None = None
    broke: float | None = None
    level: float | str = plan.start
    is_partial = False
    n_client_bound = 0
    while not isinstance(level, str):
        attempted = await attempt(level)
        is_partial = attempted.driven.is_partial
        if not is_partial:
            limits.require_values(attempted.summary)
        broken = limits.list_broken_limits(attempted.summary)
        is_alone = bool(broken) and _has_no_overlap(attempted.summary)
        n_client_bound = n_client_bound + 1 if attempted.driven.is_client_bound and not broken else 0
        if attempted.driven.is_client_bound:
            broken = (*broken, "the client was the bottleneck: the server did not receive this load")
        trials.append(LoadTrial(level, attempted.driven, attempted.summary, broken))
        on_trial(trials[-1])
        if is_partial:
            level = "interrupted"
            break
        kept, broke = (kept, level) if broken else (level, broke)
        level = plan.next_level(kept, broke)
        client_bound = _list_client_bound(trials, limits)
        if (
            kept is None
            and n_client_bound
            and (n_client_bound == _MOST_CLIENT_BOUND or isinstance(level, str))
        ):
            level = _format_client_verdict(plan.of, client_bound[-n_client_bound:])
        elif isinstance(level, str) and broke in client_bound:
            level = f"{kept:g} meets the limits; at {broke:g} the client was the bottleneck, not the server"
        if kept is None and is_alone and not isinstance(level, str):
            # A lower level would only take longer: with 100 calls, hours at the lowest rate.
            level = f"even {broke:g} does not meet the limits, although no two requests were concurrent"
        if len(trials) == plan.trials_at_most and not isinstance(level, str):
            level = f"the maximum of {len(trials)} trials was reached"
    limit_texts = tuple(map(str, (*limits.of_all, *limits.of_each)))
    return SweepResult(plan.of, tuple(trials), kept, str(level), limit_texts, is_partial)


def _list_client_bound(trials: Sequence[LoadTrial], limits: LoadLimits) -> list[float]:
    """Return the levels that met all limits, but that the client could not send."""
    return [
        trial.level
        for trial in trials
        if trial.driven.is_client_bound and not limits.list_broken_limits(trial.summary)
    ]


def _format_client_verdict(of: LevelKind, levels: Sequence[float]) -> str:
    """Return why a search ends: the client could not send these levels, so no level tested the server."""
    unit = "requests per second" if of == "rate" else "concurrent clients"
    listed = ", ".join(f"{level:g}" for level in levels)
    return (
        f"the client was the bottleneck at {listed} {unit}, so the limit of the server is unknown: "
        "run assay bench on a less busy machine"
    )


def _has_no_overlap(summary: BenchSummary) -> bool:
    """Whether no two calls met at the server: then no lower level is easier for it."""
    return summary.concurrency is not None and summary.concurrency.max <= 1
