"""Prompt templates: `{field}` or Jinja, decided by what is written.

A template knows the fields it needs before it is rendered, so a field that no column has is found
before a model is loaded. Values are put in once: a value that contains `{other}` stays as it is.
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

# A field is written `{name}`. Braces after a LaTeX command (`\frac{a}{b}`) are text, and so is
# anything between braces that does not look like a column's name, such as JSON.
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
"""Of a prompt that repeats its fields very often; Jinja has the same bound."""


class Template(Protocol):
    """Text with holes."""

    fields: frozenset[str]
    """The fields it names."""
    literals: frozenset[str]
    """What it names as `{field}` although it is Jinja, which leaves that as it is."""

    def render(self, values: Mapping[str, Any]) -> str:
        """Return the text with the holes filled."""


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
    """`{field}` and nothing else; other braces are text."""

    literals: frozenset[str] = frozenset()

    def __init__(self, text: str, columns: Iterable[str] = ()) -> None:
        self._pieces: list[tuple[str, str | None]] = []
        """Each piece as it is written, with the name of its field; None: it is text."""
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
        """Whether the prompt is at most a few times as long as the row, and rendering cannot fail."""

    def render(self, values: Mapping[str, Any]) -> str:
        """Return the text with the holes filled; a field that is not there stays as it is written."""
        # Most values are texts at once: the hot path of every prompt.
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
                f"it makes {n:,} characters, {_MAX_CHARACTERS:,} are allowed", is_limit=True
            )
        return "".join(parts)


class JinjaTemplate:
    """A Jinja template in the bounded sandbox; an undefined name is an error."""

    def __init__(self, text: str, where: Origin | None = None, label: str = "the template") -> None:
        from jinja2 import TemplateSyntaxError, meta

        from assay.core.bounded_jinja import JinjaFailure, compile_jinja

        environment = _sandbox()
        self._label = label
        try:
            self._template = compile_jinja(environment, text)
        except JinjaFailure as error:
            if isinstance(error.error, TemplateSyntaxError):
                what = f"the Jinja template does not parse: {error.what} (template line {error.line})"
                fix = "correct the template; to write braces as text use {{ '{' }}"
                raise AuthorError(Problem("TEMPLATE-001", what, fix, where)) from error
            raise AuthorError(build_limit_problem(label, error.what, where)) from error
        tree = environment.parse(text)
        self.fields = frozenset(meta.find_undeclared_variables(tree)) - frozenset(environment.globals)
        self.literals = find_literal_fields(environment, text)

    def render(self, values: Mapping[str, Any]) -> str:
        """Return the text with the holes filled."""
        from assay.core.bounded_jinja import JinjaFailure, render_jinja

        try:
            return render_jinja(self._template, values)
        except JinjaFailure as error:
            raise TemplateFailure(
                f"{self._label}, line {error.line or 1}: {error.what}", is_limit=error.is_limit
            ) from error


class TemplateFailure(Exception):
    """A template could not be rendered with these values; the caller knows which row it was."""

    def __init__(self, what: str, *, is_limit: bool = False) -> None:
        super().__init__(what)
        self.is_limit = is_limit
        """Whether the template does more than one rendering may: other rows will not fare better."""


def build_limit_problem(label: str, what: str, where: Origin | None) -> Problem:
    """Return the problem of a template that does too much."""
    fix = "make the template smaller; docs/reference/errors.md lists the limits"
    return Problem("TEMPLATE-002", f"{label} cannot be used: {what}", fix, where)


def find_literal_fields(environment: Environment, text: str) -> frozenset[str]:
    """Return what a Jinja template names as `{field}`, which Jinja leaves in the prompt as it is."""
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
    """Return a field of a record; `a.b` looks into a nested one when no field has that whole name."""
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
    """Return whether a record has a field, nested ones included."""
    return get_field(values, name, None) is not None or name in values


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)
