"""The instruction of a dataset class: Jinja or str.format, decided as the original decides.

It is Jinja when the template has anything to compute, as Jinja itself reports it; else Python's `format`. So
`{x} {{ y }}` is Jinja and `{x}` alone is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import Environment, StrictUndefined, TemplateError, TemplateSyntaxError, Undefined
from jinja2.sandbox import SandboxedEnvironment


class InstructionError(Exception):
    """An instruction does not parse, or cannot be filled from a row."""


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
        raise InstructionError(f"the instruction is {text!r}, expected a text")
    try:
        template = env.from_string(text)
    except TemplateSyntaxError as error:
        raise InstructionError(f"it does not parse: {error.message} (its line {error.lineno})") from error
    if template.debug_info:

        def filled(values: Mapping[str, Any]) -> str:
            # What Template.render does, without the copy of the globals that takes most of its time.
            context = env.context_class(env, {**env.globals, **values}, template.name, template.blocks)
            try:
                return "".join(template.root_render_func(context))
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
        try:
            return text.format_map(values)
        except KeyError as error:
            raise InstructionError(f"it names {{{error.args[0]}}}, which the row does not have") from error
        except (IndexError, ValueError, AttributeError, TypeError) as error:
            raise InstructionError(f"{type(error).__name__}: {error}") from error

    return formatted
