"""Calling an author's code: what it raises becomes a problem that names file, line, hook and row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from assay.core.errors import RAISED_BY_AUTHORS, AuthorError, Problem, listing, nearest
from assay.core.origin import Origin
from assay.dialects.llmbox.formatting import BadInstance
from assay.dialects.llmbox.instruction import InstructionError
from assay.dialects.parts.author_modules import place_in
from assay.sources.dataset_folder import DatasetMissing

_SHOWN_ROWS = 5


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
        """Return a problem of this class; `rows`: those that have it, counted from 1."""
        owner = f"class {self.class_name}{_listed(rows)}"
        return Problem(code, f"{owner}: {what}", fix, where or Origin(str(self.path)))

    @contextmanager
    def calling(self, hook: str, *, row: int | None = None, values: Iterable[str] = ()) -> Iterator[None]:
        """Run a hook of the author's; what it raises becomes an AuthorError with the row, counted from 1.

        `values`: the keys of the rows that it reads.
        """
        try:
            yield
        except AuthorError:
            raise
        except FileNotFoundError as error:
            raise DatasetMissing(self._missing(error, hook)) from error
        except RAISED_BY_AUTHORS as error:
            rows = () if row is None else (row,)
            raise AuthorError(self.problem(*self.trouble(error, hook, values), rows=rows)) from error

    def _missing(self, error: FileNotFoundError, hook: str) -> Problem:
        """Return the absence of a file that the author opens by himself, often with his own advice."""
        what = f"{hook} needs a file that is not there: {error}"
        fix = "put the file there; or give the folder that holds it: --dataset-arg dataset_path=FOLDER"
        return self.problem("DATA-001", what, fix, place_in(error, self.path))

    def trouble(self, error: BaseException, hook: str, values: Iterable[str] = ()) -> Trouble:
        """Return what is wrong when a hook raises; `values`: the keys of the row it was given."""
        place = place_in(error, self.path)
        if isinstance(error, BadInstance):
            return Trouble("LLMBOX-004", str(error), error.fix, place)
        if isinstance(error, InstructionError):
            return Trouble("LLMBOX-005", f"instruction: {error}", error.fix, place)
        if isinstance(error, ModuleNotFoundError) and error.name:
            what = f"{hook} needs the package {error.name!r}, which is not installed"
            return Trouble("LLMBOX-001", what, f"pip install {error.name.partition('.')[0]}", place)
        if isinstance(error, KeyError) and error.args and values:
            near = nearest(str(error.args[0]), values)
            what = f"{hook} asks for the key {error}, which is not there{near}; the row has {listing(values)}"
            return Trouble("LLMBOX-003", what, "correct the key, or the data", place)
        what = f"{hook} raised {type(error).__name__}: {error}"
        return Trouble("LLMBOX-003", what, "correct the class, or the data", place)


class Trouble(NamedTuple):
    """What is wrong, with no row named yet: many rows may have the same."""

    code: str
    what: str
    fix: str
    where: Origin


def _listed(rows: Sequence[int]) -> str:
    if len(rows) < 2:
        return f", row {rows[0]}" if rows else ""
    shown = ", ".join(map(str, rows[:_SHOWN_ROWS]))
    return f", rows {shown}" + (f" and {len(rows) - _SHOWN_ROWS:,} more" if len(rows) > _SHOWN_ROWS else "")
