"""Do these tasks and this model fit? Asked before any weight is read."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

import msgspec

from assay.core.errors import PlanError, Problem, listing
from assay.core.media import Medium
from assay.core.model import ModelCard
from assay.core.origin import Origin
from assay.core.ports import Backend
from assay.core.request import Kind, Windows
from assay.core.task import Task

METHOD_BY_KIND = {Kind.SPAN: "ppl", Kind.LABELS: "prob", Kind.GENERATE: "gen"}


def probe_model_card(backend: Backend, tasks: Sequence[Task]) -> ModelCard:
    """Return what the model can do of what the tasks ask; a server is asked, where more than texts is."""
    kinds = frozenset(kind for task in tasks for kind in task.kinds)
    is_chat = any(task.spec.settings.get("form") == "chat" for task in tasks)
    return backend.probe_card(kinds, is_chat=is_chat)


def check_plan(tasks: Sequence[Task], card: ModelCard) -> None:
    """Raise when the model cannot do what a task asks; nothing is switched in silence."""
    problems: list[Problem] = []
    for task in tasks:
        for kind in sorted(task.kinds - card.kinds):
            problems.append(_make_kind_problem(task, kind, card))
        problems += _check_template(task, card)
        problems += _check_windows(task, card)
        problems += _check_media(task, card)
    if problems:
        raise PlanError(problems)


def _make_kind_problem(task: Task, kind: Kind, card: ModelCard) -> Problem:
    """Return the problem of a kind of ask that the model cannot answer."""
    can = [METHOD_BY_KIND[known] for known in Kind if known in card.kinds]
    method = METHOD_BY_KIND[kind]
    if method in task.spec.methods:
        asks = f"uses method {method!r}, which asks for {kind.value}"
        fix = f"choose --method {can[0] if can else '...'} or another model"
    else:
        asks = f"asks for {kind.value} before its samples, as method {method!r} does"
        fix = "choose another model, or leave away what is found out beforehand"
    what = f"task {task.spec.name!r} {asks}; model {card.name!r} can do {listing(can)}"
    if kind in card.cannot:
        what += f", not {method!r}: {card.cannot[kind]}"
        if can and method in task.spec.methods:
            fix += f": {shlex.join(['assay', 'run', task.spec.source])} --model {card.name} --method {can[0]}"
    return Problem("PLAN-001", what, fix, Origin(task.spec.source))


def _check_template(task: Task, card: ModelCard) -> list[Problem]:
    """Return the problem of conversations for a model that reads plain texts."""
    if card.is_chat or task.spec.settings.get("form") != "chat":
        return []
    what = f"task {task.spec.name!r} writes conversations; model {card.name!r} has no chat template"
    return [Problem("PLAN-003", what, "leave --chat on away, or use --chat off", Origin(task.spec.source))]


def _check_windows(task: Task, card: ModelCard) -> list[Problem]:
    """Return the problem of a task whose windows the model cannot read."""
    asked = task.spec.settings.get("windows")
    windows = None if asked is None else msgspec.convert(asked, Windows)
    if windows is not None and not card.has_windows:
        what = (
            f"task {task.spec.name!r} scores texts window by window; "
            f"model {card.name!r} does not show the tokens to cut them by"
        )
        return [Problem("PLAN-004", what, "use a model that Assay runs itself", Origin(task.spec.source))]
    context = card.context_length
    if windows is None or windows.length is None or context is None or windows.length <= context:
        return []
    what = (
        f"task {task.spec.name!r} asks for windows of {windows.length:,} tokens; "
        f"model {card.name!r} reads at most {context:,}"
    )
    fix = f"--window-tokens {context}, or fewer"
    return [Problem("PLAN-002", what, fix, Origin(task.spec.source))]


def make_media_problem(
    who: str, what: str, media: Iterable[Medium], card: ModelCard, where: str = ""
) -> Problem:
    """Return the problem of media for a model that does not take them."""
    taken = f"takes {', '.join(['text', *sorted(card.media)])}" if card.media else "takes text alone"
    return Problem(
        "PLAN-005",
        f"{what} shows {', '.join(sorted(media))}; {who} {card.name!r} {taken}",
        "use a model that takes them",
        Origin(where) if where else None,
    )


def _check_media(task: Task, card: ModelCard) -> list[Problem]:
    """Return the problem of a task whose prompts hold what the model does not take.

    A task says so by its settings: `media`, the media of its prompts, and `has_media_addresses`.
    """
    media = {Medium(name) for name in task.spec.settings.get("media", ())}
    name, source = f"task {task.spec.name!r}", task.spec.source
    if unseen := media - card.media:
        return [make_media_problem("model", name, unseen, card, source)]
    if task.spec.settings.get("needs_chat") and task.spec.settings.get("form") != "chat":
        what = f"{name} shows {', '.join(sorted(media))}, which a plain text cannot hold"
        return [Problem("PLAN-005", what, "remove --chat off, or use --chat on", Origin(source))]
    if media and task.spec.settings.get("has_media_addresses") and not card.fetches_media:
        what = (
            f"{name} names media by their addresses; model {card.name!r} reads local files and fetches none"
        )
        fix = "fetch the files and name their paths, or use a model behind a server that fetches them"
        return [Problem("PLAN-005", what, fix, Origin(source))]
    return []
