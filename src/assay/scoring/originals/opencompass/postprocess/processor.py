"""The post-processor type: the original's and Assay's way of finding an answer, and their difference."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeAlias, get_type_hints

import msgspec

from assay.core.difference import Difference
from assay.core.errors import explain_type_error, listing, suggest_name

FindAnswer: TypeAlias = Callable[..., str | None]
"""Takes a reply and returns the answer in it. Keyword-only, typed parameters are arguments that a config may
set."""


class PostProcessor(NamedTuple):
    """One named way of finding the answer in a reply. Transforms also apply it to targets."""

    original: FindAnswer
    """The original's result for anything models write; a partial LaTeX command may give another result."""
    corrected: FindAnswer
    """The same without clear errors, with the same arguments; the same function if there are none."""
    difference: Difference[object] | None = None
    """None: both return the same, except for an empty answer."""
    sees_reasoning: bool = False
    """Whether it also sees the model's reasoning."""

    def __call__(self, text: str, faithful: bool = False) -> str | None:
        """Return the answer, or None. The original's empty answer is None unless `faithful`."""
        if faithful:
            return self.original(text)
        answer = self.corrected(text)
        return answer if answer and not answer.isspace() else None


def make_unchanged(find: FindAnswer) -> PostProcessor:
    """Return a post-processor whose original needs no correction."""
    return PostProcessor(find, find)


def bind_arguments(name: str, process: PostProcessor, given: Mapping[str, Any]) -> PostProcessor:
    """Return a post-processor with its arguments bound; ValueError if they do not fit.

    Both functions are called with an empty text, so that an invalid value raises here.
    """
    parameters = inspect.signature(process.original).parameters.values()
    known = {one.name: one for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY}
    for argument in given:
        if argument not in known:
            expected = f"one of {listing(known)}" if known else "none"
            raise ValueError(
                f"the post-processor {name!r} has no argument {argument!r}{suggest_name(argument, known)}; "
                f"expected {expected}"
            )
    for argument, parameter in known.items():
        if parameter.default is inspect.Parameter.empty and argument not in given:
            raise ValueError(f"the post-processor {name!r} needs the argument {argument!r}")
    types = get_type_hints(process.original)
    for argument, value in given.items():
        try:
            msgspec.convert(value, types[argument])
        except msgspec.ValidationError as error:
            why = explain_type_error(error)
            raise ValueError(
                f"the post-processor {name!r}: the argument {argument!r} is {value!r:.80}; {why}"
            ) from None
    bound = process._replace(
        original=partial(process.original, **given), corrected=partial(process.corrected, **given)
    )
    for find in (bound.original, bound.corrected):
        try:
            find("")
        except ValueError as error:
            raise ValueError(f"the post-processor {name!r}: {error}") from error
    return bound
