"""Calls to the code of a Task class's author. Errors show the content of the document."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec

from assay.core.errors import AuthorError, Problems
from assay.core.origin import Origin
from assay.dialects.leap.examples import NotTextError, TooFewExamples
from assay.dialects.shared.class_author import ClassAuthor, HookProblem
from assay.dialects.shared.plain_rows import to_plain_data

_SHOWN_CHARS = 240


class InvalidReturn(Exception):
    """An author's code returned an invalid value; has an error code and the fix."""

    def __init__(self, code: str, what: str, fix: str, *, kind: str | None = None) -> None:
        super().__init__(what)
        self.code = code
        self.fix = fix
        self.kind = kind or what
        """Groups documents with the same problem; the message can contain a document's own value."""


class TaskAuthor(ClassAuthor):
    """The author of one Task class."""

    row = "document"
    raised_code = "LEAP-003"
    import_code = "LEAP-001"
    missing_code = "LEAP-007"
    name_code = "LEAP-002"
    missing_fix = "put the file there, or pass the folder of the datasets with --task-dir DIR"

    def explain_own_error(self, error: BaseException, place: Origin) -> HookProblem | None:
        """Return the problem of an invalid return value, or of the number of examples."""
        if isinstance(error, InvalidReturn):
            return HookProblem(error.code, str(error), error.fix, place)
        if isinstance(error, TooFewExamples):
            return HookProblem("LEAP-006", str(error), "use fewer: --shots N, or n_shot()", place)
        if isinstance(error, NotTextError):
            return HookProblem("LEAP-003", str(error), "return a text", place)
        return None


class Troubles:
    """Collects the problems of single documents, and reports equal ones together."""

    def __init__(self, author: TaskAuthor) -> None:
        self._author = author
        self._problems: dict[tuple[str, Origin], tuple[HookProblem, str, list[int]]] = {}

    def add(self, error: BaseException, hook: str, row: int, doc: Any) -> None:
        """Add the error that a hook raised for a document."""
        if isinstance(error, AuthorError):
            raise error
        trouble = self._author.explain_error(error, hook)
        kind = error.kind if isinstance(error, InvalidReturn | NotTextError) else trouble.what
        first = self._problems.setdefault((kind, trouble.where), (trouble, format_document(doc), []))
        first[2].append(row)

    def raise_if_any(self) -> None:
        """Raise all problems, each with the content of its first document."""
        problems = Problems()
        for trouble, first, rows in self._problems.values():
            detailed = trouble._replace(what=f"{trouble.what}; the document is {first}")
            problems.add(self._author.problem(*detailed, rows=rows))
        problems.raise_if_any()


def format_document(doc: Any) -> str:
    """Return the beginning of a document on one line, so that a person can find it."""
    text = msgspec.json.encode(to_plain_data(doc)).decode()
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]} ..."


def has_parameter(function: Any, name: str) -> bool:
    """Return whether a function of the author has such a parameter."""
    parameters = inspect.signature(function).parameters
    return name in parameters or any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
    )
