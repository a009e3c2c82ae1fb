"""Checks of an author's class before any request is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.core.errors import (
    RAISED_BY_AUTHORS,
    AuthorError,
    PlanError,
    listing,
    reraise_interrupt,
    suggest_name,
)
from assay.core.method import Method
from assay.dialects.leap.author_requests import GREEDY_UNTIL
from assay.dialects.leap.authoring import PerplexityTask, Task
from assay.dialects.leap.calling import TaskAuthor
from assay.dialects.leap.evaluation import build_dummy_results
from assay.dialects.leap.prepared_task import PreparedTask

CODE = "LEAP-008"


def resolve_shots(task: Task, author: TaskAuthor, n_requested: int | None, notes: list[str]) -> int:
    """Return the number of examples: the requested number, or else the class's."""
    if isinstance(task, PerplexityTask):
        if n_requested:
            notes.append(f"class {author.class_name}: --shots has no effect on whole texts")
        return 0
    if n_requested is not None:
        return n_requested
    with author.convert_errors("n_shot"):
        n_shots: Any = task.n_shot()
    if isinstance(n_shots, bool) or not isinstance(n_shots, int) or n_shots < 0:
        what = f"n_shot() returned {n_shots!r}, expected a whole number of examples"
        raise AuthorError(author.problem("LEAP-006", what, "return 0 or more"))
    return n_shots


def resolve_methods(prepared: PreparedTask, requested: Sequence[Method] | None) -> tuple[Method, ...]:
    """Return the methods to evaluate a task with; raise for unsupported ones."""
    types = prepared.types
    if GREEDY_UNTIL in types:
        supported: tuple[Method, ...] = (Method.GEN,)
        why = (
            "its requests are greedy_until"
            if len(types) == 1
            else f"its requests are {listing(sorted(types))}"
        )
    else:
        has_options = all(document.options for document in prepared.prepared)
        supported = (Method.PPL, Method.PROB) if has_options else (Method.PPL,)
        why = f"its requests are {listing(sorted(types))}"
        if Method.PROB in (requested or ()) and not has_options:
            why += ", not several continuations of one context per document"
    for method in requested or ():
        if method not in supported:
            what = f"method {method!r} was requested, but {why}; such a task supports {listing(supported)}"
            raise PlanError(prepared.author.problem("LEAP-009", what, f"use --method {supported[0]}"))
    if Method.PROB in (requested or ()):
        _check_labels(prepared)
    return tuple(dict.fromkeys(requested or supported[:1]))


def _check_labels(prepared: PreparedTask) -> None:
    for asked, row in zip(prepared.prepared, prepared.documents.rows, strict=True):
        texts = [option.strip() for option in asked.options]
        twice = next((text for text in texts if texts.count(text) > 1), None)
        if twice is not None:
            what = f"two continuations are {twice!r}, which method 'prob' cannot distinguish"
            raise PlanError(prepared.author.problem("LEAP-009", what, "use --method ppl", rows=(row,)))


def read_aggregation(
    task: Task, author: TaskAuthor, packages_lacking: Callable[[Any], Sequence[str]]
) -> Mapping[str, Any]:
    """Return the author's aggregation functions by name; checks them and their packages."""
    with author.convert_errors("aggregation"):
        functions: Any = task.aggregation()
    if not isinstance(functions, Mapping) or not functions:
        what = f"aggregation() returned {functions!r:.60}, expected a dict of metrics and functions"
        raise AuthorError(author.problem(CODE, what, 'return {"acc": mean}'))
    for name, function in functions.items():
        if not callable(function):
            what = f"aggregation() has the value {function!r:.60} for {name!r}, expected a function"
            raise AuthorError(author.problem(CODE, what, f'write {{"{name}": mean}}'))
        if lacking := packages_lacking(function):
            what = f"the metric {name!r} needs {listing(lacking)}, which is not installed"
            fix = f"pip install {' '.join(package.replace('_', '-') for package in lacking)}"
            raise AuthorError(author.problem(CODE, what, fix))
    return functions


def check_higher_is_better(
    task: Task, author: TaskAuthor, metrics: Mapping[str, Any], notes: list[str]
) -> None:
    """Add a note about metrics for which the class does not define whether higher is better."""
    with author.convert_errors("higher_is_better"):
        directions: Any = task.higher_is_better() or {}
    if not isinstance(directions, Mapping):
        what = f"higher_is_better() returned {type(directions).__name__}, expected a dict of metrics"
        raise AuthorError(author.problem(CODE, what, 'return {"acc": True}'))
    missing = [name for name in metrics if name not in directions]
    if missing:
        notes.append(
            f"higher_is_better() does not list {listing(missing)}: Assay assumes that higher is better"
        )


def check_process_results(
    prepared: PreparedTask, metrics: Mapping[str, Any], headline: str | None, notes: list[str]
) -> None:
    """Call process_results on the first document with dummy results, to see which metrics it returns.

    If the author's code rejects the dummy results, the metrics are not known before the run.
    """
    task, author, first = prepared.task, prepared.author, prepared.prepared[0].wishes
    try:
        returned: Any = task.process_results(
            prepared.doc_for_results(0), build_dummy_results(first.values, first.every)
        )
    except RAISED_BY_AUTHORS as error:
        reraise_interrupt(error)
        return
    if not isinstance(returned, Mapping):
        what = f"process_results returned {type(returned).__name__}, expected a dict of metrics and values"
        raise AuthorError(author.problem(CODE, what, 'return {"acc": pred == gold}'))
    for name in returned:
        if name not in metrics:
            what = (
                f"process_results returns the metric {name!r}, for which aggregation() has no function"
                f"{suggest_name(str(name), metrics)}; it has {listing(metrics)}"
            )
            raise AuthorError(
                author.problem(CODE, what, f"add {name!r} to aggregation(): a function over all values")
            )
    if headline is not None and headline.partition(".")[0] not in returned:
        notes.append(
            f"the registry's headline {headline!r} is not one of {listing(returned)}: the first one is used"
        )
