"""The scorers of a task: create those it names, use its own as they are."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from assay.core.errors import PlanError
from assay.core.origin import Origin
from assay.core.task import ComponentSpec, CorpusScorer, Scorer, Task
from assay.scoring.scorers.registry import make_scorer


def build_scorers(task: Task) -> list[Scorer | CorpusScorer]:
    """Return one scorer for each track of a task; errors of a named scorer refer to the dataset."""
    try:
        return [make_scorer(spec) if isinstance(spec, ComponentSpec) else spec for spec in task.scorers()]
    except PlanError as error:
        where = Origin(task.spec.source)
        raise PlanError(
            [
                problem if problem.where else msgspec.structs.replace(problem, where=where)
                for problem in error.problems
            ]
        ) from error


def list_storable_scorers(task: Task) -> tuple[ComponentSpec, ...]:
    """Return the scorers of a task if all of them are registered parts, which can be stored and rebuilt."""
    specs = task.scorers()
    named = tuple(spec for spec in specs if isinstance(spec, ComponentSpec) and _is_json_data(spec.args))
    return named if len(named) == len(specs) else ()


def _is_json_data(value: object) -> bool:
    """Return whether a value is plain JSON data, without code of an author."""
    if isinstance(value, Mapping):
        return all(map(_is_json_data, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_json_data, value))
    return value is None or isinstance(value, str | int | float | bool)
