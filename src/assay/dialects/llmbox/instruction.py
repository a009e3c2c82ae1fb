"""The instruction of a dataset class: Jinja or str.format, decided as the original decides.

It is Jinja when the template has anything to compute, as Jinja itself reports it; else Python's `format`. So
`{x} {{ y }}` is Jinja and `{x}` alone is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from string import Formatter
from typing import Any

from jinja2 import (
    Environment,
    StrictUndefined,
    TemplateError,
    TemplateSyntaxError,
    Undefined,
    UndefinedError,
    nodes,
)
from jinja2.sandbox import SandboxedEnvironment

from assay.core.errors import nearest

_MAY_BE_NONE = {
    "source": "let format_instance return source",
    "options": "write {{ options if options }}: not every method shows them",
}
"""Texts that the framework gives a template, and what to do where there is none."""
_UNDEFINED = re.compile(r"'(\w+)' is undefined")


class InstructionError(Exception):
    """An instruction does not parse, or cannot be filled from a row: what was seen, and the fix."""

    def __init__(self, what: str, fix: str = "correct the instruction") -> None:
        super().__init__(what)
        self.fix = fix


class Missing(StrictUndefined):
    """A name that the row does not have: it may be asked about (`if passage`), but not printed."""

    def __bool__(self) -> bool:  # type: ignore[override]  # jinja2's own refuses, and says so in its type
        return False


def environment(*, is_lenient: bool = False) -> Environment:
    """Return the environment of one dataset, to which its author may add globals.

    With `is_lenient` a name that is missing prints as nothing, as in the original.
    """
    made = SandboxedEnvironment(undefined=Undefined if is_lenient else Missing)
    made.globals["zip"] = zip
    return made


Render = Callable[[Mapping[str, Any]], str]


def compile_instruction(text: Any, env: Environment) -> Render:
    """Return the function that fills an instruction; InstructionError when it does not parse."""
    if not isinstance(text, str):
        raise InstructionError(f"it is {text!r}, expected a text", 'set instruction = "{question}"')
    try:
        template = env.from_string(text)
    except TemplateSyntaxError as error:
        raise InstructionError(f"it does not parse: {error.message} (its line {error.lineno})") from error
    is_jinja = bool(template.debug_info)
    # In a lenient environment these print as "None", as in the original.
    bare = _shown_bare(text, env, is_jinja=is_jinja) if issubclass(env.undefined, Missing) else ()
    if is_jinja:

        def filled(values: Mapping[str, Any]) -> str:
            _check_shown(bare, values)
            # What Template.render does, without the copy of the globals that takes most of its time.
            context = env.context_class(env, {**env.globals, **values}, template.name, template.blocks)
            try:
                return "".join(template.root_render_func(context))
            except UndefinedError as error:
                found = _UNDEFINED.match(str(error))
                raise _missing(found[1], values) if found else InstructionError(str(error)) from error
            except (
                TemplateError,
                ArithmeticError,
                LookupError,
                TypeError,
                ValueError,
                AttributeError,
            ) as error:
                raise InstructionError(str(error) or type(error).__name__) from error

        return filled

    def formatted(values: Mapping[str, Any]) -> str:
        _check_shown(bare, values)
        try:
            return text.format_map(values)
        except KeyError as error:
            raise _missing(str(error.args[0]), values) from error
        except (IndexError, ValueError, AttributeError, TypeError) as error:
            raise InstructionError(f"{type(error).__name__}: {error}") from error

    return formatted


def _shown_bare(text: str, env: Environment, *, is_jinja: bool) -> Sequence[str]:
    """Return which of the framework's texts an instruction shows whatever they are."""
    if is_jinja:
        outputs = [node for node in env.parse(text).body if isinstance(node, nodes.Output)]
        names = {part.name for output in outputs for part in output.nodes if isinstance(part, nodes.Name)}
    else:
        try:
            names = {name for _, name, _, _ in Formatter().parse(text) if name}
        except ValueError as error:
            raise InstructionError(f"it does not parse: {error}") from error
    return [name for name in _MAY_BE_NONE if name in names]


def _check_shown(bare: Sequence[str], values: Mapping[str, Any]) -> None:
    for name in bare:
        if name in values and values[name] is None:
            raise InstructionError(f"it shows {name!r}, of which there is none here", _MAY_BE_NONE[name])


def _missing(name: str, values: Mapping[str, Any]) -> InstructionError:
    return InstructionError(
        f"it names {name!r}, which is not there{nearest(name, values)}",
        f"correct the instruction, or let format_instance return {name!r}",
    )
