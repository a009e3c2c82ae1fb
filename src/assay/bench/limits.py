"""Limits of a load, such as `p99 ttft < 500ms`, `failed < 1%` and `goodput > 95%`.

A time with a statistic limits all calls together. A time without one (`ttft < 500ms`) limits
each call on its own: calls that meet all such limits are good, and `goodput` is their fraction. Only metrics
that get worse under load can be limited, so a search may assume that all levels below one that meets the
limits meet them as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

import msgspec

from assay.bench.goodput import LimitedMetric, RequestLimit
from assay.bench.summary import BenchSummary
from assay.core.errors import Problem, UsageError, listing, suggest_name

Sign: TypeAlias = Literal["<", "<=", ">", ">="]

TIMES: tuple[str, ...] = get_args(LimitedMetric)
SHARES = ("failed", "goodput")
STATS = ("mean", "min", "max", "p50", "p75", "p90", "p95", "p99")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_FORM = re.compile(
    r"(?:(?P<stat>\w+)\s+)?(?P<metric>\w+)\s*(?P<sign><=|>=|<|>)\s*"
    r"(?P<number>\d+(?:\.\d*)?|\.\d+)\s*(?P<unit>\w+|%)?"
)


class LoadLimit(msgspec.Struct, frozen=True):
    """One limit on all calls together."""

    metric: str
    """A time, or a share of the calls."""
    stat: str | None
    """Which statistic of a time; None for a share."""
    sign: Sign
    value: float
    """In seconds, or from 0 to 1."""

    def is_met_by(self, value: float) -> bool:
        """Return whether a value meets the limit."""
        if value == self.value:
            return self.sign in ("<=", ">=")
        return (value < self.value) == self.sign.startswith("<")

    def format_value(self, value: float) -> str:
        """Return a value in the unit of this limit."""
        return f"{value * 100:.4g}%" if self.metric in SHARES else f"{value * 1000:.4g}ms"

    def __str__(self) -> str:
        name = self.metric if self.stat is None else f"{self.stat} {self.metric}"
        return f"{name} {self.sign} {self.format_value(self.value)}"


class LoadLimits(msgspec.Struct, frozen=True):
    """All limits of a load."""

    of_all: tuple[LoadLimit, ...] = ()
    of_each: tuple[RequestLimit, ...] = ()

    @classmethod
    def parse(cls, texts: Sequence[str]) -> LoadLimits:
        """Parse limits; a text may contain several, separated by commas. Raise all problems in one error."""
        parsed = [_parse_limit(part.strip()) for text in texts for part in text.split(",")]
        problems = [one for one in parsed if isinstance(one, Problem)]
        of_all = tuple(one for one in parsed if isinstance(one, LoadLimit))
        of_each = tuple(one for one in parsed if isinstance(one, RequestLimit))
        if not problems and not of_each and any(limit.metric == "goodput" for limit in of_all):
            problems = [
                _build_limit_problem(
                    "'goodput' needs a limit on each request", "add one, such as 'ttft < 500ms'"
                )
            ]
        if problems:
            raise UsageError(problems)
        return cls(of_all, of_each)

    def list_broken_limits(self, summary: BenchSummary) -> tuple[str, ...]:
        """Return the limits that a load did not meet, with the measured values."""
        broken = []
        for limit in self.of_all:
            value = summary.value(limit.metric, limit.stat)
            if value is None:
                broken.append(f"{limit}: no request succeeded")
            elif not limit.is_met_by(value):
                broken.append(f"{limit}: measured {limit.format_value(value)}")
        return tuple(broken)

    def verdicts(self, summary: BenchSummary) -> tuple[str, ...]:
        """Return for each limit on all calls whether a load met it."""
        verdicts = []
        for limit in self.of_all:
            value = summary.value(limit.metric, limit.stat)
            if value is None:
                verdicts.append(f"limit {limit}: not checked, no response has this metric")
            else:
                verdict = "met" if limit.is_met_by(value) else "NOT met"
                verdicts.append(f"limit {limit}: {verdict}, measured {limit.format_value(value)}")
        return tuple(verdicts)

    def require_values(self, summary: BenchSummary) -> None:
        """Raise UsageError if calls succeeded but have no value for a limited metric, as without a stream."""
        problems = [
            Problem(
                "LOAD-006",
                f"the limit '{limit}' cannot be checked: no response has a {limit.metric}",
                "stream responses of several tokens, or limit e2el instead",
            )
            for limit in self.of_all
            if summary.n_succeeded and limit.stat and summary.value(limit.metric, limit.stat) is None
        ]
        if problems:
            raise UsageError(problems)


def _parse_limit(text: str) -> LoadLimit | RequestLimit | Problem:
    match = _FORM.fullmatch(text)
    if match is None:
        return _build_limit_problem(
            f"{text!r} is not a limit", "for example, write 'p99 ttft < 500ms' or 'failed < 1%'"
        )
    stat, metric = match["stat"] and match["stat"].lower(), match["metric"].lower()
    known = (*TIMES, *SHARES)
    if metric not in known:
        return _build_limit_problem(
            f"{text!r}: unknown metric {metric!r}{suggest_name(metric, known)}", f"use {listing(known)}"
        )
    wanted: Literal[">", "<"] = ">" if metric == "goodput" else "<"
    sign: Sign = ">=" if match["sign"] == ">=" else "<=" if match["sign"] == "<=" else wanted
    if not match["sign"].startswith(wanted):
        bound = "minimum" if metric == "goodput" else "maximum"
        return _build_limit_problem(
            f"{text!r}: a limit on {metric} is a {bound}", f"write '{metric} {wanted} ...'"
        )
    number = float(match["number"])
    if metric in SHARES:
        if stat is not None or match["unit"] != "%" or number > 100:
            fix = f"write for example '{metric} {wanted} 5%'"
            return _build_limit_problem(
                f"{text!r}: expected a percentage from 0% to 100%, without a statistic", fix
            )
        return LoadLimit(metric, None, sign, number / 100)
    if match["unit"] not in _SECONDS:
        return _build_limit_problem(
            f"{text!r}: the unit is {match['unit'] or 'missing'}", "write it as 500ms or 0.5s"
        )
    seconds = number * _SECONDS[match["unit"]]
    if stat is None:
        return msgspec.convert({"metric": metric, "at_most_s": seconds}, RequestLimit)
    if stat not in STATS:
        return _build_limit_problem(
            f"{text!r}: unknown statistic {stat!r}{suggest_name(stat, STATS)}", f"use {listing(STATS)}"
        )
    return LoadLimit(metric, stat, sign, seconds)


def _build_limit_problem(what: str, fix: str) -> Problem:
    return Problem("LOAD-005", what, fix)
