"""Jinja templates with limits: steps, characters, depth and time of one rendering are bounded.

Jinja's own sandbox protects the machine, but does not stop endless templates. Here every loop iteration,
call, filter and size-multiplying operator uses a budget. An operator, filter or method whose result can be
much larger than its operands pays for the result before Python creates it. The clock is a last resort. It is
checked between steps, so it works in any thread.

Imports jinja2, so import this module only to compile a template.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import update_wrapper
from string import Formatter
from types import BuiltinMethodType
from typing import Any, cast

from jinja2 import Environment, Template, TemplateError, TemplateSyntaxError, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.nodes import EvalContext
from jinja2.runtime import Context, str_join
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEnvironment
from jinja2.utils import Namespace, generate_lorem_ipsum

MAX_STEPS = 250_000
"""Loop iterations, calls, filters and operators of one rendering."""
MAX_CHARACTERS = 100_000_000
"""Characters created by one rendering, including intermediate values."""
MAX_DEPTH = 100
"""Nested calls, such as a macro that calls itself."""
MAX_INTEGER_BITS = 100_000
MAX_SOURCE = 1_000_000
"""Maximum characters of the template itself."""
MAX_SECONDS = 20.0
"""Processor time. A last resort: the other limits end a rendering much earlier."""
_ITEM = 16
"""The cost of a list item in characters: about its share of memory."""
_CALL = 5
"""The cost of a call or a filter in loop iterations: about the time it takes."""
_CLOCK_EVERY = 64
_UNWATCHED_SECONDS = 0.1
"""Elapsed time before processor time is measured."""
_MOST_YIELDED = 100_000
"""Assumed items of an iterator without a length, such as the result of `map`: ranges are not longer."""
_SHORT = 1_000
"""Texts of this total length: no filter except `format` creates more than about its square."""


_TEXTS = (str, bytes, bytearray)
_COLLECTIONS = (list, tuple, dict, set, frozenset)
_OTHERS = (int, *_TEXTS, *_COLLECTIONS, Mapping, Namespace)
_CONTAINERS = (*_COLLECTIONS, Mapping, Namespace)
_OWNERS = (str, bytes, list, dict, int)
_NUMBERS = (int, float)
_MULTIPLIED = (str, bytes, list, tuple)
_WEIGHTLESS = frozenset((bool, float, type(None)))
_PLAIN = frozenset((int, *_WEIGHTLESS))
_ALL_TEXTS = frozenset((str,))
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


class JinjaLimit(Exception):
    """A template exceeded a limit of one rendering."""


class _Budget:
    """The remaining budget of one rendering."""

    # Class attributes, because one is created for every prompt and must be cheap.
    steps = MAX_STEPS
    characters = MAX_CHARACTERS
    depth = 0
    clock_at = MAX_STEPS - _CLOCK_EVERY
    """The clock is checked when this many steps are left."""
    watch_from = 0.0
    deadline = 0.0

    def step(self, n: int = 1) -> None:
        self.steps -= n
        if self.steps < self.clock_at:
            self.look_at_clock()

    def look_at_clock(self) -> None:
        """Raise if no steps or no time are left."""
        if self.steps < 0:
            raise JinjaLimit(f"it takes more than {MAX_STEPS:,} steps (loop iterations, calls and operators)")
        self.clock_at = self.steps - _CLOCK_EVERY
        # Reading processor time takes microseconds. It is never more than the elapsed time.
        now = time.monotonic()
        if not self.watch_from:
            self.watch_from = now + _UNWATCHED_SECONDS
        elif now > self.watch_from:
            used = time.thread_time()
            self.deadline = self.deadline or used + MAX_SECONDS
            if used > self.deadline:
                raise JinjaLimit(f"it takes longer than {MAX_SECONDS:g} s of processor time")

    def spend(self, characters: int) -> None:
        self.characters -= characters
        if self.characters < 0:
            raise JinjaLimit(f"it creates more than {MAX_CHARACTERS:,} characters")

    # The compiled template calls the next four methods.

    def add(self, *parts: Any) -> Any:
        """Return the sum of values, added from left to right."""
        self.steps -= len(parts)
        if self.steps < self.clock_at:
            self.look_at_clock()
        if _ALL_TEXTS.issuperset(map(type, parts)):
            self.spend(sum(map(len, parts)))
            return "".join(parts)
        total = parts[0]
        for part in parts[1:]:
            total = total + part
            if isinstance(total, _MULTIPLIED):
                self.spend(len(total))
        return total

    def join(self, *parts: Any) -> str:
        """Return the texts of values, concatenated."""
        self.pay(parts)
        return "".join(parts) if _ALL_TEXTS.issuperset(map(type, parts)) else str_join(parts)

    def weigh(self, value: Any) -> Any:
        """Pay for a list, tuple or dict literal of a template, and return it."""
        self.pay(value)
        return value

    def text(self, value: Any) -> str:
        """Return a value as output text. Texts are paid for when they are joined."""
        kind = type(value)
        if kind is str:
            return value  # type: ignore[no-any-return]
        if kind not in _PLAIN and isinstance(value, _CONTAINERS):
            self.pay(value)
        return str(value)

    def pay(self, value: Any) -> None:
        """Spend the cost of writing out a value. Each item examined is a step."""
        kind = type(value)
        if kind is str:
            self.spend(len(value))
            return
        # Each item is a step, so do not examine a list that is too long.
        if (
            (kind is tuple or kind is list)
            and len(value) < self.steps
            and _ALL_TEXTS.issuperset(map(type, value))
        ):
            self.steps -= len(value) + 1
            if self.steps < self.clock_at:
                self.look_at_clock()
            self.spend(sum(map(len, value)) + _ITEM * (len(value) + 1))
            return
        todo = [value]
        n_items = n_characters = 0
        while todo:
            item = todo.pop()
            kind = type(item)
            if kind is str:
                n_characters += len(item)
            elif kind is list or kind is tuple:
                todo += item
            elif kind is dict:
                todo += item.keys()
                todo += item.values()
            elif kind not in _WEIGHTLESS and isinstance(item, _OTHERS):
                self._open(item, todo)
            n_items += 1
            if n_items == _CLOCK_EVERY:
                self.spend(n_characters + _ITEM * n_items)
                self.step(n_items)
                n_items = n_characters = 0
        self.spend(n_characters + _ITEM * n_items)
        self.step(n_items)

    def _open(self, value: Any, todo: list[Any]) -> None:
        if isinstance(value, int):
            self.spend(value.bit_length() >> 2)
        elif isinstance(value, _TEXTS):
            self.spend(len(value))
        elif isinstance(value, Mapping):
            todo += [*value.keys(), *value.values()]
        elif isinstance(value, Namespace):
            todo.append(object.__getattribute__(value, "_Namespace__attrs"))
        else:
            todo += value

    def pay_result(self, result: Any) -> None:
        """Spend the cost of a result whose items were already paid for."""
        kind = type(result)
        if kind is str:
            self.characters -= len(result)
            if self.characters < 0:
                self.spend(0)
        elif kind in _PLAIN:
            pass
        elif isinstance(result, _TEXTS):
            self.spend(len(result))
        elif isinstance(result, _COLLECTIONS):
            self.spend(_ITEM * len(result))


_current: ContextVar[_Budget | None] = ContextVar("budget", default=None)
_current_budget = _current.get


def compile_jinja(environment: Environment, text: str) -> Template:
    """Return a template; raise JinjaFailure with the line if it does not parse or is too large."""
    if len(text) > MAX_SOURCE:
        limit = JinjaLimit(f"the template has {len(text):,} characters, the maximum is {MAX_SOURCE:,}")
        raise JinjaFailure(str(limit), None, limit)
    token = _current.set(_Budget())
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
        _current.reset(token)


def render_jinja(template: Template, values: Mapping[str, Any]) -> str:
    """Return the rendered text; raise JinjaFailure with the line for any exception inside."""
    environment = template.environment
    # The same as Template.render, without the copy of the globals that takes most of its time.
    context = environment.context_class(
        environment, {**environment.globals, **values}, template.name, template.blocks
    )
    token = _current.set(_Budget())
    try:
        return environment.concat(template.root_render_func(context))
    except RecursionError as error:
        limit = JinjaLimit("it calls itself endlessly")
        raise JinjaFailure(str(limit), _line(template, error), limit) from error
    except Exception as error:  # A template is a program and can raise anything.
        raise JinjaFailure(_format_error(error), _line(template, error), error) from error
    finally:
        _current.reset(token)


def _format_error(error: Exception) -> str:
    if isinstance(error, TemplateError | JinjaLimit):
        # Jinja's own errors are sentences.
        return str(error) or type(error).__name__
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _line(template: Template, error: BaseException) -> int | None:
    """Return the innermost line of the template in an error's traceback."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__jinja_template__") is template:
            line = template.get_corresponding_lineno(trace.tb_lineno)
        trace = trace.tb_next
    return line


# ---- costs


def _length(value: Any) -> int:
    """Return the number of characters or items of a value; without a length, the maximum possible."""
    return len(value) if hasattr(value, "__len__") else _MOST_YIELDED


_DIRECTIVE = re.compile(r"%(?:\([^)]*\))?[-#0 +]*(\*|\d+)?(?:\.(\*|\d+))?")


def _percent_widths(text: str | bytes | bytearray, values: Any) -> int:
    """Return how many characters the widths and precisions of `text % values` can add."""
    spelled = text if isinstance(text, str) else text.decode("latin1")
    every = [part for widths in _DIRECTIVE.findall(spelled) for part in widths if part]
    if "*" in every:
        given = values if isinstance(values, tuple) else (values,)
        every += [str(abs(value)) for value in given if isinstance(value, int)]
    return sum(int(part) if len(part) < 12 else MAX_CHARACTERS + 1 for part in every if part != "*")


def _format_widths(text: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:
    """Return how many characters the widths and precisions of `text.format(...)` can add."""
    total = 0
    for _, _, spec, _ in Formatter().parse(text):
        if not spec:
            continue
        total += spec_width(spec)
        if "{" in spec:
            given = [*args, *(kwargs.values() if isinstance(kwargs, Mapping) else ())]
            total += sum(abs(value) for value in given if isinstance(value, int))
            total += sum(spec_width(value) for value in given if isinstance(value, str))
    return total


def spec_width(spec: str) -> int:
    """Return how many characters a format specification such as `>40` can add."""
    return sum(int(part) if len(part) < 12 else MAX_CHARACTERS + 1 for part in re.findall(r"\d+", spec))


def _n_replaced(text: Any, old: Any, new: Any) -> int:
    n = text.count(old) if old else len(text) + 1
    return int(n) * len(new)


_Weigh = Callable[..., int]

_METHODS: dict[str, _Weigh] = {
    "center": lambda text, width, *_: int(width),
    "ljust": lambda text, width, *_: int(width),
    "rjust": lambda text, width, *_: int(width),
    "zfill": lambda text, width: int(width),
    "expandtabs": lambda text, tabsize=8: text.count("\t" if isinstance(text, str) else b"\t") * int(tabsize),
    "replace": lambda text, old, new, *_: _n_replaced(text, old, new),
    "join": lambda text, parts: len(text) * _length(parts),
    "translate": lambda text, table, *_: (
        len(text) * max((_length(value) for value in table.values() if isinstance(value, str)), default=1)
        if isinstance(table, Mapping)
        else len(text)
    ),
    "format": lambda text, *args, **kwargs: _format_widths(text, args, kwargs),
    "format_map": lambda text, values: _format_widths(text, (), values),
    "split": lambda text, *_, **__: _ITEM * len(text) // 2,
    "rsplit": lambda text, *_, **__: _ITEM * len(text) // 2,
    "splitlines": lambda text, *_, **__: _ITEM * len(text) // 2,
    "to_bytes": lambda number, length=1, *_, **__: int(length),
}
"""Methods of built-in values whose result can be much larger than the value and the arguments."""


def _indent_weight(text: Any, width: Any = 4, *_: Any, **__: Any) -> int:
    spelled = str(text)
    return (spelled.count("\n") + 1) * (len(width) if isinstance(width, str) else int(width))


def _wrap_weight(
    text: str, width: int = 79, _long: bool = True, wrapstring: str | None = None, *_: Any
) -> int:
    return len(text) * len(text) // 1000 + len(text) * len(wrapstring or "\n")


def _link_weight(text: str, *args: Any, **kwargs: Any) -> int:
    added = len(str((args, kwargs)))
    return len(text) * len(text) // 1000 + len(text) * (added // 8)


def _json_weight(value: Any, *args: Any, indent: Any = None, **_: Any) -> int:
    widths = [width for width in (*args, indent) if isinstance(width, int | str)]
    width = max((len(width) if isinstance(width, str) else width for width in widths), default=0)
    return MAX_CHARACTERS + 1 if width > 100 else 0


_FILTERS: dict[str, _Weigh] = {
    "center": lambda text, width=80: int(width),
    "indent": _indent_weight,
    "replace": lambda text, old, new, *_: _n_replaced(str(text), str(old), str(new)),
    "join": lambda parts, d="", *_, **__: _length(parts) * len(str(d)),
    "wordwrap": _wrap_weight,
    "urlize": _link_weight,
    "striptags": lambda text: str(text).count("<") * len(str(text)) // 64,
    "format": lambda text, *args, **kwargs: _percent_widths(str(text), tuple(args) or tuple(kwargs.values())),
    "batch": lambda items, linecount, *_: _ITEM * int(linecount),
    "slice": lambda items, slices, *_: _ITEM * int(slices),
    "round": lambda number, precision=0, *_: abs(int(precision)) * 1000,
    "tojson": _json_weight,
    "sum": lambda items, attribute=None, start=0: (
        0 if isinstance(start, int | float) else _length(items) * _length(items)
    ),
    "pprint": lambda value: _ITEM * _length(value) * 8,
    "title": lambda text: _ITEM * len(str(text)) // 2,
    "wordcount": lambda text: _ITEM * len(str(text)) // 2,
    "list": lambda items: _ITEM * _length(items),
}
"""Filters whose result, or whose work, can be much larger than their input."""
_OF_TEXT: dict[str, Callable[[str], Any]] = {
    "capitalize": str.capitalize,
    "count": len,
    "length": len,
    "lower": str.lower,
    "string": str,
    "trim": str.strip,
    "upper": str.upper,
}
"""What filters do with a single plain text; the result is never larger."""
_SHALLOW = frozenset(
    [
        "abs",
        "attr",
        "batch",
        "count",
        "d",
        "default",
        "dictsort",
        "first",
        "float",
        "groupby",
        "int",
        "items",
        "last",
        "length",
        "list",
        "map",
        "max",
        "min",
        "random",
        "reject",
        "rejectattr",
        "reverse",
        "select",
        "selectattr",
        "slice",
        "sort",
        "sum",
        "unique",
    ]
)
"""Filters that do not write out the content of their items."""


def _bound_filter(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    weigh = _FILTERS.get(name)
    is_shallow = name in _SHALLOW
    # The first argument can be Jinja's own: the context or the environment.
    n_own = int(getattr(function, "jinja_pass_arg", None) is not None)
    of_text = _OF_TEXT.get(name)
    # A width such as in `%9999d` is the only number that a text can contain.
    max_short = _SHORT if name != "format" else -1

    def bounded(*args: Any, **kwargs: Any) -> Any:
        budget = _current_budget()
        if budget is None:
            return function(*args, **kwargs)
        budget.steps -= _CALL
        if budget.steps < budget.clock_at:
            budget.look_at_clock()
        own = args[n_own:] if n_own else args
        n_characters, are_texts = 0, not kwargs
        for argument in own:
            if type(argument) is str:
                n_characters += len(argument)
                continue
            are_texts = False
            if not is_shallow:
                budget.pay(argument)
            elif type(argument) is list:
                n_characters += _ITEM * len(argument)
            else:
                budget.pay_result(argument)
        if are_texts and of_text is not None and len(own) == 1:
            budget.spend(2 * n_characters)
            return of_text(own[0])
        if are_texts and n_characters <= max_short:
            result = function(*args)
            budget.spend(n_characters)
            budget.pay_result(result)
            return result
        budget.spend(n_characters)
        if kwargs:
            budget.pay(kwargs)
        if weigh is not None:
            budget.spend(_weight(weigh, own, kwargs))
        result = function(*args, **kwargs)
        budget.pay_result(result)
        return result

    wrapped = update_wrapper(_bound_join(bounded) if name == "join" else bounded, function)
    wrapped.is_bounded = True  # type: ignore[attr-defined]
    return wrapped


def _bound_join(bounded: Callable[..., str]) -> Callable[..., str]:
    def join(eval_ctx: EvalContext, value: Any, d: Any = "", attribute: Any = None) -> str:
        # Count the items of a generator before joining them.
        parts = value if hasattr(value, "__len__") else list(value)
        budget = _current_budget()
        is_plain = type(parts) is list and type(d) is str and attribute is None and not eval_ctx.autoescape
        if budget is None or not is_plain or not _ALL_TEXTS.issuperset(map(type, parts)):
            return bounded(eval_ctx, parts, d, attribute)
        budget.step(_CALL)
        budget.pay(parts)
        budget.spend(2 * len(parts) * len(d))
        return cast("str", d.join(parts))

    return join


def _weight(weigh: _Weigh, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:
    try:
        return max(weigh(*args, **kwargs), 0)
    except (TypeError, ValueError, AttributeError, OverflowError):
        return 0  # The call itself reports what is wrong with its arguments.


def _lorem_ipsum(n: int = 5, html: bool = True, min: int = 20, max: int = 100) -> str:
    """Return Jinja's placeholder text, paid for in advance: a word takes about a microsecond."""
    if (budget := _current_budget()) is not None:
        budget.spend(abs(n) * abs(max) * 64)
    return generate_lorem_ipsum(n, html, min, max)


# ---- environment


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
                self.filters[name] = _bound_filter(name, function)
        self.globals["lipsum"] = _lorem_ipsum

    @staticmethod
    def current_budget() -> _Budget:
        """Return the budget of the current rendering in this thread; called when a template starts."""
        return _current_budget() or _Budget()

    @staticmethod
    def concat(parts: Iterable[str]) -> str:
        """Join the pieces of a rendering."""
        if (budget := _current_budget()) is None:
            return "".join(parts)
        pieces = list(parts)
        budget.spend(sum(map(len, pieces)))
        return "".join(pieces)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a macro, a function or a method."""
        budget = _current_budget()
        if budget is None:
            return super().call(__context, __obj, *args, **kwargs)
        budget.step(_CALL)
        if args:
            budget.pay(args)
        if kwargs:
            budget.pay({name: value for name, value in kwargs.items() if name not in _SCOPES})
        _pay_for_method(budget, __obj, args, kwargs)
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
        if (budget := _current_budget()) is None:
            return super().call_binop(context, operator, left, right)
        budget.step()
        if isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS):
            _require_small(operator, left, right)
        elif operator == "*":
            times, value = (left, right) if isinstance(left, int) else (right, left)
            if isinstance(times, int) and isinstance(value, _MULTIPLIED):
                is_text = isinstance(value, _TEXTS)
                budget.spend(max(times, 0) * len(value) * (1 if is_text else _ITEM))
        elif operator == "%" and isinstance(left, _TEXTS):
            budget.pay(right)
            budget.spend(len(left) + _percent_widths(left, right))
        return super().call_binop(context, operator, left, right)


def _pay_for_method(budget: _Budget, method: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    if type(method) is not BuiltinMethodType:
        method = getattr(method, "__wrapped__", method)  # Jinja wraps str.format
    owner = getattr(method, "__self__", None)
    if not isinstance(owner, _OWNERS):
        return
    if not isinstance(owner, int):
        budget.spend(len(owner) // 4)
    if (weigh := _METHODS.get(method.__name__)) is not None:
        budget.spend(_weight(weigh, (owner, *args), kwargs))


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
