"""The metrics that a person may choose to score answers by, with their arguments.

`NAME` is one of Assay's own; `own:NAME` one that the code of a dataset's author reports, over whole lists.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from assay.core.errors import Problem, UsageError, listing, suggest_name
from assay.core.score import Metric
from assay.scoring.originals.ultraeval.named_metrics import PASS_K
from assay.scoring.originals.ultraeval.row_corpus import BATCH_METRICS
from assay.scoring.originals.ultraeval.row_values import ROW_METRICS
from assay.scoring.scorers.response_outcomes import ACCURACY

METRICS: tuple[str, ...] = (ACCURACY, *ROW_METRICS, *BATCH_METRICS)
"""What `--metric` may name; docs/reference/metrics.md says what each is."""
OWN_PREFIX = "own:"
"""Stands before the name of a metric of an author's own code."""
_BY_A_FLAG = ("prompt",)
"""Arguments with an option of their own: `--judge-prompt`."""

TaskMethod = tuple[str, str]
"""A task and a method of it."""


def list_metric_arguments(metric: str) -> dict[str, Any]:
    """Return the arguments of a metric, each with its type."""
    known = {**ROW_METRICS, **BATCH_METRICS}
    if metric not in known:
        return {}
    found = {
        one.name: one.annotation
        for one in inspect.signature(known[metric], eval_str=True).parameters.values()
        if one.kind is inspect.Parameter.KEYWORD_ONLY and one.name not in _BY_A_FLAG
    }
    # Programs alone are counted in two ways.
    return {**found, "aggregation": Literal["mean", PASS_K]} if metric == "function_execution" else found


def check_metrics(metrics: Sequence[str], given: Mapping[str, str]) -> None:
    """Raise where a name or an argument is unknown, or metrics do not stand side by side."""
    for name in metrics:
        if not name.startswith(OWN_PREFIX) and name not in METRICS:
            known = listing(METRICS, at_most=len(METRICS))
            what = f"there is no metric {name!r}{suggest_name(name, METRICS)}; expected one of {known}"
            fix = f"`assay score --list` lists the metrics; {OWN_PREFIX}NAME is one of the dataset's own code"
            raise UsageError(Problem("RESCORE-003", what, fix))
    for name in metrics:
        others = [one for one in metrics if _kind(one) != _kind(name)]
        if others and _kind(name) in _APART:
            what = f"{name} {_APART[_kind(name)]} and does not stand beside {listing(others)}"
            raise UsageError(Problem("RESCORE-003", what, "score twice: each scoring is kept"))
    build_metric_specs(metrics, given)


def _kind(metric: str) -> str:
    return OWN_PREFIX if metric.startswith(OWN_PREFIX) else ACCURACY if metric == ACCURACY else ""


_APART = {ACCURACY: "compares answers in its own way", OWN_PREFIX: "is of the dataset's own code"}


def build_metric_specs(metrics: Sequence[str], given: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return metrics as a config has them: what each is called, its type and its arguments.

    `given` has arguments by name, for every metric that has one of that name, or by `METRIC.NAME`.
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
    """Return the name that a value is reported by: with other arguments it is another metric."""
    # A `pass@k` says by itself what it is.
    told = [f"{name}={value}" for name, value in arguments.items() if name != "aggregation"]
    return f"{metric}({', '.join(told)})" if told else metric


def _convert_argument(key: str, value: str, kind: Any) -> Any:
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError as error:
        what = f"--metric-arg {key}: found {value!r}: {error}"
        raise UsageError(Problem("RESCORE-010", what, "correct the value")) from error


def _unknown_argument_error(key: str, name: str, owner: str, metrics: Sequence[str]) -> UsageError:
    if not metrics:
        what = f"an argument of a metric is given ({key}), and no metric is named"
        return UsageError(Problem("RESCORE-010", what, "name it: --metric NAME"))
    if owner and owner not in metrics:
        there = listing(metrics)
        what = f"--metric-arg {key}: {owner!r} is not chosen{suggest_name(owner, metrics)}; there is {there}"
        return UsageError(Problem("RESCORE-010", what, "name a metric of --metric, or the argument alone"))
    asked = [owner] if owner else list(metrics)
    known = [one for metric in asked for one in list_metric_arguments(metric)]
    has = "; ".join(f"{metric} has {listing(list_metric_arguments(metric)) or 'none'}" for metric in asked)
    what = f"--metric-arg {key}: there is no argument {name!r}{suggest_name(name, known)}; {has}"
    return UsageError(Problem("RESCORE-010", what, "correct the name, or leave it away"))


ReportedMetrics = Mapping[TaskMethod, Sequence[str]]
"""What a run's own scoring reports of each task and method; nothing of a run that was not scored."""


def list_reported_metrics(metrics: Sequence[Metric]) -> ReportedMetrics:
    """Return the metrics that the table of results lists for each task and method."""
    found: dict[TaskMethod, list[str]] = {}
    for one in metrics:
        if one.is_listed and one.group is None:
            found.setdefault((one.task, one.method), []).append(one.metric)
    return found


def select_own_metrics(
    chosen: Sequence[str], places: Sequence[TaskMethod], known: ReportedMetrics
) -> dict[TaskMethod, tuple[str, ...]]:
    """Return which of the chosen metrics each place has, whose code is its author's; UsageError where nobody
    has one.
    """
    names = [name.removeprefix(OWN_PREFIX) for name in chosen if name.startswith(OWN_PREFIX)]
    if not known:
        return dict.fromkeys(places, tuple(names))
    there = list(dict.fromkeys(name for place in places for name in known.get(place, ())))
    for name in names:
        if name not in there:
            has = listing((OWN_PREFIX + one for one in there), at_most=len(there)) if there else "none"
            what = f"{OWN_PREFIX}{name}: no code of a dataset reports it{suggest_name(name, there)}; it reports {has}"
            raise UsageError(
                Problem("RESCORE-003", what, "name one of these, or one of `assay score --list`")
            )
    return {place: tuple(name for name in names if name in known.get(place, ())) for place in places}
