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
    Template,
    TemplateSyntaxError,
    Undefined,
    UndefinedError,
    nodes,
)

from assay.core.bounded_jinja import (
    MAX_CHARACTERS,
    BoundedEnvironment,
    JinjaFailure,
    compile_jinja,
    render_jinja,
    spec_width,
)
from assay.core.errors import suggest_name
from assay.dialects.shared.template import find_literal_fields

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


class MissingField(StrictUndefined):
    """A name that the row does not have: it may be asked about (`if passage`), but not printed."""

    def __bool__(self) -> bool:  # type: ignore[override]  # jinja2's own refuses, and says so in its type
        return False


def build_environment(*, is_lenient: bool = False) -> Environment:
    """Return the environment of one dataset, to which its author may add globals.

    With `is_lenient` a name that is missing prints as nothing, as in the original.
    """
    made = BoundedEnvironment(undefined=Undefined if is_lenient else MissingField)
    made.globals["zip"] = zip
    return made


Render = Callable[[Mapping[str, Any]], str]


def compile_instruction(text: Any, env: Environment) -> Render:
    """Return the function that fills an instruction; InstructionError when it does not parse."""
    if not isinstance(text, str):
        raise InstructionError(f"it is {text!r}, expected a text", 'set instruction = "{question}"')
    try:
        template = compile_jinja(env, text)
    except JinjaFailure as error:
        place = "" if error.line is None else f" (its line {error.line})"
        what = "does not parse" if isinstance(error.error, TemplateSyntaxError) else "cannot be used"
        raise InstructionError(f"it {what}: {error.what}{place}") from error
    is_jinja = bool(template.debug_info) and not _is_constant(template, text)
    # In a lenient environment these print as "None", as in the original.
    is_strict = issubclass(env.undefined, MissingField)
    bare = _find_bare_fields(text, env, is_jinja=is_jinja) if is_strict else ()
    if is_jinja:
        literals = find_literal_fields(env, text) if is_strict else frozenset[str]()

        def filled(values: Mapping[str, Any]) -> str:
            _check_bare_fields(bare, values)
            for name in literals:
                _check_literal(name, values)
            try:
                return render_jinja(template, values)
            except JinjaFailure as error:
                found = _UNDEFINED.match(error.what) if isinstance(error.error, UndefinedError) else None
                if found is not None:
                    raise _build_missing_error(found[1], values) from error
                raise InstructionError(f"its line {error.line or 1}: {error.what}") from error

        return filled
    has_specs = any(spec for _, _, spec, _ in _parse_format(text))

    def formatted(values: Mapping[str, Any]) -> str:
        _check_bare_fields(bare, values)
        try:
            return _BoundedFormatter().vformat(text, (), values) if has_specs else text.format_map(values)
        except KeyError as error:
            raise _build_missing_error(str(error.args[0]), values) from error
        except InstructionError:
            raise
        except Exception as error:  # `{x.y}` and `{x:5}` call methods of what the row holds
            raise InstructionError(f"{type(error).__name__}: {error}") from error

    return formatted


def _is_constant(template: Template, text: str) -> bool:
    """Whether Jinja works everything out when it compiles; the bounds put off a few operators."""
    tree = template.environment.parse(text)
    if any(not isinstance(node, nodes.Output) for node in tree.body):
        return False
    if next(tree.find_all((nodes.Name, nodes.Call)), None) is not None:
        return False
    try:
        render_jinja(template, {})
    except JinjaFailure as error:
        return error.is_limit
    return True


class _BoundedFormatter(Formatter):
    """`str.format`, in which a width such as `{x:>999999999}` is bounded."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        if spec_width(format_spec) > MAX_CHARACTERS:
            what = f"the width in {format_spec!r:.40} makes more than {MAX_CHARACTERS:,} characters"
            raise InstructionError(what, "write a smaller width")
        return super().format_field(value, format_spec)


def _parse_format(text: str) -> list[tuple[str, str | None, str | None, str | None]]:
    try:
        return list(Formatter().parse(text))
    except ValueError as error:
        raise InstructionError(f"it does not parse: {error}") from error


def _find_bare_fields(text: str, env: Environment, *, is_jinja: bool) -> Sequence[str]:
    """Return which of the framework's texts an instruction shows whatever they are."""
    if is_jinja:
        outputs = [node for node in env.parse(text).body if isinstance(node, nodes.Output)]
        names = {part.name for output in outputs for part in output.nodes if isinstance(part, nodes.Name)}
    else:
        names = {name for _, name, _, _ in _parse_format(text) if name}
    return [name for name in _MAY_BE_NONE if name in names]


def _check_bare_fields(bare: Sequence[str], values: Mapping[str, Any]) -> None:
    for name in bare:
        if name in values and values[name] is None:
            raise InstructionError(f"it shows {name!r}, of which there is none here", _MAY_BE_NONE[name])


def _check_literal(name: str, values: Mapping[str, Any]) -> None:
    """Raise where Jinja would leave `{field}` in the prompt although there is such a field."""
    if name in values:
        what = f"it is a Jinja template, in which {{{name}}} is text and not the field {name!r}"
        raise InstructionError(what, f"write {{{{ {name} }}}}; for braces as text {{{{ '{{{name}}}' }}}}")


def _build_missing_error(name: str, values: Mapping[str, Any]) -> InstructionError:
    return InstructionError(
        f"it names {name!r}, which is not there{suggest_name(name, values)}",
        f"correct the instruction, or let format_instance return {name!r}",
    )
