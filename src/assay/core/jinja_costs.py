"""What filters and methods cost a template: a result much larger than its input is paid for in advance."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from string import Formatter
from types import BuiltinMethodType
from typing import Any, cast

from jinja2.nodes import EvalContext
from jinja2.utils import generate_lorem_ipsum

from assay.core.jinja_budget import ALL_TEXTS, CALL, ITEM, MAX_CHARACTERS, Budget, current_budget

_MOST_YIELDED = 100_000
"""Assumed items of an iterator without a length, such as the result of `map`: ranges are not longer."""
_SHORT = 1_000
"""Texts of this total length: no filter except `format` creates more than about its square."""
OWNERS = (str, bytes, list, dict, int)


def _length(value: Any) -> int:
    """Return the number of characters or items of a value; without a length, the maximum possible."""
    return len(value) if hasattr(value, "__len__") else _MOST_YIELDED


_DIRECTIVE = re.compile(r"%(?:\([^)]*\))?[-#0 +]*(\*|\d+)?(?:\.(\*|\d+))?")


def percent_widths(text: str | bytes | bytearray, values: Any) -> int:
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
    "split": lambda text, *_, **__: ITEM * len(text) // 2,
    "rsplit": lambda text, *_, **__: ITEM * len(text) // 2,
    "splitlines": lambda text, *_, **__: ITEM * len(text) // 2,
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
    "format": lambda text, *args, **kwargs: percent_widths(str(text), tuple(args) or tuple(kwargs.values())),
    "batch": lambda items, linecount, *_: ITEM * int(linecount),
    "slice": lambda items, slices, *_: ITEM * int(slices),
    "round": lambda number, precision=0, *_: abs(int(precision)) * 1000,
    "tojson": _json_weight,
    "sum": lambda items, attribute=None, start=0: (
        0 if isinstance(start, int | float) else _length(items) * _length(items)
    ),
    "pprint": lambda value: ITEM * _length(value) * 8,
    "title": lambda text: ITEM * len(str(text)) // 2,
    "wordcount": lambda text: ITEM * len(str(text)) // 2,
    "list": lambda items: ITEM * _length(items),
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


def build_bounded_filter(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter that pays for its result."""
    weigh = _FILTERS.get(name)
    is_shallow = name in _SHALLOW
    # The first argument can be Jinja's own: the context or the environment.
    n_own = int(getattr(function, "jinja_pass_arg", None) is not None)
    of_text = _OF_TEXT.get(name)
    # A width such as in `%9999d` is the only number that a text can contain.
    max_short = _SHORT if name != "format" else -1

    def bounded(*args: Any, **kwargs: Any) -> Any:
        budget = current_budget()
        if budget is None:
            return function(*args, **kwargs)
        budget.steps -= CALL
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
                n_characters += ITEM * len(argument)
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

    wrapped = update_wrapper(_build_bounded_join(bounded) if name == "join" else bounded, function)
    wrapped.is_bounded = True  # type: ignore[attr-defined]
    return wrapped


def _build_bounded_join(bounded: Callable[..., str]) -> Callable[..., str]:
    def join(eval_ctx: EvalContext, value: Any, d: Any = "", attribute: Any = None) -> str:
        # Count the items of a generator before joining them.
        parts = value if hasattr(value, "__len__") else list(value)
        budget = current_budget()
        is_plain = type(parts) is list and type(d) is str and attribute is None and not eval_ctx.autoescape
        if budget is None or not is_plain or not ALL_TEXTS.issuperset(map(type, parts)):
            return bounded(eval_ctx, parts, d, attribute)
        budget.step(CALL)
        budget.pay(parts)
        budget.spend(2 * len(parts) * len(d))
        return cast("str", d.join(parts))

    return join


def _weight(weigh: _Weigh, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:
    try:
        return max(weigh(*args, **kwargs), 0)
    except (TypeError, ValueError, AttributeError, OverflowError):
        return 0  # The call itself reports what is wrong with its arguments.


def write_lorem_ipsum(n: int = 5, html: bool = True, min: int = 20, max: int = 100) -> str:
    """Return Jinja's placeholder text, paid for in advance: a word takes about a microsecond."""
    if (budget := current_budget()) is not None:
        budget.spend(abs(n) * abs(max) * 64)
    return generate_lorem_ipsum(n, html, min, max)


def pay_for_method(budget: Budget, method: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Spend the cost of a call of a built-in value's method."""
    if type(method) is not BuiltinMethodType:
        method = getattr(method, "__wrapped__", method)  # Jinja wraps str.format
    owner = getattr(method, "__self__", None)
    if not isinstance(owner, OWNERS):
        return
    if not isinstance(owner, int):
        budget.spend(len(owner) // 4)
    if (weigh := _METHODS.get(method.__name__)) is not None:
        budget.spend(_weight(weigh, (owner, *args), kwargs))
