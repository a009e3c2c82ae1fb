"""The scores of a group of runs as one table: models and prompts as rows, tasks and methods as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from assay.core.rounding import NOT_KNOWN
from assay.core.run import RunManifest
from assay.core.score import Metric
from assay.results.rows import (
    format_metric_interval,
    format_metric_method,
    format_metric_value,
    format_percentage,
)
from assay.results.subset_families import is_subset_mean, select_headline_metrics

_MOST_COLUMNS = 6
"""With more tasks and methods, they become the rows."""


class GroupRow(NamedTuple):
    """One run of the table."""

    model: str
    prompt: str | None
    manifest: RunManifest | None
    """None: the run never began."""
    metrics: Sequence[Metric] = ()
    state: str = "complete"
    """Shown instead of a score while there is none: the run's status, or `failed`."""


class GroupTable(NamedTuple):
    """A table of texts."""

    headings: list[str]
    rows: list[list[str]]
    n_names: int
    """Columns on the left that are names."""


def build_group_table(runs: Sequence[GroupRow], letters: Sequence[str]) -> GroupTable:
    """Return the headline scores of several runs, each with its interval.

    `letters`: the short name of each run in the comparison; an empty text if it is not compared.
    """
    values = [_collect_values(run) for run in runs]
    columns = list(dict.fromkeys(name for found in values for name in found))
    has_prompts = any(run.prompt for run in runs)
    # A single model needs no column if only its prompts differ.
    has_models = not has_prompts or len({run.model for run in runs}) > 1
    names = [
        [
            *([letter] if any(letters) else []),
            *([run.model] if has_models else []),
            *([run.prompt or "-"] if has_prompts else []),
        ]
        for run, letter in zip(runs, letters, strict=True)
    ]
    headings = [
        *([""] if any(letters) else []),
        *(["model"] if has_models else []),
        *(["prompt"] if has_prompts else []),
    ]
    cells = [
        [_format_cell(run, found.get(column)) for column in columns]
        for run, found in zip(runs, values, strict=True)
    ]
    if not columns:
        return GroupTable(
            [*headings, "status"],
            [[*name, run.state] for name, run in zip(names, runs, strict=True)],
            len(headings) + 1,
        )
    if len(columns) <= _MOST_COLUMNS:
        titles = [f"{task}\n{method}" for task, method in columns]
        rows = [[*name, *own] for name, own in zip(names, cells, strict=True)]
        return GroupTable([*headings, *titles], rows, len(headings))
    across = ["\n".join(name) for name in names]
    by_column = [[task, method, *(own[at] for own in cells)] for at, (task, method) in enumerate(columns)]
    return GroupTable(["task", "method", *across], by_column, 2)


def describe_counts(runs: Sequence[GroupRow]) -> list[str]:
    """Return how many rows the scores count, and what is unanswered, truncated or failed in each."""
    metrics = [(run, name, metric) for run in runs for name, metric in _collect_values(run).items()]
    sizes = {metric.n for _, _, metric in metrics}
    have_one_size = len(sizes) == 1
    lines = [f"n = {sizes.pop():,} in each score"] if have_one_size else []
    for run, (task, method), metric in metrics:
        shares = {
            "unanswered": metric.n_unanswered,
            "truncated": metric.n_truncated,
            "failed": metric.n_failed,
        }
        if have_one_size and metric.n_counted == metric.n and not any(shares.values()):
            continue
        parts = [f"{metric.n_counted:,} of {metric.n:,} counted"]
        parts += [f"{format_percentage(n, metric.n)} % {name}" for name, n in shares.items() if n]
        title = f"{run.model} · {run.prompt}" if run.prompt else run.model
        lines.append(f"{title}, {task} {method}: {', '.join(parts)}")
    return lines


def _collect_values(run: GroupRow) -> Mapping[tuple[str, str], Metric]:
    """Return the headline metrics of a run, by the names of task and method."""
    if run.manifest is None:
        return {}
    found = {}
    for metric in select_headline_metrics(run.metrics, run.manifest):
        is_mean = is_subset_mean(metric, run.manifest)
        found[f"{metric.task}, mean" if is_mean else metric.task, format_metric_method(metric)] = metric
    return found


def _format_cell(run: GroupRow, metric: Metric | None) -> str:
    if not run.metrics:
        return run.state
    if metric is None:
        return NOT_KNOWN
    interval = format_metric_interval(metric)
    value = format_metric_value(metric)
    return value if interval == "-" else f"{value} ({interval})"
