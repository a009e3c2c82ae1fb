"""The small functions that task files import from `utils`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_REPLACED = ((" n't", "n't"), (" )", ")"), ("( ", "("), ('" ', '"'), (' "', '"'))
_SPACED_MARK = re.compile(r" (['.,])")


def general_detokenize(string: str) -> str:
    """Return a text of separate tokens with the marks joined to their words again."""
    for spaced, joined in _REPLACED:
        string = string.replace(spaced, joined)
    return _SPACED_MARK.sub(r"\1", string)


def positional_deprecated(fn: F) -> F:
    """Return the function: what the original says about arguments without names, nobody needs to hear."""
    return fn


UTILITIES: dict[str, Any] = {
    "general_detokenize": general_detokenize,
    "positional_deprecated": positional_deprecated,
}
"""All of them, by name."""
