"""Prompt templates: `{field}` or Jinja, recognised by their content.

A template lists the fields it needs before it is rendered, so an unknown field is reported before a model is
loaded. Values are inserted once: a value that contains `{other}` stays unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from assay.core.errors import AuthorError, Problem
from assay.core.origin import Origin

if TYPE_CHECKING:
    from jinja2 import Environment

    from assay.core.bounded_jinja import BoundedEnvironment

# A field is written `{name}`. Braces after a LaTeX command (`\frac{a}{b}`) are text, as is anything in
# braces that does not look like a column name, such as JSON.
_FIELD = re.compile(r"(?P<latex>\\[A-Za-z]+(?:\{[^{}]*\})+)|\{(?P<name>[^\W\d][\w .\-]*)\}")


def _field_pattern(columns: Iterable[str]) -> re.Pattern[str]:
    """Return the pattern of a field, with the names of columns that do not look like one."""
    odd = [name for name in columns if _FIELD.fullmatch(f"{{{name}}}") is None and not {*"{}"} & {*name}]
    if not odd:
        return _FIELD
    names = "|".join(map(re.escape, sorted(odd, key=len, reverse=True)))
    return re.compile(_FIELD.pattern.replace(r"[^\W\d][\w .\-]*", rf"[^\W\d][\w .\-]*|{names}"))


_FEW_PIECES = 200
_MAX_CHARACTERS = 100_000_000
"""Maximum length of a prompt that repeats its fields very often; Jinja has the same limit."""


class Template(Protocol):
    """A text with placeholders."""

    fields: frozenset[str]
    """The fields it uses."""
    literals: frozenset[str]
    """Names written as `{field}` in a Jinja template, which Jinja leaves unchanged."""

    def render(self, values: Mapping[str, Any]) -> str:
        """Return the text with the placeholders filled."""


def compile_template(
    text: str,
    where: Origin | None = None,
    label: str = "the template",
    columns: Iterable[str] = (),
) -> Template:
    """Read a template: Jinja when it has `{{` or `{%`, else `{field}`.

    `label` is what errors call it, such as the key that holds it. `columns` may have names that do not look
    like a field's, such as `Answer (short)`.
    """
    if "{{" in text or "{%" in text:
        return JinjaTemplate(text, where, label)
    return BraceTemplate(text, columns)


class BraceTemplate:
    """A template with `{field}` placeholders; other braces are text."""

    literals: frozenset[str] = frozenset()

    def __init__(self, text: str, columns: Iterable[str] = ()) -> None:
        self._pieces: list[tuple[str, str | None]] = []
        """Each piece as written, with the name of its field; None for text."""
        end = 0
        for match in _field_pattern(columns).finditer(text):
            if (name := match["name"]) is None:
                continue
            self._pieces.append((text[end : match.start()], None))
            self._pieces.append((match[0], name))
            end = match.end()
        self._pieces.append((text[end:], None))
        self.fields = frozenset(name for _, name in self._pieces if name is not None)
        self.is_small = len(self._pieces) <= _FEW_PIECES
        """Whether the prompt has few pieces, so that rendering cannot exceed the limit."""

    def render(self, values: Mapping[str, Any]) -> str:
        """Return the text with the placeholders filled; a missing field stays as written."""
        # Hot path of every prompt: most values are already texts.
        parts = [
            written
            if name is None
            else value
            if type(value := values.get(name)) is str
            else _to_text(get_field(values, name, written))
            for written, name in self._pieces
        ]
        if not self.is_small and (n := sum(map(len, parts))) > _MAX_CHARACTERS:
            raise TemplateFailure(
                f"it produces {n:,} characters; the maximum is {_MAX_CHARACTERS:,}", is_limit=True
            )
        return "".join(parts)


class JinjaTemplate:
    """A Jinja template in the restricted sandbox; an undefined name is an error."""

    def __init__(self, text: str, where: Origin | None = None, label: str = "the template") -> None:
        from jinja2 import TemplateSyntaxError, meta

        from assay.core.bounded_jinja import JinjaFailure, compile_jinja

        environment = _sandbox()
        self._label = label
        try:
            self._template = compile_jinja(environment, text)
        except JinjaFailure as error:
            if isinstance(error.error, TemplateSyntaxError):
                what = f"invalid Jinja template: {error.what} (template line {error.line})"
                fix = "correct the template; for literal braces write {{ '{' }}"
                raise AuthorError(Problem("TEMPLATE-001", what, fix, where)) from error
            raise AuthorError(build_limit_problem(label, error.what, where)) from error
        tree = environment.parse(text)
        self.fields = frozenset(meta.find_undeclared_variables(tree)) - frozenset(environment.globals)
        self.literals = find_literal_fields(environment, text)

    def render(self, values: Mapping[str, Any]) -> str:
        """Return the text with the placeholders filled."""
        from assay.core.bounded_jinja import JinjaFailure, render_jinja

        try:
            return render_jinja(self._template, values)
        except JinjaFailure as error:
            raise TemplateFailure(
                f"{self._label}, line {error.line or 1}: {error.what}", is_limit=error.is_limit
            ) from error


class TemplateFailure(Exception):
    """Raised if a template cannot be rendered with these values; the caller adds the row."""

    def __init__(self, what: str, *, is_limit: bool = False) -> None:
        super().__init__(what)
        self.is_limit = is_limit
        """Whether the template exceeds a limit, which will also fail for other rows."""


def build_limit_problem(label: str, what: str, where: Origin | None) -> Problem:
    """Return the problem for a template that exceeds a limit."""
    fix = "make the template smaller; docs/reference/errors.md lists the limits"
    return Problem("TEMPLATE-002", f"{label} cannot be used: {what}", fix, where)


def find_literal_fields(environment: Environment, text: str) -> frozenset[str]:
    """Return the names a Jinja template contains as `{field}`, which Jinja leaves unchanged."""
    from jinja2 import nodes

    written = environment.parse(text).find_all(nodes.TemplateData)
    return frozenset(
        match["name"] for node in written for match in _FIELD.finditer(node.data) if match["name"]
    )


@lru_cache(maxsize=1)
def _sandbox() -> BoundedEnvironment:
    from jinja2 import StrictUndefined

    from assay.core.bounded_jinja import BoundedEnvironment

    environment = BoundedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
    environment.globals["zip"] = zip
    return environment


_MISSING = object()


def get_field(values: Mapping[str, Any], name: str, default: Any = _MISSING) -> Any:
    """Return a field of a record; `a.b` is a nested field if no field has that full name."""
    value = values.get(name, _MISSING)
    if value is not _MISSING:
        return value
    value = values
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            if default is _MISSING:
                raise KeyError(name)
            return default
        value = value[part]
    return value


def has_field(values: Mapping[str, Any], name: str) -> bool:
    """Return whether a record has a field, including nested fields."""
    return get_field(values, name, None) is not None or name in values


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)
