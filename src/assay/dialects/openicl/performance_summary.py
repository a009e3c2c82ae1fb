"""The summarizer of AISBench's performance mode: the reported stage and statistics."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from assay.core.errors import AuthorError, Problem, listing
from assay.core.origin import Origin
from assay.dialects.openicl.authored.code import get_short_name

SUMMARY_PRESETS = ("default_perf", "stable_stage")
_CODE = "OPENICL-041"
_STABLE = "StablePerfMetricCalculator"
_CALCULATORS = ("DefaultPerfMetricCalculator", _STABLE)
_STATS = re.compile(r"Average|Min|Max|Median|P[1-9][0-9]?")
_MAX_STATS = 8


class PerformanceSummary(NamedTuple):
    """The settings of a performance summarizer."""

    is_stable: bool = False
    """Whether only the stage with maximum concurrency counts."""
    stats: tuple[str, ...] | None = None
    """None: the default statistics."""


def find_summary_preset(name: str) -> PerformanceSummary | None:
    """Return a summary preset, or None."""
    return PerformanceSummary(name == "stable_stage") if name in SUMMARY_PRESETS else None


def read_performance_summary(given: Mapping[str, Any], where: Origin) -> PerformanceSummary:
    """Return the settings of a config's summarizer; an accuracy summarizer means the default one."""
    if given.get("attr") != "performance":
        return PerformanceSummary()
    calculator = given.get("calculator")
    if not isinstance(calculator, Mapping) or get_short_name(calculator.get("type", "")) not in _CALCULATORS:
        what = f"summarizer.calculator is {calculator!r:.80}, expected a dict whose type is one of "
        raise _build_error(what + listing(_CALCULATORS), where)
    stats = calculator.get("stats_list")
    if stats is not None:
        is_list = isinstance(stats, list | tuple) and 1 <= len(stats) <= _MAX_STATS
        if not is_list or not all(isinstance(one, str) and _STATS.fullmatch(one) for one in stats):
            expected = f"at most {_MAX_STATS} of Average, Min, Max, Median and P1 to P99"
            raise _build_error(f"stats_list is {stats!r:.80}, expected {expected}", where)
    is_stable = get_short_name(calculator["type"]) == _STABLE
    return PerformanceSummary(is_stable, None if stats is None else tuple(stats))


def _build_error(what: str, where: Origin) -> AuthorError:
    return AuthorError(Problem(_CODE, what, "correct the summarizer", where))
