"""Calling an author's code: what it raises becomes a problem that names file, line, hook and row."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from assay.core.errors import AuthorError, Problem, listing, nearest
from assay.core.ids import rank
from assay.core.origin import Origin
from assay.dialects.llmbox.formatting import BadInstance
from assay.dialects.llmbox.instruction import InstructionError
from assay.dialects.parts.author_modules import place_in


class Author:
    """The author of one class: where it stands, for messages."""

    def __init__(self, path: Path, class_name: str, *, draws: bool = True) -> None:
        """Take the file and the class; `draws`: whether its code may use the global random generators."""
        self.path = path
        self.class_name = class_name
        self.draws = draws

    def problem(self, code: str, what: str, fix: str, where: Origin | None = None) -> Problem:
        """Return a problem of this class."""
        return Problem(code, f"class {self.class_name}: {what}", fix, where or Origin(str(self.path)))

    @contextmanager
    def calling(self, hook: str, *, row: int | None = None) -> Iterator[None]:
        """Run a hook of the author's; what it raises becomes an AuthorError with the row, counted from 1."""
        try:
            yield
        except AuthorError:
            raise
        except Exception as error:
            raise AuthorError(self.trouble(error, hook, row)) from error

    def trouble(
        self, error: Exception, hook: str, row: int | None = None, values: Mapping[str, Any] | None = None
    ) -> Problem:
        """Return what a hook raised as a problem; `values`: the row it was given."""
        place = place_in(error, self.path)
        at_row = "" if row is None else f" for row {row}"
        if isinstance(error, BadInstance):
            return self.problem("LLMBOX-004", f"{error}{at_row}", error.fix, place)
        if isinstance(error, InstructionError):
            what = f"the instruction cannot be used{at_row}: {error}"
            fix = "correct the instruction, or let format_instance return what it names"
            return self.problem("LLMBOX-005", what, fix, place)
        if isinstance(error, ModuleNotFoundError) and error.name:
            what = f"{hook} needs the package {error.name!r}, which is not installed"
            return self.problem("LLMBOX-001", what, f"pip install {error.name.partition('.')[0]}", place)
        if isinstance(error, KeyError) and hook == "format_instance":
            what = f"{hook} asks{at_row} for the key {error}, which is not there"
            what += "" if values is None else _near_key(error, values)
            return self.problem("LLMBOX-003", what, "correct the key, or the data", place)
        what = f"{hook} raised {type(error).__name__}{at_row}: {error}"
        return self.problem("LLMBOX-003", what, "correct the class, or the data", place)


def _near_key(error: KeyError, row: Mapping[str, Any]) -> str:
    name = str(error.args[0]) if error.args else ""
    return f"{nearest(name, row)}; the row has {listing(row)}"


@contextmanager
def drawing(seed: int, *parts: str) -> Iterator[Callable[..., None]]:
    """Let the global generators draw from a seed inside; leaves them as they were.

    Yields a function that seeds them anew, for one row: a draw then depends on the seed and the row alone,
    and not on which rows came before.
    """
    known, known_np = random.getstate(), np.random.get_state()

    def seed_for(*more: str) -> None:
        number = rank(seed, *parts, *more)
        random.seed(number)  # noqa: TID251 (what an author's code draws from)
        np.random.seed(number % (1 << 32))

    seed_for()
    try:
        yield seed_for
    finally:
        random.setstate(known)
        np.random.set_state(known_np)
