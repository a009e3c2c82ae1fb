"""Calls to the functions of a task's author. Errors name the function, the line and the document."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import RAISED_BY_AUTHORS, AuthorError, Problem, describe_exception, reraise_interrupt
from assay.core.origin import Origin
from assay.core.text_preview import shorten_text
from assay.dialects.lm_eval.config import TaskKeys
from assay.dialects.lm_eval.rendering import UnreadableValue
from assay.dialects.shared.author_modules import find_error_line
from assay.dialects.shared.plain_rows import to_plain_data

CODE = "LMEVAL-006"
_SHOWN_CHARS = 240


@contextmanager
def calling_function(
    function: Any, key: str, keys: TaskKeys, doc: Any = None, row: int | None = None
) -> Iterator[None]:
    """Convert what an author's function or template raises to an AuthorError."""
    try:
        yield
    except AuthorError:
        raise
    except RAISED_BY_AUTHORS as error:
        reraise_interrupt(error)
        raise AuthorError(describe_error(error, function, key, keys, doc, row)) from error


def describe_error(
    error: BaseException, function: Any, key: str, keys: TaskKeys, doc: Any = None, row: int | None = None
) -> Problem:
    """Return the problem for an error of an author's function or template."""
    what = f"{key} raised {describe_exception(error)}"
    fix, where = "correct the task or its data", keys.where
    if isinstance(error, UnreadableValue):
        what = str(error)
    elif isinstance(error, ModuleNotFoundError) and error.name:
        what = f"{key} needs the package {error.name!r}, which is not installed"
        fix = f"pip install {error.name.partition('.')[0]}"
    if (file := find_file(function)) is not None:
        where = find_error_line(error, file)
    at = "" if row is None else f", document {row}"
    shown = "" if doc is None else f"; the document is {format_document(doc)}"
    return Problem(CODE, f"task {keys.name!r}{at}: {what}{shown}", fix, where)


def find_file(function: Any) -> Path | None:
    """Return the file of an author's function; None for a template."""
    try:
        return Path(inspect.getfile(function)) if callable(function) else None
    except TypeError:
        return None


def format_document(doc: Any) -> str:
    """Return the beginning of a document on one line."""
    return shorten_text(msgspec.json.encode(to_plain_data(doc)).decode(), _SHOWN_CHARS)


def format_origin(keys: TaskKeys, row: int) -> Origin:
    """Return the place of a document: its row in the evaluated split."""
    return Origin(f"{keys.dataset_path or keys.name} {keys.eval_split}", row=row)
