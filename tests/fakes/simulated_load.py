"""Loads that no server answered: calls whose times are drawn, always alike."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from assay.bench.page_data import PageHead
from assay.bench.records import CallRecord
from assay.core.response import Failure, Finish
from assay.core.timing import CallTimes

START = 51_234.5
"""Where the clock stood: monotonic clocks do not begin at 0."""


def closed_load(
    places: int,
    n_calls: int,
    *,
    n_tokens: int = 20,
    streams: bool = True,
    failing: float = 0.0,
    message: str = "500 Internal Server Error",
) -> Iterator[CallRecord]:
    """Yield calls of a load that keeps so many under way, in the order in which they begin."""
    draw = np.random.default_rng(1)
    free = [START + 0.002 * place for place in range(places)]
    for number in range(n_calls):
        began = heapq.heappop(free)
        first = began + draw.lognormal(-2.0, 0.4)
        text_at = first + np.concatenate([[0.0], np.cumsum(draw.gamma(20, 0.001, n_tokens - 1))])
        ended = float(text_at[-1]) + 0.001
        heapq.heappush(free, ended)
        if draw.random() < failing:
            yield CallRecord(
                f"item {number}",
                number,
                CallTimes(began, ended),
                failure=Failure(("timeout", "http_500")[number % 2], message),
            )
        else:
            times = CallTimes(began, ended, tuple(text_at.tolist()) if streams else ())
            yield CallRecord(
                f"item {number}", number, times, n_input=100, n_output=n_tokens, finish=Finish.END
            )


def page_head(
    model: str = "a model",
    *,
    address: str = "http://127.0.0.1:8000/v1",
    dataset: str = "data.csv",
    load: str = "4 at a time",
    date: str = "2026-11-16",
) -> PageHead:
    """Return the head of a page."""
    return PageHead(
        model,
        address,
        dataset,
        load,
        date,
        duration_s=1.0,
        n_calls=1,
        n_failed=0,
        n_input=1,
        n_output=None,
    )
