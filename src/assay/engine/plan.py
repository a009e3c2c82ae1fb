"""Do these tasks and this model fit? Asked before any weight is read."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assay.core.errors import PlanError, Problem, listing
from assay.core.model import ModelCard
from assay.core.origin import Origin
from assay.core.request import Kind, Windows
from assay.core.task import Task

_METHOD_OF = {Kind.SPAN: "ppl", Kind.LABELS: "prob", Kind.GENERATE: "gen"}


def check_plan(tasks: Sequence[Task], card: ModelCard) -> None:
    """Raise when the model cannot do what a task asks; nothing is switched in silence."""
    problems: list[Problem] = []
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
        problems += _windows_too_long(task, card)
    if problems:
        raise PlanError(problems)


def _windows_too_long(task: Task, card: ModelCard) -> list[Problem]:
    """Return the problem of a task whose windows the model cannot read."""
    asked = task.spec.settings.get("windows")
    windows = None if asked is None else msgspec.convert(asked, Windows)
    context = card.context_length
    if windows is None or windows.length is None or context is None or windows.length <= context:
        return []
    what = (
        f"task {task.spec.name!r} asks for windows of {windows.length:,} tokens; "
        f"model {card.name!r} reads at most {context:,}"
    )
    fix = f"--window-tokens {context}, or fewer"
    return [Problem("PLAN-002", what, fix, Origin(task.spec.source))]
