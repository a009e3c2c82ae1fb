"""Giving a post-processor its arguments: wrong names, missing ones and wrong values are found here."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any, get_type_hints

import msgspec

from assay.core.errors import listing, suggest_name
from assay.scoring.originals.opencompass.postprocess.processor import PostProcessor


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
