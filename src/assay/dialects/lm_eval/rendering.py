"""The parts of a document that a task's keys define: question, answer, options, beginning of the reply.

A key is a column's name, a Jinja template, a fixed value or the author's function.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from assay.core.errors import AuthorError, Problem
from assay.core.origin import Origin
from assay.dialects.lm_eval.config import CODE
from assay.dialects.shared.template import find_literal_fields

if TYPE_CHECKING:
    from assay.core.bounded_jinja import BoundedEnvironment

Document = Mapping[str, Any]


class UnreadableValue(Exception):
    """A key gives something else than expected for a document; the caller adds the document."""


class DocumentReader:
    """Reads the keys of one task for its documents."""

    def __init__(self, columns: Collection[str], where: Origin, *, has_choices: bool) -> None:
        """`columns` are those of the evaluated split; a template equal to one of them is that column."""
        self._columns = frozenset(columns)
        self._where = where
        self._has_choices = has_choices

    def read_text(self, doc: Document, key: Any) -> Any:
        """Return the question: a text, or with several contexts the number of the right one."""
        value = self._read(doc, key)
        if isinstance(key, str) and key not in self._columns and self._is_number(value):
            return int(value)
        return value

    def read_target(self, doc: Document, key: Any) -> Any:
        """Return the answer: a text, the number of an option, or a list of these."""
        value = self._read(doc, key)
        if not isinstance(key, str) or key in self._columns:
            return value
        if self._is_number(value):
            return int(value)
        if len(value) >= 2 and value[0] == "[" and value[-1] == "]":
            try:
                return ast.literal_eval(value)
            except (SyntaxError, ValueError):
                return value
        return value

    def read_choices(self, doc: Document, key: Any) -> list[Any]:
        """Return the options."""
        if isinstance(key, Mapping):
            return list(key.values())
        value = self._read(doc, key)
        if isinstance(key, str) and key not in self._columns:
            value = _parse_literal(value, "doc_to_choice")
        if not isinstance(value, list | tuple):
            raise UnreadableValue(
                f"doc_to_choice gives {type(value).__name__} ({value!r:.60}), expected a list"
            )
        return list(value)

    def read_optional(self, doc: Document, key: str | None) -> str | None:
        """Return the text of a column or template; None without one."""
        value = None if key is None else self._read(doc, key)
        return value if value is None or isinstance(value, str) else str(value)

    def read_media(self, doc: Document, key: Any) -> list[Any]:
        """Return the images or audio clips of a document."""
        if key is None:
            return []
        if isinstance(key, list):
            return [medium for one in key for medium in self.read_media(doc, one)]
        value = self._read(doc, key)
        if isinstance(key, str) and key not in self._columns:
            value = _parse_literal(value, "doc_to_image")
        several = value if isinstance(value, list | tuple) else [value]
        return [medium for medium in several if medium is not None]

    def _is_number(self, value: Any) -> bool:
        return self._has_choices and isinstance(value, str) and value.isdigit()

    def _read(self, doc: Document, key: Any) -> Any:
        if callable(key):
            return key(doc)
        if not isinstance(key, str):
            return key
        if key in self._columns:
            return doc[key]
        return render_template(key, doc, self._where)


def render_template(text: str, doc: Document, where: Origin) -> str:
    """Return a Jinja template filled with a document; raise UnreadableValue if it cannot be."""
    if "{" not in text:
        return text
    from assay.core.bounded_jinja import JinjaFailure, render_jinja

    try:
        return render_jinja(_compile_template(text, where), doc)
    except JinjaFailure as error:
        raise UnreadableValue(f"the template {text!r:.60} cannot be filled: {error.what}") from error


def find_literal_columns(template: Any, columns: Collection[str]) -> list[str]:
    """Return the columns that a template contains as `{column}`, which Jinja leaves unchanged."""
    if not isinstance(template, str) or "{" not in template or template in columns:
        return []
    return sorted(find_literal_fields(_sandbox(), template).intersection(columns))


@lru_cache(maxsize=1024)
def _compile_template(text: str, where: Origin) -> Any:
    from assay.core.bounded_jinja import JinjaFailure, compile_jinja

    try:
        return compile_jinja(_sandbox(), text)
    except JinjaFailure as error:
        what = f"invalid Jinja template {text!r:.60}: {error.what}"
        raise AuthorError(Problem(CODE, what, "correct the template", where)) from error


@lru_cache(maxsize=1)
def _sandbox() -> BoundedEnvironment:
    from jinja2 import StrictUndefined

    from assay.core.bounded_jinja import BoundedEnvironment

    environment = BoundedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
    environment.filters["regex_replace"] = _replace_pattern
    return environment


def _replace_pattern(string: str, pattern: str, repl: str, count: int = 0) -> str:
    return re.sub(pattern, repl, string, count=count)


def _parse_literal(text: str, key: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError) as error:
        raise UnreadableValue(f"{key} gives {text!r:.60}, expected a Python list") from error
