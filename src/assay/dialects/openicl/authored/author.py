"""The authors of dataset classes, evaluators and post-processors, as errors name them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from assay.core.errors import AuthorError, Problem, listing
from assay.core.origin import Origin
from assay.dialects.openicl.authored.code import Code, file_of
from assay.dialects.openicl.authored.library import AuthorRaised
from assay.dialects.openicl.authored.modules import CODE
from assay.dialects.openicl.config.symbol import SymbolIsNoValue
from assay.dialects.shared.class_author import ClassAuthor, Trouble

RAISED = "OPENICL-012"


class Author(ClassAuthor):
    """The author of one class or function."""

    raised_code: ClassVar[str] = RAISED
    import_code: ClassVar[str] = CODE
    missing_code: ClassVar[str] = RAISED
    name_code: ClassVar[str] = CODE
    missing_fix: ClassVar[str] = "put the data there, or name the folder that it counts from: --data-root DIR"

    def own_trouble(self, error: BaseException, place: Origin) -> Trouble | None:
        """Return what AISBench's own exceptions say, and what a class must know that a config defines."""
        if isinstance(error, SymbolIsNoValue):
            what = "it is defined in a config, which has names of imported code alone: "
            fix = "define it in a file beside the config, and import it from opencompass.datasets"
            return Trouble(RAISED, f"{what}{error}", fix, place)
        if isinstance(error, AuthorRaised):
            return Trouble(RAISED, str(error), "correct the data, or the config", place)
        return None


def check_arguments(
    taking: Callable[..., Any], given: Mapping[str, Any], code: str, where: Origin, *, n_before: int = 0
) -> None:
    """Raise where what a config gives to an author's function or class is not what that takes.

    `n_before`: how many arguments stand before it that the config does not give.
    """
    try:
        signature = inspect.signature(taking)
    except ValueError:
        # Not all code that is not written in Python tells what it takes.
        return
    try:
        signature.bind(*[None] * n_before, **given)
    except TypeError as error:
        name = getattr(taking, "__qualname__", repr(taking))
        what = f"{name}{signature} is given {listing(given) or 'nothing'} by the config: {error}"
        raise AuthorError(Problem(code, what, "correct the config, or the code", where)) from error


def check_own_names(author: Author, cls: type, code: Code) -> None:
    """Reject names in a class of the person's own that resemble what it could override."""
    own = [one for one in cls.__mro__ if code.is_own(one.__name__)]
    if not own:
        return
    files = {path for path in map(file_of, own) if path is not None}
    bases = [one for one in cls.__mro__ if one not in own and one is not object]
    settable = {name for base in bases for name in vars(base) if not name.startswith("__")}
    author.check_names(cls, files, settable)


def author_of(code: object, config: Path) -> Author:
    """Return the author of a class or function; one that the config defines itself is the config's."""
    return Author(file_of(code) or config, getattr(code, "__name__", type(code).__name__))
