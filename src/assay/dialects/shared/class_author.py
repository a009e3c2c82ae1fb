"""Calls to the code of a class's author: exceptions become problems with file, line, hook and rows.

Each dialect explains its own exceptions; this module explains those that any class can raise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, NamedTuple

from assay.core.errors import (
    RAISED_BY_AUTHORS,
    AuthorError,
    Problem,
    Problems,
    describe_exception,
    listing,
    reraise_interrupt,
    suggest_name,
)
from assay.core.origin import Origin
from assay.dialects.shared.author_modules import find_error_line
from assay.dialects.shared.misspelt_names import find_misspelt_names
from assay.sources.dataset_folder import DatasetMissing

_SHOWN_ROWS = 5


class HookProblem(NamedTuple):
    """A problem without rows, because many rows may have the same problem."""

    code: str
    what: str
    fix: str
    where: Origin


class ClassAuthor:
    """The author of one class, with the file and class name for messages."""

    row: ClassVar[str] = "row"
    """The word for a row in messages."""
    raised_code: ClassVar[str]
    """The error code if a hook raises."""
    import_code: ClassVar[str]
    """The error code if it needs a package that is not installed."""
    missing_code: ClassVar[str]
    """The error code if it opens a file that does not exist."""
    missing_fix: ClassVar[str]
    name_code: ClassVar[str]
    """The error code for a name that looks misspelt."""

    def __init__(self, path: Path, class_name: str, *, draws: bool = True) -> None:
        """Store the file and the class. `draws`: whether its code may use the global random generators."""
        self.path = path
        self.class_name = class_name
        self.draws = draws

    def problem(
        self, code: str, what: str, fix: str, where: Origin | None = None, *, rows: Sequence[int] = ()
    ) -> Problem:
        """Return a problem of this class. `rows`: the affected rows, counted from 1."""
        owner = f"class {self.class_name}{self._list_rows(rows)}"
        return Problem(code, f"{owner}: {what}", fix, where or Origin(str(self.path)))

    def check_names(
        self, cls: type, files: Collection[Path], settable: Collection[str], *, allowed: Collection[str] = ()
    ) -> None:
        """Raise if attributes or methods look like misspelt known names, which nothing would read.

        `files`: the author's files. `settable`: names that an author may define. `allowed`: other known
        names.
        """
        problems = Problems()
        for name, meant, where in find_misspelt_names(cls, files, settable, allowed=allowed):
            what = f"{name!r} is never used (did you mean {meant!r}?)"
            fix = f"rename it to {meant}; if {name} is your own helper, use it in this file or rename it"
            problems.add(self.problem(self.name_code, what, fix, where))
        problems.raise_if_any()

    @contextmanager
    def convert_errors(
        self, hook: str, *, row: int | None = None, values: Iterable[str] = ()
    ) -> Iterator[None]:
        """Convert what an author's hook raises to an AuthorError with the row, counted from 1.

        `values`: the keys of the rows that the hook reads.
        """
        try:
            yield
        except AuthorError:
            raise
        except FileNotFoundError as error:
            what = f"{hook} needs a file that does not exist: {error}"
            where = find_error_line(error, self.path)
            raise DatasetMissing(self.problem(self.missing_code, what, self.missing_fix, where)) from error
        except RAISED_BY_AUTHORS as error:
            reraise_interrupt(error)
            rows = () if row is None else (row,)
            raise AuthorError(self.problem(*self.explain_error(error, hook, values), rows=rows)) from error

    def explain_error(self, error: BaseException, hook: str, values: Iterable[str] = ()) -> HookProblem:
        """Return the problem for an exception of a hook. `values`: the keys of its row."""
        place = find_error_line(error, self.path)
        own = self.explain_own_error(error, place)
        if own is not None:
            return own
        if isinstance(error, ModuleNotFoundError) and error.name:
            what = f"{hook} needs the package {error.name!r}, which is not installed"
            return HookProblem(self.import_code, what, f"pip install {error.name.partition('.')[0]}", place)
        if isinstance(error, KeyError) and error.args and values:
            near = suggest_name(str(error.args[0]), values)
            what = f"{hook} uses the missing key {error}{near}; the row has {listing(values)}"
            return HookProblem(self.raised_code, what, "correct the key or the data", place)
        what = f"{hook} raised {describe_exception(error)}"
        return HookProblem(self.raised_code, what, "correct the class or the data", place)

    def explain_own_error(self, error: BaseException, place: Origin) -> HookProblem | None:
        """Return the problem for one of the dialect's own exceptions; None for any other."""
        return None

    def _list_rows(self, rows: Sequence[int]) -> str:
        if len(rows) < 2:
            return f", {self.row} {rows[0]}" if rows else ""
        shown = ", ".join(map(str, rows[:_SHOWN_ROWS]))
        more = f" and {len(rows) - _SHOWN_ROWS:,} more" if len(rows) > _SHOWN_ROWS else ""
        return f", {self.row}s {shown}{more}"
