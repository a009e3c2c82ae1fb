"""Goodput: the calls that met given limits, each call on its own."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec
import numpy as np

from assay.bench.columns import CallColumns, Flags

LimitedMetric: TypeAlias = Literal["ttft", "tpot", "itl", "e2el"]


class RequestLimit(msgspec.Struct, frozen=True):
    """A limit that a single call must meet to count as good; `itl` is its longest gap."""

    metric: LimitedMetric
    at_most_s: float

    def __str__(self) -> str:
        return f"{self.metric} <= {1000 * self.at_most_s:g} ms"


class Goodput(msgspec.Struct, frozen=True):
    """The number of calls that met the limits."""

    limits: tuple[RequestLimit, ...]
    n_good: int
    n_unknown: int
    """Successful calls that broke no limit, but lack a limited metric: not counted as good."""
    share: float | None
    """Fraction of all calls, including failed ones; None without calls."""
    per_s: float | None


def check_request_limits(calls: CallColumns, limits: tuple[RequestLimit, ...]) -> tuple[Flags, Flags]:
    """Return which calls succeeded and broke no limit, and which of them have all limited metrics."""
    breaks_none, is_known = calls.is_ok.copy(), calls.is_ok.copy()
    for limit in limits:
        value = {
            "ttft": calls.ttft,
            "tpot": calls.tpot,
            "itl": calls.longest_gap,
            "e2el": calls.e2el,
        }[limit.metric]
        is_seen = ~np.isnan(value)
        if limit.metric == "tpot":
            # A single token has no following token that could be late.
            is_seen |= calls.n_output == 1
        breaks_none &= ~(value > limit.at_most_s)
        is_known &= is_seen
    return breaks_none, breaks_none & is_known
