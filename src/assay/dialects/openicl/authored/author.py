"""The authors of dataset classes, evaluators and post-processors, for error messages."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from assay.core.errors import AuthorError, Problem, listing
from assay.core.origin import Origin
from assay.dialects.openicl.authored.code import AuthorCode, find_source_file
from assay.dialects.openicl.authored.library import AuthorRaised
from assay.dialects.openicl.authored.modules import AUTHOR_MODULE_CODE
from assay.dialects.openicl.config.symbol import SymbolUseError
from assay.dialects.shared.class_author import ClassAuthor, HookProblem

AUTHOR_RAISED_CODE = "OPENICL-012"


class Author(ClassAuthor):
    """The author of one class or function."""

    raised_code: ClassVar[str] = AUTHOR_RAISED_CODE
    import_code: ClassVar[str] = AUTHOR_MODULE_CODE
    missing_code: ClassVar[str] = AUTHOR_RAISED_CODE
    name_code: ClassVar[str] = AUTHOR_MODULE_CODE
    missing_fix: ClassVar[str] = "put the data there, or name the folder of the data with --data-root DIR"

    def explain_own_error(self, error: BaseException, place: Origin) -> HookProblem | None:
        """Return the problem for AISBench's own exceptions, and for classes defined in a config."""
        if isinstance(error, SymbolUseError):
            what = "it is defined in a config, where imports are only names, not code: "
            fix = "define it in a file next to the config, and import it from opencompass.datasets"
            return HookProblem(AUTHOR_RAISED_CODE, f"{what}{error}", fix, place)
        if isinstance(error, AuthorRaised):
            return HookProblem(AUTHOR_RAISED_CODE, str(error), "correct the data or the config", place)
        return None


def check_arguments(
    taking: Callable[..., Any], given: Mapping[str, Any], code: str, where: Origin, *, n_before: int = 0
) -> None:
    """Raise if the arguments in a config do not match an author's function or class.

    `n_before`: the number of leading arguments that do not come from the config.
    """
    try:
        signature = inspect.signature(taking)
    except ValueError:
        # Some code that is not written in Python has no signature.
        return
    try:
        signature.bind(*[None] * n_before, **given)
    except TypeError as error:
        name = getattr(taking, "__qualname__", repr(taking))
        what = f"{name}{signature} is given {listing(given) or 'nothing'} by the config: {error}"
        raise AuthorError(Problem(code, what, "correct the config or the code", where)) from error


def check_own_names(author: Author, cls: type, code: AuthorCode) -> None:
    """Raise if names in a person's own class look like misspelt names of overridable methods."""
    own = [one for one in cls.__mro__ if code.is_own(one.__name__)]
    if not own:
        return
    files = {path for path in map(find_source_file, own) if path is not None}
    bases = [one for one in cls.__mro__ if one not in own and one is not object]
    settable = {name for base in bases for name in vars(base) if not name.startswith("__")}
    author.check_names(cls, files, settable)


def build_author(code: object, config: Path) -> Author:
    """Return the author of a class or function; for code in a config, that is the config."""
    return Author(find_source_file(code) or config, getattr(code, "__name__", type(code).__name__))
