"""Error types.

    AssayError                the user can fix it; printed without a traceback, exit status 2
      AuthorError             the dataset, its meta file or a config is wrong
      PlanError               the dataset and the model are incompatible, or a setting is impossible
      BackendError            the model is missing, does not load, or is no longer available
      StoreError              a run folder is missing, damaged, or from another program
      UsageError              the command or the call itself is wrong
      OfflineError            something tried to use the network in an offline run

A single failed request is not one of these: it is a `Failure` response, counted and reported.
Every problem has a code that `docs/reference/errors.md` explains.
"""

from __future__ import annotations

import difflib
import dis
import os
import re
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec

from assay.core.names import is_same_decomposed
from assay.core.origin import Origin
from assay.core.text_preview import MAX_VALUE_CHARS, shorten_message, shorten_text

MadeT = TypeVar("MadeT")
MAX_SHOWN_PROBLEMS = 20
_LIBRARIES = (sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["purelib"])
RAISED_BY_AUTHORS = (BaseException,)
"""Exceptions that authors' code can raise: `sys.exit` and `raise KeyboardInterrupt` in it are its own errors.

Code that catches these must call `reraise_interrupt` first.
"""
_RAISE = dis.opmap["RAISE_VARARGS"]
_HANDLERS = (
    os.path.dirname(os.path.dirname(__file__)),
    os.path.join(os.path.dirname(os.__file__), "asyncio"),
)
"""Packages that raise KeyboardInterrupt for a signal."""


def is_interrupt(error: BaseException) -> bool:
    """Return whether an error is not caused by the code it comes from: Ctrl-C, or a closed generator."""
    return type(error).__name__ == "CancelledError" or (
        isinstance(error, GeneratorExit | KeyboardInterrupt) and not _is_raised_by_code(error)
    )


def reraise_interrupt(error: BaseException) -> None:
    """Raise an error again if it is not caused by the code it comes from."""
    if is_interrupt(error):
        raise error


@contextmanager
def calling_author(what: str) -> Iterator[None]:
    """Run authors' code. Turn anything other than an Exception, such as SystemExit, into a RuntimeError."""
    try:
        yield
    except Exception:
        raise
    except RAISED_BY_AUTHORS as error:
        reraise_interrupt(error)
        verb = "ended the program" if isinstance(error, SystemExit) else "raised"
        raise RuntimeError(f"{what} {verb} ({type(error).__name__} {error})") from error


def _is_raised_by_code(error: BaseException) -> bool:
    """Return whether a `raise` statement started an error.

    Ctrl-C can occur between any two instructions, and a generator is closed where it yields.
    """
    trace = error.__traceback__
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    is_handler = code.co_filename.startswith(_HANDLERS)
    return not is_handler and code.co_code[trace.tb_lasti] == _RAISE


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """One problem: where it is, the value seen, what was expected, and how to fix it."""

    code: str
    """A stable name such as `TABLE-004`, an anchor in docs/reference/errors.md."""
    what: str
    """What is wrong, with the value seen and what was expected."""
    fix: str
    """What the user can do about it."""
    where: Origin | None = None
    """Where the problem is, if it has a place."""

    def __post_init__(self) -> None:
        # A cell can have millions of characters. Shorten values here, so that no message has to.
        for name in ("what", "fix"):
            text = getattr(self, name)
            if len(text) > MAX_VALUE_CHARS:
                msgspec.structs.force_setattr(self, name, shorten_message(text))

    def __str__(self) -> str:
        place = f" {self.where}:" if self.where else ""
        return f"{self.code}{place} {self.what}. Fix: {self.fix}"


class AssayError(Exception):
    """An error that the user can fix. Contains every problem found, not only the first."""

    def __init__(self, problems: Problem | Sequence[Problem], *, total: int | None = None) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        self.total = len(self.problems) if total is None else total
        super().__init__(str(self))

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems[:MAX_SHOWN_PROBLEMS]]
        if self.total > len(lines):
            lines.append(f"... and {self.total - len(lines):,} more")
        return "\n".join(lines)


class AuthorError(AssayError):
    """The dataset, its meta file or a config is wrong."""


class PlanError(AssayError):
    """The dataset and the model are incompatible, or a setting is impossible."""


class BackendError(AssayError):
    """The model is missing, does not load, or is no longer available."""


class StoreError(AssayError):
    """A run folder is missing, damaged, or from another program."""


class UsageError(AssayError):
    """The command or the call itself is wrong."""


class BudgetReached(AssayError):
    """The budget of the run allows no further request. All answers are stored."""


class OfflineError(AssayError):
    """Something tried to use the network in an offline run."""


class Problems:
    """Collects the problems of a whole file: keeps the first ones and counts the rest."""

    def __init__(self) -> None:
        self.first: list[Problem] = []
        self.total = 0
        self._kinds: set[type[AuthorError]] = set()

    def add(self, problem: Problem) -> None:
        """Add one problem."""
        self._keep((problem,), 1, AuthorError)

    def collect(self, make: Callable[[], MadeT]) -> MadeT | None:
        """Return the result of `make`; if it raises an AuthorError, add its problems and return None."""
        try:
            return make()
        except AuthorError as error:
            self._keep(error.problems, error.total, type(error))
            return None

    def raise_if_any(self) -> None:
        """Raise all problems as one AuthorError, of the subclass that all of them share."""
        if self.total:
            (kind,) = self._kinds if len(self._kinds) == 1 else (AuthorError,)
            raise kind(self.first, total=self.total)

    def _keep(self, problems: Sequence[Problem], total: int, kind: type[AuthorError]) -> None:
        self.total += total
        self.first.extend(problems[: MAX_SHOWN_PROBLEMS - len(self.first)])
        self._kinds.add(kind)


def describe_exception(error: BaseException) -> str:
    """Return the type of an exception and its message, if it has one."""
    try:
        message = str(error)
    except Exception as broken:  # noqa: BLE001 - an author's own class may fail in any way
        message = f"its message cannot be shown ({type(broken).__name__})"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def find_raise_origin(error: BaseException) -> Origin | None:
    """Return the innermost line outside libraries in an exception's traceback; else the innermost line."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return None
    own = [frame for frame in frames if not frame.filename.startswith(_LIBRARIES)]
    frame = (own or frames)[-1]
    return Origin(frame.filename, line=frame.lineno)


def format_allowed_values(kind: Any) -> str:
    """Return `; the values are 'a', 'b'` for a type with literal values, or an empty text."""
    names: list[str] = []

    def gather(part: Any) -> None:
        if get_origin(part) is Literal:
            names.extend(str(value) for value in get_args(part))
        elif isinstance(part, type) and issubclass(part, Enum):
            names.extend(str(member.value) for member in part)
        else:
            for inner in get_args(part):
                gather(inner)

    gather(kind)
    return f"; the values are {listing(names)}" if names else ""


_TYPE_WORDS = {
    "int": "an integer",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
_BOUNDS = {">=": "least", "<=": "most"}


def explain_type_error(error: Exception) -> str:
    """Return msgspec's message in plain words, to follow a colon: `expected an integer, found a text`."""

    def name_types(match: re.Match[str]) -> str:
        words = _TYPE_WORDS if match[1] == "Expected" else _TYPE_WORDS | {"bool": "a boolean"}
        return f"{match[1].lower()} {' or '.join(words.get(one, one) for one in match[2].split(' | '))}"

    text = re.sub(r"(Expected|got) `([\w| ]+)`", name_types, str(error))
    text = text.replace(", got ", ", found ").replace(" - at `", ", at `")
    text = re.sub(r"(?<=length) (>=|<=) ", lambda match: f" at {_BOUNDS[match[1]]} ", text)
    text = re.sub(r" (>=|<=) ", lambda match: f" of at {_BOUNDS[match[1]]} ", text)
    return text[:1].lower() + text[1:]


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)` for the known name closest to a wrong one, or an empty text."""
    if len(name) > MAX_VALUE_CHARS:
        return ""
    candidates = [candidate for candidate in known if len(candidate) <= MAX_VALUE_CHARS]
    if any(is_same_decomposed(name, candidate) for candidate in candidates):
        return " (it exists in another Unicode form: NFC and NFD look the same)"
    match = difflib.get_close_matches(name, candidates, n=1, cutoff=0.6)
    return f" (did you mean {match[0]!r}?)" if match else ""


def format_count(n: int, noun: str) -> str:
    """Return a number with its noun: `1 row`, `2 rows`."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def listing(names: Iterable[str], *, at_most: int = 12) -> str:
    """Return names for use in an error: quoted, in order, with a count of those omitted."""
    all_names = list(names)
    listed = ", ".join(shorten_text(repr(name), MAX_VALUE_CHARS) for name in all_names[:at_most])
    return f"{listed} and {len(all_names) - at_most} more" if len(all_names) > at_most else listed
