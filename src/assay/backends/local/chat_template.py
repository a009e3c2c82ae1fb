"""Renders a model's chat template within limits.

The template comes with the model's files, and transformers renders it in a sandbox without a time limit. So
it is rendered here, in the same environment with limits. The first conversation is rendered both ways. If
transformers writes another text, as for a tokenizer with its own method, its text is used from then on, and
the bounded rendering before it only makes sure that the template ends.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.meta import find_undeclared_variables
from jinja2.parser import Parser

from assay.core.bounded_jinja import BoundedImmutableEnvironment, JinjaFailure, compile_jinja, render_jinja


class ChatTemplateLimit(Exception):
    """A chat template exceeds the limits for one conversation."""


class BoundedTemplate:
    """A chat template, compiled and rendered within limits."""

    def __init__(self, source: str) -> None:
        """Compile it; raise JinjaFailure if it does not parse."""
        self.source = source
        self._template = compile_jinja(_environment(), source)

    def render(
        self, messages: Sequence[Mapping[str, Any]], switches: Mapping[str, Any], tokens: Mapping[str, Any]
    ) -> str:
        """Return a conversation as text; raise JinjaFailure. `tokens` are the special tokens by name."""
        values = {**tokens, "messages": messages, "tools": None, "documents": None, **switches}
        return render_jinja(self._template, values)


def find_template_variables(source: str) -> frozenset[str]:
    """Return the variables that a template reads; empty if it does not parse."""
    try:
        return frozenset(find_undeclared_variables(_environment().parse(source)))
    except TemplateError:
        return frozenset()


class ChatTemplate:
    """The chat template of one tokenizer."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._template: BoundedTemplate | None = None
        self._is_same: bool | None = None
        """Whether transformers writes the same text; None: unknown yet."""

    def render(self, messages: Sequence[dict[str, Any]], **switches: Any) -> str:
        """Return a conversation as text; raise the template's exceptions.

        `switches`: variables of the template besides the messages, such as `add_generation_prompt`.
        """
        try:
            text = self._render_bounded(messages, switches)
        except JinjaFailure as failure:
            if failure.is_limit:
                raise ChatTemplateLimit(str(failure)) from failure
            # The template ended by itself, so transformers fails as well, with its own message.
            text = None
        if text is not None and self._is_same:
            return text
        own: str = self._tokenizer.apply_chat_template(messages, tokenize=False, **switches)
        if text is not None and self._is_same is None:
            self._is_same = own == text
        return own

    def _render_bounded(self, messages: Sequence[dict[str, Any]], switches: Mapping[str, Any]) -> str | None:
        find = getattr(self._tokenizer, "get_chat_template", None)
        if find is None:
            return None
        source = find()
        if self._template is None or source != self._template.source:
            self._template, self._is_same = BoundedTemplate(source), None
        return self._template.render(messages, switches, self._tokenizer.special_tokens_map)


class _Generation(Extension):
    """`{% generation %}`, which marks the model's text and does not change it."""

    tags = {"generation"}  # noqa: RUF012  # Jinja's own form

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body).set_lineno(line)


def _environment() -> BoundedImmutableEnvironment:
    """Return an environment with the functions that transformers documents for chat templates."""
    environment = BoundedImmutableEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = _now
    environment.bound()
    return environment


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: Any = None,
    separators: Any = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _raise(message: str) -> None:
    raise TemplateError(message)


def _now(form: str) -> str:
    return datetime.now().strftime(form)  # noqa: DTZ005  # the local time, as transformers gives it
