"""Scorers of a task: those that it names are made, its own are taken as they are."""

from __future__ import annotations

import msgspec

from assay.core.errors import PlanError
from assay.core.origin import Origin
from assay.core.task import ComponentSpec, CorpusScorer, Scorer, Task
from assay.scoring.scorers.registry import make_scorer


def scorers_of(task: Task) -> list[Scorer | CorpusScorer]:
    """Return one scorer for each track of a task; what is wrong with a named one is told of its dataset."""
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
