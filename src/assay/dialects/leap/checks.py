"""What an author's class must be before a model is asked anything."""

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
from assay.dialects.leap.author_requests import GREEDY_UNTIL
from assay.dialects.leap.authoring import PerplexityTask, Task
from assay.dialects.leap.calling import TaskAuthor
from assay.dialects.leap.evaluation import build_dummy_results
from assay.dialects.leap.prepared_task import PreparedTask

CODE = "LEAP-008"


def resolve_shots(task: Task, author: TaskAuthor, asked: int | None, notes: list[str]) -> int:
    """Return how many examples are shown: as many as were asked for, else as the class says."""
    if isinstance(task, PerplexityTask):
        if asked:
            notes.append(f"class {author.class_name}: whole texts are shown no examples")
        return 0
    if asked is not None:
        return asked
    with author.calling("n_shot"):
        said: Any = task.n_shot()
    if isinstance(said, bool) or not isinstance(said, int) or said < 0:
        what = f"n_shot() returned {said!r}, expected a whole number of examples"
        raise AuthorError(author.problem("LEAP-006", what, "return 0 or more"))
    return said


def resolve_methods(prepared: PreparedTask, asked: Sequence[str] | None) -> tuple[str, ...]:
    """Return the methods by which a task is evaluated; those that it cannot be are refused."""
    types = prepared.types
    if GREEDY_UNTIL in types:
        can: tuple[str, ...] = ("gen",)
        why = (
            "its requests are greedy_until"
            if len(types) == 1
            else f"its requests are {listing(sorted(types))}"
        )
    else:
        has_options = all(one.options for one in prepared.asked)
        can = ("ppl", "prob") if has_options else ("ppl",)
        why = f"its requests are {listing(sorted(types))}"
        if "prob" in (asked or ()) and not has_options:
            why += ", and not several of one context for each document"
    for method in asked or ():
        if method not in can:
            what = f"method {method!r} was asked for, but {why}; such a task is evaluated by {listing(can)}"
            raise PlanError(prepared.author.problem("LEAP-009", what, f"use --method {can[0]}"))
    if "prob" in (asked or ()):
        _check_labels(prepared)
    return tuple(dict.fromkeys(asked or can[:1]))


def _check_labels(prepared: PreparedTask) -> None:
    for asked, row in zip(prepared.asked, prepared.documents.rows, strict=True):
        texts = [option.strip() for option in asked.options]
        twice = next((text for text in texts if texts.count(text) > 1), None)
        if twice is not None:
            what = f"two continuations are {twice!r}, so method 'prob' cannot tell them apart"
            raise PlanError(prepared.author.problem("LEAP-009", what, "use --method ppl", rows=(row,)))


def read_aggregation(
    task: Task, author: TaskAuthor, packages_lacking: Callable[[Any], Sequence[str]]
) -> Mapping[str, Any]:
    """Return the author's functions by name; each must be one, with all that it needs installed."""
    with author.calling("aggregation"):
        written: Any = task.aggregation()
    if not isinstance(written, Mapping) or not written:
        what = f"aggregation() returned {written!r:.60}, expected a dict from metrics to functions"
        raise AuthorError(author.problem(CODE, what, 'return {"acc": mean}'))
    for name, function in written.items():
        if not callable(function):
            what = f"aggregation() gives {name!r} the value {function!r:.60}, expected a function"
            raise AuthorError(author.problem(CODE, what, f'write {{"{name}": mean}}'))
        if lacking := packages_lacking(function):
            what = f"the metric {name!r} needs {listing(lacking)}, which is not installed"
            fix = f"pip install {' '.join(one.replace('_', '-') for one in lacking)}"
            raise AuthorError(author.problem(CODE, what, fix))
    return written


def check_higher_is_better(
    task: Task, author: TaskAuthor, metrics: Mapping[str, Any], notes: list[str]
) -> None:
    """Note the metrics of which nobody says whether more is better."""
    with author.calling("higher_is_better"):
        said: Any = task.higher_is_better() or {}
    if not isinstance(said, Mapping):
        what = f"higher_is_better() returned {type(said).__name__}, expected a dict of metrics"
        raise AuthorError(author.problem(CODE, what, 'return {"acc": True}'))
    unsaid = [name for name in metrics if name not in said]
    if unsaid:
        notes.append(f"higher_is_better() does not say it of {listing(unsaid)}: more is taken to be better")


def check_process_results(
    prepared: PreparedTask, metrics: Mapping[str, Any], headline: str | None, notes: list[str]
) -> None:
    """Call process_results on the first document with made-up results, to see which metrics it returns.

    The author's code may not take what is made up: then nothing is known before answers are there.
    """
    task, author, first = prepared.task, prepared.author, prepared.asked[0].wishes
    try:
        returned: Any = task.process_results(
            prepared.doc_for_results(0), build_dummy_results(first.values, first.every)
        )
    except RAISED_BY_AUTHORS as error:
        reraise_interrupt(error)
        return
    if not isinstance(returned, Mapping):
        what = f"process_results returned {type(returned).__name__}, expected a dict from metrics to values"
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
            f"the registry's headline {headline!r} is none of {listing(returned)}: the first decides"
        )
