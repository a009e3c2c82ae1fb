"""Compile task files into tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.compilation import Compilation
from assay.core.errors import AuthorError, Problem, UsageError
from assay.core.summary_group import Subset, SummaryGroup
from assay.core.task import TaskSettings, TaskSpec
from assay.dialects.lm_eval.arguments import read_task_arguments
from assay.dialects.lm_eval.documents import DataPlaces
from assay.dialects.lm_eval.evaluation import ScoringTools
from assay.dialects.lm_eval.functions import AuthorFunctions, build_package
from assay.dialects.lm_eval.selection import SelectedGroup, Selection, select_tasks
from assay.dialects.lm_eval.task import LmEvalTask
from assay.dialects.lm_eval.task_compilation import TaskCompilation
from assay.dialects.lm_eval.task_index import TaskIndex


class LmEvalTools(NamedTuple):
    """What the application provides."""

    tasks: TaskIndex
    roots: Sequence[Path]
    """The folders of task files, whose Python files import each other."""
    places: DataPlaces
    scoring: ScoringTools
    modules: Mapping[str, Mapping[str, Any]]
    """The contents of `lm_eval.api.metrics`, `lm_eval.utils` and `evaluate` for authors' code, by module."""


def compile_task_files(
    names: Sequence[str], settings: TaskSettings, tools: LmEvalTools
) -> list[Compilation[LmEvalTask]]:
    """Compile named tasks, groups, tags and files."""
    if settings.score_by is not None:
        what = "'score_by' was set, but the metrics of a task file decide between options"
        raise UsageError(Problem("USAGE-007", what, "remove it, or change metric_list"))
    arguments = read_task_arguments(settings.dataset_args)
    selection = select_tasks(names, tools.tasks)
    package, filters = build_package(tools.scoring.filters, tools.modules)
    functions = AuthorFunctions(tools.roots, package)
    scoring = tools.scoring._replace(filters=filters)
    families = _find_families(selection)
    problems: list[Problem] = []
    compiled: list[Compilation[LmEvalTask]] = []
    for task in selection.tasks:
        try:
            one = TaskCompilation(
                names,
                arguments.override_keys(task),
                settings,
                arguments,
                tools.places,
                scoring,
                functions,
            )
            compiled.append(one.compile(families.get(task.name)))
        except AuthorError as error:
            problems += error.problems
    if problems:
        raise AuthorError(problems)
    return compiled


def build_summary_groups(selection: Selection, tasks: Sequence[TaskSpec]) -> tuple[SummaryGroup, ...]:
    """Return the scores that groups combine; `tasks`: those that were compiled."""
    named = {task.name: (task, _list_metrics(task)) for task in tasks}
    return tuple(
        group
        for one in selection.groups
        for group in _build_group(one, [named[name] for name in one.tasks if name in named])
    )


def _build_group(
    group: SelectedGroup, tasks: Sequence[tuple[TaskSpec, Mapping[tuple[str, str], str]]]
) -> Iterator[SummaryGroup]:
    """Yield a group's scores: for each metric one, or one for each filter."""
    for aggregation in group.aggregations:
        filters = aggregation.filters
        if filters is None:
            found = {key for _, metrics in tasks for key in metrics if key[0] == aggregation.metric}
            filters = tuple(sorted(chosen for _, chosen in found))
        for chosen in filters:
            key = (aggregation.metric, chosen)
            members = [(task, metrics[key]) for task, metrics in tasks if key in metrics]
            if members:
                yield SummaryGroup(
                    group.name,
                    tuple(Subset(task.name, name) for task, name in members),
                    "weighted_average" if aggregation.is_weighted else "naive_average",
                    aggregation.metric if len(filters) == 1 else ",".join(key),
                    {task.name: float(task.n_samples) for task, _ in members}
                    if aggregation.is_weighted
                    else {},
                )


def _list_metrics(task: TaskSpec) -> dict[tuple[str, str], str]:
    """Return the reported name of each metric after each filter."""
    filters = [str(name) for name in task.settings.get("filters", ())]
    names = [str(name) for name in task.settings.get("metrics", ())]
    if len(filters) == 1:
        return {(name, filters[0]): name for name in names}
    pairs = ((name.rpartition(","), name) for name in names)
    return {(metric, chosen): name for (metric, _, chosen), name in pairs}


def _find_families(selection: Selection) -> dict[str, str]:
    """Return the innermost group of each task."""
    families: dict[str, str] = {}
    for group in selection.groups:
        for task in group.tasks:
            families.setdefault(task, group.name)
    return families
