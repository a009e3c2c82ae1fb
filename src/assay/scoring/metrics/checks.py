"""What an author's lists must be before anything is counted, and the errors that say what they are not.

One row that cannot be compared is an error of the dataset, never a 0 in its score.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from assay.core.errors import AuthorError, Problem, listing, nearest


def paired(
    metric: object, predictions: Sequence[Any], references: Sequence[Any]
) -> Iterator[tuple[int, Any, Any]]:
    """Return (row from 1, prediction, reference) for two lists of one length, which is not 0."""
    name = type(metric).__name__
    if len(predictions) != len(references):
        raise AuthorError(
            Problem(
                "METRIC-001",
                f"{name} was given {len(predictions)} predictions but {len(references)} references; "
                "expected as many of the one as of the other",
                "let `references` give one entry per row, and `post_processing` keep the number of rows",
            )
        )
    if not len(predictions):
        raise AuthorError(
            Problem(
                "METRIC-001",
                f"{name} was given no predictions; a mean over nothing has no value",
                "choose a subset that has rows",
            )
        )
    pairs = zip(predictions, references, strict=True)
    return ((row, prediction, reference) for row, (prediction, reference) in enumerate(pairs, start=1))


def misfit(metric: object, row: int, what: str, fix: str) -> AuthorError:
    """Return the error for a row whose prediction or reference is of a kind that it cannot compare."""
    return AuthorError(Problem("METRIC-002", f"{type(metric).__name__}, row {row}: {what}", fix))


def known_option(metric: object, option: str, value: str, known: Collection[str]) -> str:
    """Return the value of an option if it is one of those known."""
    if value not in known:
        what = f"{type(metric).__name__}({option}={value!r}): there is no such value{nearest(value, known)}"
        raise AuthorError(
            Problem("METRIC-003", f"{what}; expected one of {listing(known)}", f"correct {option}")
        )
    return value


def missing(metric: object, what: str, fix: str) -> AuthorError:
    """Return the error for something from outside that the metric needs and does not have."""
    return AuthorError(Problem("METRIC-004", f"{type(metric).__name__} needs {what}", fix))


def reference_texts(metric: object, row: int, reference: Any) -> list[str]:
    """Return the acceptable texts of one row: a str is one, a list or tuple holds several.

    One of several may itself be a list of parts, such as DROP's spans; they are joined by spaces.
    """
    entries = [reference] if isinstance(reference, str) else reference
    if not isinstance(entries, list | tuple) or not entries:
        raise misfit(
            metric,
            row,
            f"the reference is {reference!r}; expected a text or a list of at least one text",
            "let `references` give the acceptable texts of each row",
        )
    return [joined_text(metric, row, "reference", entry) for entry in entries]


def joined_text(metric: object, row: int, role: str, value: Any) -> str:
    """Return a prediction or reference as one text; its parts, if it is a list or tuple, joined by spaces."""
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise misfit(
            metric,
            row,
            f"the {role} is {value!r} ({type(value).__name__}); expected a text",
            f"make the {role} a str, for example str({value!r})",
        )
    return " ".join(parts)
