"""Prompt templates: `{field}` or Jinja, decided by what is written.

A template knows the fields it needs before it is rendered, so a field that no column has is found
before a model is loaded. Values are put in once: a value that contains `{other}` stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from assay.core.errors import AuthorError, Problem
from assay.core.origin import Origin

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

# A field is written `{name}`. Braces after a LaTeX command (`\frac{a}{b}`) are text, and so is
# anything between braces that does not look like a column's name, such as JSON.
_FIELD = re.compile(r"(?P<latex>\\[A-Za-z]+(?:\{[^{}]*\})+)|\{(?P<name>[^\W\d][\w .\-]*)\}")


class Template(Protocol):
    """Text with holes."""

    fields: frozenset[str]
    """The fields it names."""

    def render(self, values: Mapping[str, Any]) -> str:
        """Return the text with the holes filled."""


def compile_template(text: str, where: Origin | None = None) -> Template:
    """Read a template: Jinja when it has `{{` or `{%`, else `{field}`."""
    if "{{" in text or "{%" in text:
        return JinjaTemplate(text, where)
    return BraceTemplate(text)


class BraceTemplate:
    """`{field}` and nothing else; other braces are text."""

    def __init__(self, text: str) -> None:
        self._pieces: list[tuple[str, str | None]] = []
        """Each piece as it is written, with the name of its field; None: it is text."""
        end = 0
        for match in _FIELD.finditer(text):
            if match["name"] is None:
                continue
            self._pieces.append((text[end : match.start()], None))
            self._pieces.append((match[0], match["name"]))
            end = match.end()
        self._pieces.append((text[end:], None))
        self.fields = frozenset(name for _, name in self._pieces if name is not None)

    def render(self, values: Mapping[str, Any]) -> str:
        """Return the text with the holes filled; a field that is not there stays as it is written."""
        # Most values are texts at once: the hot path of every prompt.
        return "".join(
            [
                written
                if name is None
                else value
                if type(value := values.get(name)) is str
                else _shown(field(values, name, written))
                for written, name in self._pieces
            ]
        )


class JinjaTemplate:
    """A Jinja template in the sandbox; an undefined name is an error."""

    def __init__(self, text: str, where: Origin | None = None) -> None:
        from jinja2 import TemplateSyntaxError, meta

        environment = _sandbox()
        try:
            tree = environment.parse(text)
            self._template = environment.from_string(text)
        except TemplateSyntaxError as error:
            raise AuthorError(
                Problem(
                    "TEMPLATE-001",
                    f"the Jinja template does not parse: {error.message} (template line {error.lineno})",
                    "correct the template; to write braces as text use {{ '{' }}",
                    where,
                )
            ) from error
        self.fields = frozenset(meta.find_undeclared_variables(tree)) - frozenset(environment.globals)

    def render(self, values: Mapping[str, Any]) -> str:
        """Return the text with the holes filled."""
        from jinja2 import TemplateError

        try:
            return self._template.render(values)
        except (TemplateError, TypeError, ValueError) as error:
            raise TemplateFailure(str(error)) from error


class TemplateFailure(Exception):
    """A template could not be rendered with these values; the caller knows which row it was."""


@lru_cache(maxsize=1)
def _sandbox() -> SandboxedEnvironment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
    environment.globals["zip"] = zip
    return environment


_MISSING = object()


def field(values: Mapping[str, Any], name: str, default: Any = _MISSING) -> Any:
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
    return field(values, name, None) is not None or name in values


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else str(value)
