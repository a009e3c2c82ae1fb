"""What a post-processor is: two ways of finding an answer, and in words how they differ."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeAlias, get_type_hints

import msgspec

from assay.core.errors import listing, suggest_name
from assay.scoring.differences import Difference

FindAnswer: TypeAlias = Callable[..., str | None]
"""Takes what a model wrote and returns the answer in it. Keyword-only parameters are its arguments, which a
config may give; they have types."""


class PostProcessor(NamedTuple):
    """One named way of finding the answer in what a model wrote. Transforms use it on right answers too."""

    original: FindAnswer
    """What the original returns of anything that models write; of half a LaTeX command it can be another."""
    corrected: FindAnswer
    """The same without what is plainly wrong, with the same arguments; the same function where nothing is."""
    difference: Difference | None = None
    """None: the two return the same, but for an empty answer."""
    sees_reasoning: bool = False
    """Whether it is given what the model thought before it spoke, too."""

    def __call__(self, text: str, faithful: bool = False) -> str | None:
        """Return the answer, None for none. The original's empty answer is none, unless it is asked for."""
        if faithful:
            return self.original(text)
        answer = self.corrected(text)
        return answer if answer and not answer.isspace() else None


def make_unchanged(find: FindAnswer) -> PostProcessor:
    """Return a post-processor of which the original is right as it is."""
    return PostProcessor(find, find)


def bind_arguments(name: str, process: PostProcessor, given: Mapping[str, Any]) -> PostProcessor:
    """Return a post-processor with its arguments; ValueError when they do not fit, before any text is read.

    Both its ways are tried on an empty text, so that a value which only they understand says so here.
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
            raise ValueError(
                f"the post-processor {name!r}: the argument {argument!r} is {value!r:.80}; {error}"
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
