"""The instruction of a dataset class: Jinja or str.format, decided as in the original.

It is Jinja if the template computes anything, as reported by Jinja itself; otherwise Python's `format`. So
`{x} {{ y }}` is Jinja, but `{x}` alone is not.
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
    BoundedEnvironment,
    JinjaFailure,
    compile_jinja,
    render_jinja,
)
from assay.core.errors import describe_exception, suggest_name
from assay.core.jinja_budget import MAX_CHARACTERS
from assay.core.jinja_costs import spec_width
from assay.dialects.shared.template import find_literal_fields

_MAY_BE_NONE = {
    "source": "return source from format_instance",
    "options": "write {{ options if options }}, because not every method shows them",
}
"""Texts that the framework passes to a template, and the fix if there is none."""
_UNDEFINED = re.compile(r"'(\w+)' is undefined")


class InstructionError(Exception):
    """An instruction does not parse, or cannot be filled from a row; has the problem and the fix."""

    def __init__(self, what: str, fix: str = "fix the instruction") -> None:
        super().__init__(what)
        self.fix = fix


class MissingField(StrictUndefined):
    """A name that the row does not have: it can be tested (`if passage`), but not printed."""

    def __bool__(self) -> bool:  # type: ignore[override]  # jinja2's own raises, and its type says so
        return False


def build_environment(*, is_lenient: bool = False) -> Environment:
    """Return the environment of one dataset, to which its author can add globals.

    With `is_lenient`, a missing name prints as an empty text, as in the original.
    """
    environment = BoundedEnvironment(undefined=Undefined if is_lenient else MissingField)
    environment.globals["zip"] = zip
    return environment


Render = Callable[[Mapping[str, Any]], str]


def compile_instruction(text: Any, env: Environment) -> Render:
    """Return the function that fills an instruction; raise InstructionError if it does not parse."""
    if not isinstance(text, str):
        raise InstructionError(f"it is {text!r}, expected a text", 'set instruction = "{question}"')
    try:
        template = compile_jinja(env, text)
    except JinjaFailure as error:
        place = "" if error.line is None else f" (its line {error.line})"
        what = "does not parse" if isinstance(error.error, TemplateSyntaxError) else "cannot be used"
        raise InstructionError(f"it {what}: {error.what}{place}") from error
    is_jinja = bool(template.debug_info) and not _is_constant(template, text)
    # In a lenient environment, missing texts print as "None", as in the original.
    is_strict = issubclass(env.undefined, MissingField)
    bare = _find_bare_fields(text, env, is_jinja=is_jinja) if is_strict else ()
    if is_jinja:
        literals = find_literal_fields(env, text) if is_strict else frozenset[str]()

        def fill(values: Mapping[str, Any]) -> str:
            _check_bare_fields(bare, values)
            for name in literals:
                _check_literal(name, values)
            try:
                return render_jinja(template, values)
            except JinjaFailure as error:
                match = _UNDEFINED.match(error.what) if isinstance(error.error, UndefinedError) else None
                if match is not None:
                    raise _build_missing_error(match[1], values) from error
                raise InstructionError(f"its line {error.line or 1}: {error.what}") from error

        return fill
    has_specs = any(spec for _, _, spec, _ in _parse_format(text))

    def format_values(values: Mapping[str, Any]) -> str:
        _check_bare_fields(bare, values)
        try:
            return _BoundedFormatter().vformat(text, (), values) if has_specs else text.format_map(values)
        except KeyError as error:
            raise _build_missing_error(str(error.args[0]), values) from error
        except InstructionError:
            raise
        except Exception as error:  # `{x.y}` and `{x:5}` call methods of values in the row
            raise InstructionError(describe_exception(error)) from error

    return format_values


def _is_constant(template: Template, text: str) -> bool:
    """Return whether Jinja evaluates everything at compile time; the limits defer a few operators."""
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
    """`str.format` with a limit for widths such as `{x:>999999999}`."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        if spec_width(format_spec) > MAX_CHARACTERS:
            what = f"the width in {format_spec!r:.40} creates more than {MAX_CHARACTERS:,} characters"
            raise InstructionError(what, "write a smaller width")
        return super().format_field(value, format_spec)


def _parse_format(text: str) -> list[tuple[str, str | None, str | None, str | None]]:
    try:
        return list(Formatter().parse(text))
    except ValueError as error:
        raise InstructionError(f"it does not parse: {error}") from error


def _find_bare_fields(text: str, env: Environment, *, is_jinja: bool) -> Sequence[str]:
    """Return the framework's texts that an instruction always shows."""
    if is_jinja:
        outputs = [node for node in env.parse(text).body if isinstance(node, nodes.Output)]
        names = {part.name for output in outputs for part in output.nodes if isinstance(part, nodes.Name)}
    else:
        names = {name for _, name, _, _ in _parse_format(text) if name}
    return [name for name in _MAY_BE_NONE if name in names]


def _check_bare_fields(bare: Sequence[str], values: Mapping[str, Any]) -> None:
    for name in bare:
        if name in values and values[name] is None:
            raise InstructionError(f"it shows {name!r}, which is not available here", _MAY_BE_NONE[name])


def _check_literal(name: str, values: Mapping[str, Any]) -> None:
    """Raise if Jinja would leave `{field}` in the prompt although the field exists."""
    if name in values:
        what = f"it is a Jinja template, in which {{{name}}} is text, not the field {name!r}"
        raise InstructionError(
            what, f"write {{{{ {name} }}}}; to write the braces as text, use {{{{ '{{{name}}}' }}}}"
        )


def _build_missing_error(name: str, values: Mapping[str, Any]) -> InstructionError:
    return InstructionError(
        f"it uses {name!r}, which does not exist{suggest_name(name, values)}",
        f"fix the instruction, or return {name!r} from format_instance",
    )
