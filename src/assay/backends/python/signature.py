"""What a function takes: a prompt, the messages of a conversation, or a batch of either."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

from assay.backends.problems import python_object_error
from assay.core.errors import listing

Takes: TypeAlias = Literal["prompt", "messages", "prompts", "conversations"]

_BY_NAME: dict[str, Takes] = {
    "messages": "messages",
    "conversation": "messages",
    "chat": "messages",
    "prompts": "prompts",
    "texts": "prompts",
    "batch": "prompts",
    "conversations": "conversations",
}
"""What a parameter without a type takes; any other name takes one prompt."""
_LISTS = ("list", "List", "Sequence", "Iterable", "Collection", "tuple")
_SAMPLING = ("max_tokens", "temperature", "top_p", "stop", "seed")
"""Sampling parameters that a function receives if it has parameters with these names."""


class FunctionSignature(NamedTuple):
    """How to call a function."""

    takes: Takes
    is_async: bool
    parameters: tuple[str, ...]
    """The sampling parameters that it accepts."""

    @property
    def is_batched(self) -> bool:
        """Whether one call receives several prompts."""
        return self.takes in ("prompts", "conversations")


def read_signature(name: str, function: Callable[..., Any], takes: Takes | None) -> FunctionSignature:
    """Return how to call a function, or raise PYTHON-003 if it cannot be called with one argument."""
    is_async = _is_async(function)
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        # Some functions written in C have no signature.
        return FunctionSignature(takes or "prompt", is_async, ())
    positional = [
        one
        for one in parameters.values()
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD, one.VAR_POSITIONAL)
    ]
    if not positional:
        what = f"{name} takes no positional argument, so it cannot receive a prompt"
        raise python_object_error(what, "write it as def answer(prompt: str) -> str")
    required = [one.name for one in parameters.values() if _is_required(one)]
    known = (positional[0].name, *_SAMPLING)
    if others := [one for one in required if one not in known]:
        what = f"{name} needs more than a prompt: {listing(others)}"
        fix = "give these parameters defaults, or bind them with functools.partial"
        raise python_object_error(what, fix)
    accepted = tuple(one for one in _SAMPLING if one in parameters and one != positional[0].name)
    return FunctionSignature(takes or _find_taken(positional[0]), is_async, accepted)


def _is_required(one: inspect.Parameter) -> bool:
    return one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)


def _is_async(function: Callable[..., Any]) -> bool:
    while hasattr(function, "func") and not inspect.isroutine(function):
        function = function.func  # A functools.partial.
    call = inspect.getattr_static(type(function), "__call__", None)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def _find_taken(parameter: inspect.Parameter) -> Takes:
    """Return what a function's first parameter takes, by its type or else by its name."""
    if parameter.annotation is not parameter.empty:
        kind = _find_annotated(parameter.annotation)
        if kind is not None:
            return kind
    return _BY_NAME.get(parameter.name, "prompt")


def _find_annotated(annotation: Any) -> Takes | None:
    """Return what a type takes: `str`, `list[dict]`, `list[str]` or `list[list[dict]]`; None if unclear."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = text.replace("typing.", "").replace("collections.abc.", "").replace(" ", "")
    outer, _, inner = text.partition("[")
    if outer == "str":
        return "prompt"
    if outer not in _LISTS or not inner:
        return None
    if inner.startswith("str"):
        return "prompts"
    return "conversations" if inner.partition("[")[0] in _LISTS else "messages"
