"""The gate: whether a comparison shows that the new run is worse, as a rule for scripts and CI."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from assay.core.errors import Problem, UsageError
from assay.results.baseline_run import BaselineRun, ScoredRun
from assay.results.comparison import SIGNIFICANCE_LEVEL, MetricComparison, RunComparison
from assay.results.paired import compute_hypothesis_p, holm
from assay.results.sample_join import are_of_different_programs, pair_tasks

_RULE = re.compile(r"(?P<name>worse|worse-or-unsure)(?::(?P<margin>\d+(?:\.\d+)?))?")
_MOST = 100


class GateRule(msgspec.Struct, frozen=True):
    """When a gate fails."""

    margin: float = 0.0
    """The drop that is tolerated, in points: percentage points of a share, percent of a perplexity, otherwise
    the metric's own unit."""
    fails_unsure: bool = False
    """Whether it also fails if the interval does not exclude a larger drop than the tolerated one."""

    @classmethod
    def parse(cls, text: str) -> GateRule:
        """Read `worse`, `worse:2`, `worse-or-unsure` or `worse-or-unsure:2`."""
        match = _RULE.fullmatch(text.strip())
        if match is None or float(match["margin"] or 0) >= _MOST:
            raise UsageError(
                Problem(
                    "GATE-001",
                    f"--fail-if is {text!r}, expected worse, worse:POINTS, worse-or-unsure or "
                    "worse-or-unsure:POINTS",
                    "write --fail-if worse, or --fail-if worse:2 to tolerate a drop of 2 points",
                )
            )
        return cls(float(match["margin"] or 0), match["name"] == "worse-or-unsure")

    def __str__(self) -> str:
        name = "worse-or-unsure" if self.fails_unsure else "worse"
        return f"{name}:{self.margin:g}" if self.margin else name


class GateVerdict(StrEnum):
    """What the interval of a difference says."""

    WORSE = "worse"
    """The whole interval is below the tolerated drop, and the test is significant among all checks."""
    NOT_WORSE = "not worse"
    """The whole interval is above the tolerated drop."""
    UNSURE = "unsure"
    """The data are compatible with both."""


class GateCheck(msgspec.Struct, frozen=True):
    """One comparison that a gate decides by."""

    compared: MetricComparison
    verdict: GateVerdict
    p: float | None
    """The p-value of the tolerated drop, corrected by Holm's method for the number of checks."""
    is_failing: bool


class Gate(msgspec.Struct, frozen=True):
    """The outcome of a gate."""

    rule: str
    has_passed: bool
    checks: tuple[GateCheck, ...]

    @property
    def failing(self) -> list[GateCheck]:
        """Return the checks that fail."""
        return [one for one in self.checks if one.is_failing]

    def failing_by(self, verdict: GateVerdict) -> list[GateCheck]:
        """Return the checks that fail by a verdict."""
        return [one for one in self.failing if one.verdict is verdict]


def decide(comparison: RunComparison, rule: GateRule, *, per_group: bool = False) -> Gate:
    """Return whether a comparison passes a gate.

    The checks are the headline metrics of each dataset and method: of a dataset with subsets, the mean over
    them. With `per_group` also each subset and group. Raise GATE-004 if a check has no pairs.
    """
    compared = _select_checks(comparison, per_group=per_group)
    _require_pairs(comparison, compared)
    ps = [_compute_p(one, rule) for one in compared]
    corrected = iter(holm([p for p in ps if p is not None]))
    checks = []
    for one, p in zip(compared, ps, strict=True):
        decided = None if p is None else next(corrected)
        verdict = _judge(one, rule, decided)
        is_failing = verdict is GateVerdict.WORSE or (rule.fails_unsure and verdict is GateVerdict.UNSURE)
        checks.append(GateCheck(one, verdict, decided, is_failing))
    return Gate(str(rule), not any(one.is_failing for one in checks), tuple(checks))


def _select_checks(comparison: RunComparison, *, per_group: bool) -> list[MetricComparison]:
    every = [one for one in comparison.headlines if one.first == 0]
    if per_group:
        return every
    averaged = {(name, one.method) for one in every for name in one.subsets}
    return [one for one in every if one.group is None and (one.task, one.method) not in averaged]


def _require_pairs(comparison: RunComparison, checks: Sequence[MetricComparison]) -> None:
    names = [side.name for side in comparison.sides]
    if not checks:
        what = f"{names[0]} and {names[-1]} share no headline metric to decide by"
        fix = "choose a metric that both have: --metric NAME"
        raise UsageError(Problem("GATE-004", what, fix))
    empty = [one for one in checks if not one.result.n]
    if empty:
        raise UsageError(
            [
                Problem(
                    "GATE-004",
                    f"{one.task} by {one.method}"
                    + ("" if one.group is None else f", group {one.group!r}")
                    + f": no sample was scored in both runs ({_count_left_out(one, names)})",
                    "compare runs of the same samples, and retry failed requests with --retry-failed",
                )
                for one in empty
            ]
        )


def _count_left_out(compared: MetricComparison, names: Sequence[str]) -> str:
    counts = (
        (compared.n_only_first, f"only in {names[compared.first]}"),
        (compared.n_only_second, f"only in {names[compared.second]}"),
        (compared.n_failed, "failed"),
        (compared.n_ungraded, "without a score"),
    )
    return ", ".join(f"{n:,} {what}" for n, what in counts if n) or "both have none"


def require_complete(
    sides: Sequence[ScoredRun], comparison: RunComparison, methods: Sequence[str] = ()
) -> None:
    """Raise GATE-004 if a score of the base is not compared with each new run: a gate must not skip it.

    `methods`: the methods that are compared; empty for all.
    """
    fix = "evaluate the same datasets with the same methods in both runs, and use --retry-failed"
    base = comparison.sides[0].name
    missing = [
        (comparison.sides[at].name, task, method)
        for at in range(1, len(sides))
        for task, method in _list_skipped(sides, at, comparison, methods)
    ]
    if missing:
        raise UsageError(
            [
                Problem(
                    "GATE-004",
                    f"{base} has a score of {task} by {method}, and {new} has none to compare with it",
                    fix,
                )
                for new, task, method in missing
            ]
        )


def _list_skipped(
    sides: Sequence[ScoredRun], at: int, comparison: RunComparison, methods: Sequence[str]
) -> list[tuple[str, str]]:
    """Return tasks and methods of the base that are not compared with another side."""
    base, new = sides[0], sides[at]
    if are_of_different_programs(base, new) or len(methods) > 1:
        # Their tasks or methods have different names.
        return []
    compared = {(one.task, one.method) for one in comparison.headlines if (one.first, one.second) == (0, at)}
    skipped = [one for one in _list_scores(base, methods) if one not in compared]
    if not isinstance(base, BaselineRun):
        return skipped
    # What the run does not evaluate was accepted as a difference from the baseline.
    names = pair_tasks(*([task.name for task in side.manifest.tasks] for side in (base, new)))
    has = {(names.get(task.name), str(method)) for task in new.manifest.tasks for method in task.methods}
    return [one for one in skipped if one in has]


def _list_scores(run: ScoredRun, methods: Sequence[str]) -> list[tuple[str, str]]:
    tasks = {task.name for task in run.manifest.tasks}
    return [
        (one.task, one.method)
        for one in run.metrics()
        if one.is_headline
        and one.group is None
        and one.value is not None
        and one.task in tasks
        and (not methods or one.method in methods)
    ]


def _find_bound(compared: MetricComparison, rule: GateRule) -> float:
    """Return the difference that is the tolerated drop: negative if higher is better."""
    margin = rule.margin if not (compared.is_share or compared.is_factor) else rule.margin / 100
    signed = -margin if compared.higher_is_better else margin
    return 1 + signed if compared.is_factor else signed


def _compute_p(compared: MetricComparison, rule: GateRule) -> float | None:
    return compute_hypothesis_p(
        compared.result,
        _find_bound(compared, rule),
        is_factor=compared.is_factor,
        is_mean=compared.n_subsets > 0,
    )


def _judge(compared: MetricComparison, rule: GateRule, p: float | None) -> GateVerdict:
    low, high = compared.result.low, compared.result.high
    if low is None or high is None:
        return GateVerdict.UNSURE
    bound = _find_bound(compared, rule)
    is_below, is_above = high < bound, low > bound
    if not compared.higher_is_better:
        is_below, is_above = is_above, is_below
    if is_below and p is not None and p < SIGNIFICANCE_LEVEL:
        return GateVerdict.WORSE
    return GateVerdict.NOT_WORSE if is_above else GateVerdict.UNSURE
