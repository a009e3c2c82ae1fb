"""Calling an author's code: what it raises becomes a problem with file, line, class, row and content."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.core.errors import RAISED_BY_AUTHORS, AuthorError, Problem, Problems
from assay.core.origin import Origin
from assay.dialects.leap.examples import NotAText, TooFewExamples
from assay.dialects.parts.author_modules import place_in
from assay.dialects.parts.plain_rows import plain
from assay.sources.dataset_folder import DatasetMissing

_SHOWN_ROWS = 5
_SHOWN_CHARS = 240


class Trouble(NamedTuple):
    """What is wrong, with no document named yet: many may have the same."""

    code: str
    what: str
    fix: str
    where: Origin


class Misfit(Exception):
    """What an author's code returned does not fit; carries its code and the fix."""

    def __init__(self, code: str, what: str, fix: str, *, kind: str | None = None) -> None:
        super().__init__(what)
        self.code = code
        self.fix = fix
        self.kind = kind or what
        """What documents have in common that are told of together; the words may hold one's own value."""


class Author:
    """The author of one class: where it stands, for messages."""

    def __init__(self, path: Path, class_name: str, *, draws: bool = True) -> None:
        """Take the file and the class; `draws`: whether its code may use the global random generators."""
        self.path = path
        self.class_name = class_name
        self.draws = draws

    def problem(
        self, code: str, what: str, fix: str, where: Origin | None = None, *, rows: Sequence[int] = ()
    ) -> Problem:
        """Return a problem of this class; `rows`: the documents that have it, counted from 1."""
        return Problem(
            code, f"class {self.class_name}{_listed(rows)}: {what}", fix, where or Origin(str(self.path))
        )

    @contextmanager
    def calling(self, hook: str) -> Iterator[None]:
        """Run a hook of the author's that is about no single document."""
        try:
            yield
        except AuthorError:
            raise
        except FileNotFoundError as error:
            what = f"{hook} needs a file that is not there: {error}"
            fix = "put the file there; or give the folder that holds the datasets: --task-dir DIR"
            raise DatasetMissing(self.problem("LEAP-007", what, fix, place_in(error, self.path))) from error
        except RAISED_BY_AUTHORS as error:
            raise AuthorError(self.problem(*self.trouble(error, hook))) from error

    def trouble(self, error: BaseException, hook: str) -> Trouble:
        """Return what is wrong when a hook raises."""
        place = place_in(error, self.path)
        if isinstance(error, Misfit):
            return Trouble(error.code, str(error), error.fix, place)
        if isinstance(error, TooFewExamples):
            return Trouble("LEAP-006", str(error), "ask for fewer: --shots N, or n_shot()", place)
        if isinstance(error, NotAText):
            return Trouble("LEAP-003", str(error), "return a text", place)
        if isinstance(error, ModuleNotFoundError) and error.name:
            what = f"{hook} needs the package {error.name!r}, which is not installed"
            return Trouble("LEAP-001", what, f"pip install {error.name.partition('.')[0]}", place)
        what = f"{hook} raised {type(error).__name__}: {error}"
        return Trouble("LEAP-003", what, "correct the class, or the data", place)


class Troubles:
    """Gathers what is wrong with single documents; those with the same are told together."""

    def __init__(self, author: Author) -> None:
        self._author = author
        self._found: dict[tuple[str, Origin], tuple[Trouble, str, list[int]]] = {}

    def add(self, error: BaseException, hook: str, row: int, doc: Any) -> None:
        """Note what a hook raised on a document."""
        if isinstance(error, AuthorError):
            raise error
        trouble = self._author.trouble(error, hook)
        kind = error.kind if isinstance(error, Misfit | NotAText) else trouble.what
        first = self._found.setdefault((kind, trouble.where), (trouble, content(doc), []))
        first[2].append(row)

    def raise_if_any(self) -> None:
        """Raise all of it, each with the content of the first document that has it."""
        problems = Problems()
        for trouble, first, rows in self._found.values():
            told = trouble._replace(what=f"{trouble.what}; the document is {first}")
            problems.add(self._author.problem(*told, rows=rows))
        problems.raise_if_any()


def content(doc: Any) -> str:
    """Return a document as a person can find it again: its beginning, in one line."""
    text = msgspec.json.encode(plain(doc)).decode()
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]} ..."


def takes(function: Any, name: str) -> bool:
    """Whether a function of the author's has such an argument."""
    parameters = inspect.signature(function).parameters
    return name in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())


def _listed(rows: Sequence[int]) -> str:
    if len(rows) < 2:
        return f", document {rows[0]}" if rows else ""
    shown = ", ".join(map(str, rows[:_SHOWN_ROWS]))
    more = f" and {len(rows) - _SHOWN_ROWS:,} more" if len(rows) > _SHOWN_ROWS else ""
    return f", documents {shown}{more}"
