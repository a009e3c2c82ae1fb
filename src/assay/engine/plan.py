"""Check that tasks and model fit, before any weights are loaded."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

import msgspec

from assay.core.errors import PlanError, Problem, listing
from assay.core.media import Medium
from assay.core.model import ModelCard
from assay.core.origin import Origin
from assay.core.ports import Backend
from assay.core.python_objects import is_python_name
from assay.core.request import METHOD_BY_KIND, Kind, Windows
from assay.core.task import Task


def probe_model_card(backend: Backend, tasks: Sequence[Task]) -> ModelCard:
    """Return the model's capabilities for these tasks; probes a server if they need more than generation."""
    kinds = frozenset(kind for task in tasks for kind in task.kinds)
    is_chat = any(task.spec.settings.get("form") == "chat" for task in tasks)
    return backend.probe_card(kinds, is_chat=is_chat)


def check_plan(tasks: Sequence[Task], card: ModelCard) -> None:
    """Raise if the model does not support what a task needs. Nothing is changed silently."""
    problems: list[Problem] = []
    for task in tasks:
        for kind in sorted(task.kinds - card.kinds):
            problems.append(_make_kind_problem(task, kind, card))
        problems += _check_template(task, card)
        problems += _check_windows(task, card)
        problems += _check_media(task, card)
        problems += _check_thinking(task, card)
    if problems:
        raise PlanError(problems)


def _make_kind_problem(task: Task, kind: Kind, card: ModelCard) -> Problem:
    """Return the problem of a kind of ask that the model does not support."""
    supported = [METHOD_BY_KIND[known] for known in Kind if known in card.kinds]
    method = METHOD_BY_KIND[kind]
    if method in task.spec.methods:
        need = f"uses method {method!r}, which needs {kind.value}"
        fix = f"choose --method {supported[0] if supported else '...'} or another model"
    else:
        need = f"needs {kind.value} to prepare, like method {method!r}"
        fix = "choose another model, or remove the setting that needs preparation"
    what = f"task {task.spec.name!r} {need}; model {card.name!r} supports {listing(supported)}"
    if kind in card.cannot:
        what += f", not {method!r}: {card.cannot[kind]}"
        in_python = is_python_name(card.name) or is_python_name(task.spec.source)
        if supported and method in task.spec.methods and not in_python:
            command = shlex.join(["assay", "run", task.spec.display_source])
            fix += f": {command} --model {card.name} --method {supported[0]}"
    return Problem("PLAN-001", what, fix, Origin(task.spec.display_source))


def _check_template(task: Task, card: ModelCard) -> list[Problem]:
    """Return the problem of conversations for a model that only reads plain texts."""
    if card.is_chat or task.spec.settings.get("form") != "chat":
        return []
    what = f"task {task.spec.name!r} uses conversations; model {card.name!r} has no chat template"
    return [
        Problem("PLAN-003", what, "remove --chat on, or use --chat off", Origin(task.spec.display_source))
    ]


def _check_thinking(task: Task, card: ModelCard) -> list[Problem]:
    """Return the problems of methods and prompts that leave no place for a thought."""
    if not card.thinks:
        return []
    name, source = f"task {task.spec.name!r}", Origin(task.spec.source)
    problems = []
    for kind in sorted(task.kinds - {Kind.GENERATE}):
        method = METHOD_BY_KIND[kind]
        what = (
            f"{name} uses method {method!r}, which scores the text right after the question; model "
            f"{card.name!r} thinks first, and never answers there"
        )
        problems.append(Problem("PLAN-006", what, "use --method gen, or --thinking off", source))
    if Kind.GENERATE in task.kinds and task.spec.settings.get("form") != "chat":
        what = (
            f"{name} sends plain text; model {card.name!r} is asked to think, which only its chat template "
            "can do"
        )
        problems.append(Problem("PLAN-006", what, "use --chat on, or remove --thinking", source))
    return problems


def _check_windows(task: Task, card: ModelCard) -> list[Problem]:
    """Return the problem of windows that the model does not support."""
    configured = task.spec.settings.get("windows")
    windows = None if configured is None else msgspec.convert(configured, Windows)
    if windows is not None and not card.has_windows:
        what = (
            f"task {task.spec.name!r} scores texts in windows; "
            f"model {card.name!r} does not report the tokens needed to split them"
        )
        return [
            Problem("PLAN-004", what, "use a model that Assay runs itself", Origin(task.spec.display_source))
        ]
    context = card.context_length
    if windows is None or windows.length is None or context is None or windows.length <= context:
        return []
    what = (
        f"task {task.spec.name!r} uses windows of {windows.length:,} tokens; "
        f"model {card.name!r} has a context of {context:,}"
    )
    fix = f"use --window-tokens {context} or less"
    return [Problem("PLAN-002", what, fix, Origin(task.spec.display_source))]


def make_media_problem(
    who: str, what: str, media: Iterable[Medium], card: ModelCard, where: str = ""
) -> Problem:
    """Return the problem of media that a model does not accept."""
    accepted = f"accepts {', '.join(['text', *sorted(card.media)])}" if card.media else "accepts only text"
    return Problem(
        "PLAN-005",
        f"{what} contains {', '.join(sorted(media))}; {who} {card.name!r} {accepted}",
        "use a model that accepts them",
        Origin(where) if where else None,
    )


def _check_media(task: Task, card: ModelCard) -> list[Problem]:
    """Return the problem of media in a task's prompts that the model does not accept.

    The task declares them in its settings: `media`, the media of its prompts, and `has_media_addresses`.
    """
    media = {Medium(name) for name in task.spec.settings.get("media", ())}
    name, source = f"task {task.spec.name!r}", task.spec.display_source
    if unseen := media - card.media:
        return [make_media_problem("model", name, unseen, card, source)]
    if task.spec.settings.get("needs_chat") and task.spec.settings.get("form") != "chat":
        what = f"{name} contains {', '.join(sorted(media))}, which a plain text cannot include"
        return [Problem("PLAN-005", what, "remove --chat off, or use --chat on", Origin(source))]
    if media and task.spec.settings.get("has_media_addresses") and not card.fetches_media:
        what = f"{name} refers to media by URL; model {card.name!r} only reads local files"
        fix = "download the files and use their paths, or use a model server that fetches URLs"
        return [Problem("PLAN-005", what, fix, Origin(source))]
    return []
