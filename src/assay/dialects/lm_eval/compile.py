"""Compile task files into tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.compilation import Compilation
from assay.core.errors import AuthorError, Problem, UsageError
from assay.core.summary_group import Subset, SummaryGroup
from assay.core.task import TaskSettings
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


def build_summary_groups(
    selection: Selection, sizes: Mapping[str, int], metrics: Mapping[str, Sequence[str]]
) -> tuple[SummaryGroup, ...]:
    """Return the scores that groups combine; `sizes` and `metrics` are those of the compiled tasks."""
    return tuple(group for one in selection.groups for group in _build_group(one, sizes, metrics))


def _build_group(
    group: SelectedGroup, sizes: Mapping[str, int], metrics: Mapping[str, Sequence[str]]
) -> list[SummaryGroup]:
    made = []
    for aggregation in group.aggregations:
        wanted = (
            [aggregation.metric]
            if aggregation.filters is None or len(aggregation.filters) == 1
            else [f"{aggregation.metric},{name}" for name in aggregation.filters]
        )
        for metric in wanted:
            members = [
                (task, name)
                for task in group.tasks
                for name in metrics.get(task, ())
                if name == metric or name.startswith(f"{metric},")
            ]
            if members:
                made.append(
                    SummaryGroup(
                        group.name,
                        tuple(Subset(task, name) for task, name in members),
                        "weighted_average" if aggregation.is_weighted else "naive_average",
                        metric,
                        {task: float(sizes[task]) for task, _ in members} if aggregation.is_weighted else {},
                    )
                )
    return made


def _find_families(selection: Selection) -> dict[str, str]:
    """Return the innermost group of each task."""
    families: dict[str, str] = {}
    for group in selection.groups:
        for task in group.tasks:
            families.setdefault(task, group.name)
    return families
