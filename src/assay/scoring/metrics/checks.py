"""Checks of an author's lists before a metric runs, and the errors for the author.

A row that cannot be compared is an error in the dataset, never a 0 in its score.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from assay.core.errors import AuthorError, Problem, Problems, listing, suggest_name

RowT = TypeVar("RowT")


class Misfit(Exception):
    """A row's prediction or reference is of a kind that the metric cannot compare."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.what = what
        self.fix = fix


def score_rows(
    metric: object,
    predictions: Sequence[Any],
    references: Sequence[Any],
    judge: Callable[[Any, Any], RowT],
) -> list[RowT]:
    """Return the result of `judge(prediction, reference)` for each row; the lists must have equal length.

    Rows that it rejects are collected and raised together as one error.
    """
    check_lengths(metric, predictions, references)
    judged: list[RowT] = []
    problems = Problems()
    for row, (prediction, reference) in enumerate(zip(predictions, references, strict=True), start=1):
        try:
            judged.append(judge(prediction, reference))
        except Misfit as misfit:
            what = f"{type(metric).__name__}, row {row}: {misfit.what}"
            problems.add(Problem("METRIC-002", what, misfit.fix))
    problems.raise_if_any()
    return judged


def check_lengths(metric: object, predictions: Sequence[Any], references: Sequence[Any]) -> None:
    """Raise an error for lists of different lengths and for empty lists."""
    name, n_predictions, n_references = type(metric).__name__, len(predictions), len(references)
    if n_predictions != n_references:
        raise AuthorError(
            Problem(
                "METRIC-001",
                f"{name} received {n_predictions} predictions but {n_references} references; "
                "expected the same number of both",
                "make `references` return one entry per row, and `post_processing` keep the number of rows",
            )
        )
    if not n_predictions:
        raise AuthorError(
            Problem(
                "METRIC-001",
                f"{name} received no predictions, so the mean has no value",
                "choose a subset that has rows",
            )
        )


def check_option(metric: object, option: str, value: str, known: Collection[str]) -> None:
    """Raise an error for an unknown value of an option."""
    if value not in known:
        what = f"{type(metric).__name__}({option}={value!r}): unknown value{suggest_name(value, known)}"
        raise AuthorError(
            Problem("METRIC-003", f"{what}; expected one of {listing(known)}", f"correct {option}")
        )


def missing_requirement(metric: object, what: str, fix: str) -> AuthorError:
    """Return the error for an external requirement of the metric that is missing."""
    return AuthorError(Problem("METRIC-004", f"{type(metric).__name__} needs {what}", fix))


def reference_texts(reference: Any) -> list[str]:
    """Return the acceptable texts of one row: a str is one, a list or tuple contains several.

    Each may itself be a list of parts, such as DROP's spans, which are joined by spaces.
    """
    entries = [reference] if isinstance(reference, str) else reference
    if not isinstance(entries, list | tuple) or not entries:
        raise Misfit(
            f"the reference is {reference!r}; expected a text or a list of at least one text",
            "make `references` return the acceptable texts of each row",
        )
    return [join_text("reference", entry) for entry in entries]


def join_text(role: str, value: Any) -> str:
    """Return a prediction or reference as one text; the parts of a list or tuple are joined by spaces."""
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise Misfit(
            f"the {role} is {value!r} ({type(value).__name__}); expected a text",
            f"make the {role} a str, for example str({value!r})",
        )
    return " ".join(parts)
