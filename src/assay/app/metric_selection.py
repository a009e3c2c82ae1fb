"""The metrics that a person can choose for a scoring, with their arguments.

`NAME` is one of Assay's metrics. `own:NAME` is a corpus metric that the dataset author's code reports.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from assay.core.errors import (
    Problem,
    UsageError,
    explain_type_error,
    format_allowed_values,
    listing,
    suggest_name,
)
from assay.core.score import Metric
from assay.scoring.originals.ultraeval.named_metrics import PASS_K
from assay.scoring.originals.ultraeval.row_corpus import BATCH_METRICS
from assay.scoring.originals.ultraeval.row_values import ROW_METRICS
from assay.scoring.scorers.response_outcomes import ACCURACY

METRICS: tuple[str, ...] = (ACCURACY, *ROW_METRICS, *BATCH_METRICS)
"""Values of `--metric`; docs/reference/metrics.md describes each."""
OWN_PREFIX = "own:"
"""Prefix of a metric of an author's own code."""
_BY_A_FLAG = ("prompt",)
"""Arguments with their own flag: `--judge-prompt`."""

TaskMethod = tuple[str, str]
"""A task and a method of it."""


def list_metric_arguments(metric: str) -> dict[str, Any]:
    """Return the arguments of a metric with their types."""
    known = {**ROW_METRICS, **BATCH_METRICS}
    if metric not in known:
        return {}
    arguments = {
        one.name: one.annotation
        for one in inspect.signature(known[metric], eval_str=True).parameters.values()
        if one.kind is inspect.Parameter.KEYWORD_ONLY and one.name not in _BY_A_FLAG
    }
    # Only programs are counted in two ways.
    if metric == "function_execution":
        return {**arguments, "aggregation": Literal["mean", PASS_K]}
    return arguments


def check_metrics(metrics: Sequence[str], given: Mapping[str, str]) -> None:
    """Raise if a name or an argument is unknown, or metrics cannot be combined."""
    for name in metrics:
        if not name.startswith(OWN_PREFIX) and name not in METRICS:
            known = listing(METRICS, at_most=len(METRICS))
            what = f"there is no metric {name!r}{suggest_name(name, METRICS)}; expected one of {known}"
            fix = (
                f"`assay score --list` lists the metrics; {OWN_PREFIX}NAME selects one of the dataset's code"
            )
            raise UsageError(Problem("RESCORE-003", what, fix))
    for name in metrics:
        others = [one for one in metrics if _kind(one) != _kind(name)]
        if others and _kind(name) in _APART:
            what = f"{name} {_APART[_kind(name)]} and cannot be combined with {listing(others)}"
            raise UsageError(Problem("RESCORE-003", what, "score twice: Assay stores each scoring"))
    build_metric_specs(metrics, given)


def _kind(metric: str) -> str:
    return OWN_PREFIX if metric.startswith(OWN_PREFIX) else ACCURACY if metric == ACCURACY else ""


_APART = {ACCURACY: "compares answers in its own way", OWN_PREFIX: "comes from the dataset's own code"}


def build_metric_specs(metrics: Sequence[str], given: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return metrics as in a config: the reported name of each, its type and its arguments.

    `given`: arguments by name, for every metric that has one of this name, or by `METRIC.NAME`.
    """
    arguments: dict[str, dict[str, Any]] = {name: {} for name in metrics}
    for key, value in given.items():
        owner, _, name = key.rpartition(".")
        takers = [one for one in metrics if owner in ("", one) and name in list_metric_arguments(one)]
        if not takers:
            raise _unknown_argument_error(key, name, owner, metrics)
        for taker in takers:
            arguments[taker][name] = _convert_argument(key, value, list_metric_arguments(taker)[name])
    return {_format_metric_name(name, args): {"type": name, **args} for name, args in arguments.items()}


def _format_metric_name(metric: str, arguments: Mapping[str, Any]) -> str:
    """Return the name under which a value is reported: other arguments make another metric."""
    # `pass@k` already names its aggregation.
    listed = [f"{name}={value}" for name, value in arguments.items() if name != "aggregation"]
    return f"{metric}({', '.join(listed)})" if listed else metric


def _convert_argument(key: str, value: str, kind: Any) -> Any:
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError as error:
        reason = format_allowed_values(kind) or f": {explain_type_error(error)}"
        what = f"--metric-arg {key} is {value!r}{reason}"
        raise UsageError(Problem("RESCORE-010", what, "correct the value")) from error


def _unknown_argument_error(key: str, name: str, owner: str, metrics: Sequence[str]) -> UsageError:
    if not metrics:
        what = f"--metric-arg {key} is set, but no metric is named"
        return UsageError(Problem("RESCORE-010", what, "name one: --metric NAME"))
    if owner and owner not in metrics:
        there = listing(metrics)
        what = f"--metric-arg {key}: {owner!r} is not chosen{suggest_name(owner, metrics)}; chosen: {there}"
        return UsageError(
            Problem("RESCORE-010", what, "use a metric of --metric, or the argument name alone")
        )
    owners = [owner] if owner else list(metrics)
    known = [one for metric in owners for one in list_metric_arguments(metric)]
    has = "; ".join(f"{metric} has {listing(list_metric_arguments(metric)) or 'none'}" for metric in owners)
    what = f"--metric-arg {key}: there is no argument {name!r}{suggest_name(name, known)}; {has}"
    return UsageError(Problem("RESCORE-010", what, f"correct the name, or remove --metric-arg {key}"))


ReportedMetrics = Mapping[TaskMethod, Sequence[str]]
"""The metrics that a run's own scoring reports for each task and method; empty if it was not scored."""


def list_reported_metrics(metrics: Sequence[Metric]) -> ReportedMetrics:
    """Return the metrics that the result table lists for each task and method."""
    names: dict[TaskMethod, list[str]] = {}
    for one in metrics:
        if one.is_listed and one.group is None:
            names.setdefault((one.task, one.method), []).append(one.metric)
    return names


def select_own_metrics(
    chosen: Sequence[str], places: Sequence[TaskMethod], known: ReportedMetrics
) -> dict[TaskMethod, tuple[str, ...]]:
    """Return which of the chosen metrics each task and method reports through its author's code.

    Raise UsageError if a metric is not reported anywhere.
    """
    names = [name.removeprefix(OWN_PREFIX) for name in chosen if name.startswith(OWN_PREFIX)]
    if not known:
        return dict.fromkeys(places, tuple(names))
    there = list(dict.fromkeys(name for place in places for name in known.get(place, ())))
    for name in names:
        if name not in there:
            has = listing((OWN_PREFIX + one for one in there), at_most=len(there)) if there else "none"
            hint = suggest_name(name, there)
            what = f"{OWN_PREFIX}{name}: no dataset's own code reports it{hint}; reported: {has}"
            raise UsageError(
                Problem("RESCORE-003", what, "name a reported metric, or one of `assay score --list`")
            )
    return {place: tuple(name for name in names if name in known.get(place, ())) for place in places}
