"""Do these tasks and this model fit? Asked before any weight is read."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.errors import PlanError, Problem, listing
from assay.core.model import ModelCard
from assay.core.origin import Origin
from assay.core.request import Kind
from assay.core.task import Task

_METHOD_OF = {Kind.SPAN: "ppl", Kind.LABELS: "prob", Kind.GENERATE: "gen"}


def check_plan(tasks: Sequence[Task], card: ModelCard) -> None:
    """Raise when the model cannot do what a task asks; nothing is switched in silence."""
    problems = []
    for task in tasks:
        for kind in sorted(task.kinds - card.kinds):
            can = [_METHOD_OF[known] for known in Kind if known in card.kinds]
            problems.append(
                Problem(
                    "PLAN-001",
                    f"task {task.spec.name!r} uses method {_METHOD_OF[kind]!r}, which asks for {kind.value}; "
                    f"model {card.name!r} can do {listing(can)}",
                    f"choose --method {can[0] if can else '...'} or another model",
                    Origin(task.spec.source),
                )
            )
    if problems:
        raise PlanError(problems)
