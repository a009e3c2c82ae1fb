"""Jinja templates with limits: steps, characters, depth and time of one rendering are bounded.

Jinja's own sandbox protects the machine, but does not stop endless templates. Here every loop iteration,
call, filter and size-multiplying operator uses a budget (`jinja_budget`). An operator, filter or method whose
result can be much larger than its operands pays for the result before Python creates it (`jinja_costs`). The
clock is a last resort. It is checked between steps, so it works in any thread.

Imports jinja2, so import this module only to compile a template.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import BuiltinMethodType
from typing import Any

from jinja2 import Environment, Template, TemplateError, TemplateSyntaxError, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEnvironment

from assay.core.errors import describe_exception
from assay.core.jinja_budget import (
    CALL,
    ITEM,
    MULTIPLIED,
    TEXTS,
    Budget,
    JinjaLimit,
    current_budget,
    running_budget,
)
from assay.core.jinja_costs import build_bounded_filter, pay_for_method, percent_widths, write_lorem_ipsum

MAX_DEPTH = 100
"""Nested calls, such as a macro that calls itself."""
MAX_INTEGER_BITS = 100_000
MAX_SOURCE = 1_000_000
"""Maximum characters of the template itself."""
NUMBERS = (int, float)
_SCOPES = frozenset(("_loop_vars", "_block_vars"))
"""Arguments that Jinja adds to calls inside loops and blocks."""


class JinjaFailure(Exception):
    """A template could not be compiled or rendered. The caller adds the row and the file."""

    def __init__(self, what: str, line: int | None = None, error: BaseException | None = None) -> None:
        super().__init__(what if line is None else f"template line {line}: {what}")
        self.what = what
        self.line = line
        """The line of the template, counted from 1, if known."""
        self.error = error
        """The exception raised inside the template, if any."""

    @property
    def is_limit(self) -> bool:
        """Whether the template exceeded a limit, so that other rows will fail too."""
        return isinstance(self.error, JinjaLimit)


def compile_jinja(environment: Environment, text: str) -> Template:
    """Return a template; raise JinjaFailure with the line if it does not parse or is too large."""
    if len(text) > MAX_SOURCE:
        limit = JinjaLimit(f"the template has {len(text):,} characters, the maximum is {MAX_SOURCE:,}")
        raise JinjaFailure(str(limit), None, limit)
    token = running_budget.set(Budget())
    try:
        # Jinja evaluates constant expressions during compilation.
        return environment.from_string(text)
    except TemplateSyntaxError as error:
        raise JinjaFailure(error.message or "it does not parse", error.lineno, error) from error
    except RecursionError as error:
        raise JinjaFailure("expressions or blocks are nested too deeply", None, error) from error
    except Exception as error:  # For example, Python's compiler rejects too many nested loops.
        raise JinjaFailure(_format_error(error), None, error) from error
    finally:
        running_budget.reset(token)


def render_jinja(template: Template, values: Mapping[str, Any]) -> str:
    """Return the rendered text; raise JinjaFailure with the line for any exception inside."""
    environment = template.environment
    # The same as Template.render, without the copy of the globals that takes most of its time.
    context = environment.context_class(
        environment, {**environment.globals, **values}, template.name, template.blocks
    )
    token = running_budget.set(Budget())
    try:
        return environment.concat(template.root_render_func(context))
    except RecursionError as error:
        limit = JinjaLimit("it calls itself endlessly")
        raise JinjaFailure(str(limit), _line(template, error), limit) from error
    except Exception as error:  # A template is a program and can raise anything.
        raise JinjaFailure(_format_error(error), _line(template, error), error) from error
    finally:
        running_budget.reset(token)


def _format_error(error: Exception) -> str:
    if isinstance(error, TemplateError | JinjaLimit):
        # Jinja's own errors are sentences.
        return str(error) or type(error).__name__
    return describe_exception(error)


def _line(template: Template, error: BaseException) -> int | None:
    """Return the innermost line of the template in an error's traceback."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__jinja_template__") is template:
            line = template.get_corresponding_lineno(trace.tb_lineno)
        trace = trace.tb_next
    return line


class _Generator(CodeGenerator):
    """Generates the same code as Jinja, but with calls that use the budget."""

    def write_commons(self) -> None:
        super().write_commons()
        self.writeline("budget = environment.current_budget()")

    def blockvisit(self, nodes_: Iterable[nodes.Node], frame: Frame) -> None:
        every = list(nodes_)
        n = sum(len(node.nodes) if isinstance(node, nodes.Output) else 1 for node in every)
        # `budget.step` inlined.
        self.writeline(f"budget.steps -= {n + 1}")
        self.writeline("if budget.steps < budget.clock_at: budget.look_at_clock()")
        super().blockvisit(every, frame)

    def visit_Add(self, node: nodes.BinExpr, frame: Frame) -> None:
        parts: list[nodes.Expr] = [node]
        while isinstance(first := parts[0], nodes.Add):
            parts[:1] = [first.left, first.right]
        self._call("add", parts, frame)

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        if frame.eval_ctx.autoescape:
            self.write("markup_join(")
            self._write_weighed(super().visit_Tuple, nodes.Tuple(node.nodes, "load"), frame)
            self.write(")")
        else:
            self._call("join", node.nodes, frame)

    def _call(self, method: str, arguments: Iterable[nodes.Expr], frame: Frame) -> None:
        self.write(f"budget.{method}(")
        for argument in arguments:
            self.visit(argument, frame)
            self.write(", ")
        self.write(")")

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        if frame.eval_ctx.volatile or frame.eval_ctx.autoescape:
            super()._output_child_pre(node, frame, finalize)
            self.write("budget.weigh(")
        else:
            self.write("budget.text(")

    def _output_child_post(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        if frame.eval_ctx.volatile or frame.eval_ctx.autoescape:
            self.write(")")
        super()._output_child_post(node, frame, finalize)

    def visit_List(self, node: nodes.List, frame: Frame) -> None:
        self._write_weighed(super().visit_List, node, frame)

    def visit_Dict(self, node: nodes.Dict, frame: Frame) -> None:
        self._write_weighed(super().visit_Dict, node, frame)

    def visit_Tuple(self, node: nodes.Tuple, frame: Frame) -> None:
        if node.ctx == "load":
            self._write_weighed(super().visit_Tuple, node, frame)
        else:
            super().visit_Tuple(node, frame)

    def _write_weighed(self, visit: Callable[[Any, Frame], None], node: nodes.Node, frame: Frame) -> None:
        self.write("budget.weigh(")
        visit(node, frame)
        self.write(")")


class _Bounds(SandboxedEnvironment):
    """Base class of both bounded sandboxes."""

    code_generator_class = _Generator
    intercepted_binops = frozenset(("*", "**", "%"))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.bound()

    def bound(self) -> None:
        """Make the registered filters and functions use the budget."""
        for name, function in self.filters.items():
            if not getattr(function, "is_bounded", False):
                self.filters[name] = build_bounded_filter(name, function)
        self.globals["lipsum"] = write_lorem_ipsum

    @staticmethod
    def current_budget() -> Budget:
        """Return the budget of the current rendering in this thread; called when a template starts."""
        return current_budget() or Budget()

    @staticmethod
    def concat(parts: Iterable[str]) -> str:
        """Join the pieces of a rendering."""
        if (budget := current_budget()) is None:
            return "".join(parts)
        pieces = list(parts)
        budget.spend(sum(map(len, pieces)))
        return "".join(pieces)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a macro, a function or a method."""
        budget = current_budget()
        if budget is None:
            return super().call(__context, __obj, *args, **kwargs)
        budget.step(CALL)
        if args:
            budget.pay(args)
        if kwargs:
            budget.pay({name: value for name, value in kwargs.items() if name not in _SCOPES})
        pay_for_method(budget, __obj, args, kwargs)
        if type(__obj) is BuiltinMethodType and type(__obj.__self__) is str:
            # Neither a macro of the template nor anything that the sandbox forbids.
            result = __obj(*args, **{name: value for name, value in kwargs.items() if name not in _SCOPES})
            budget.pay_result(result)
            return result
        budget.depth += 1
        if budget.depth > MAX_DEPTH:
            raise JinjaLimit(f"calls are nested more than {MAX_DEPTH} deep, as in a macro that calls itself")
        result = super().call(__context, __obj, *args, **kwargs)
        budget.depth -= 1
        budget.pay_result(result)
        return result

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Evaluate an operator after paying for its result."""
        if (budget := current_budget()) is None:
            return super().call_binop(context, operator, left, right)
        budget.step()
        if isinstance(left, NUMBERS) and isinstance(right, NUMBERS):
            _require_small(operator, left, right)
        elif operator == "*":
            times, value = (left, right) if isinstance(left, int) else (right, left)
            if isinstance(times, int) and isinstance(value, MULTIPLIED):
                is_text = isinstance(value, TEXTS)
                budget.spend(max(times, 0) * len(value) * (1 if is_text else ITEM))
        elif operator == "%" and isinstance(left, TEXTS):
            budget.pay(right)
            budget.spend(len(left) + percent_widths(left, right))
        return super().call_binop(context, operator, left, right)


def _require_small(operator: str, left: Any, right: Any) -> None:
    if not isinstance(left, int) or not isinstance(right, int) or operator == "%":
        return
    bits = left.bit_length() * max(right, 0) if operator == "**" else left.bit_length() + right.bit_length()
    if bits > MAX_INTEGER_BITS:
        raise JinjaLimit(f"it computes an integer of more than {MAX_INTEGER_BITS:,} bits")


class BoundedEnvironment(_Bounds):
    """Jinja's sandbox with limits."""


class BoundedImmutableEnvironment(_Bounds, ImmutableSandboxedEnvironment):
    """Jinja's sandbox with limits, in which templates cannot change the lists and dicts they receive."""
