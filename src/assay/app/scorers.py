"""Scorers of a task: those that it names are made, its own are taken as they are."""

from __future__ import annotations

from assay.core.task import ComponentSpec, CorpusScorer, Scorer, Task
from assay.scoring.scorers.registry import make_scorer


def scorers_of(task: Task) -> list[Scorer | CorpusScorer]:
    """Return one scorer for each track of a task."""
    return [make_scorer(spec) if isinstance(spec, ComponentSpec) else spec for spec in task.scorers()]
