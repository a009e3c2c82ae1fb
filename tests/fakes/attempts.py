"""Trials of a sweep without a server: what a level shows is a function of the level."""

from __future__ import annotations

from collections.abc import Callable

from assay.bench.load_result import LoadResult
from assay.bench.measures import Measures
from assay.bench.records import CallRecord
from assay.bench.sweep import Attempt, AttemptResult
from assay.core.response import Failure
from assay.core.timing import CallTimes


def attempted(
    *,
    ttft_s: float = 0.1,
    per_s: float = 10.0,
    failed: float = 0.0,
    n: int = 100,
    is_streamed: bool = True,
    is_partial: bool = False,
    is_client_bound: bool = False,
) -> AttemptResult:
    """Return what n calls came to that all showed the same."""
    measures = Measures()
    n_failed = round(n * failed)
    seconds = (n - n_failed) / per_s
    for number in range(n):
        times = CallTimes(0.0, seconds, text_at=(ttft_s, seconds) if is_streamed else ())
        failure = Failure("injected", "asked to fail") if number < n_failed else None
        measures.add(CallRecord("i", number, times, n_input=1, n_output=2, failure=failure))
    driven = LoadResult(seconds, n, n, n, n_failed, is_partial=is_partial, is_client_bound=is_client_bound)
    return AttemptResult(driven, measures.summary())


def attempts(at: Callable[[float], AttemptResult]) -> tuple[Attempt, list[float]]:
    """Return an attempt, and the levels that it will have been asked for."""
    levels: list[float] = []

    async def attempt(level: float) -> AttemptResult:
        levels.append(level)
        return at(level)

    return attempt, levels
