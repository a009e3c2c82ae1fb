"""Valid values of sampling parameters: one rule for dialects, the command line and the server."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

import msgspec

Length: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
"""Maximum length of an answer, in tokens."""
Temperature: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1000)]
"""0 is greedy."""
TopP: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=1)]
Repeats: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
"""Number of answers drawn."""
TopK: TypeAlias = Annotated[int, msgspec.Meta(ge=-1)]
"""-1 or 0: all tokens."""
MinP: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1)]
RepetitionPenalty: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=1000)]
Penalty: TypeAlias = Annotated[float, msgspec.Meta(ge=-1000, le=1000)]

_LENGTH_NAMES = (
    *("max_tokens", "max_new_tokens", "max_completion_tokens", "max_out_len", "max_gen_toks"),
    "max_length",
)
_REPEAT_NAMES = ("n", "num_return_sequences", "sampling_num", "samples", "best_of", "num_beams", "sc_size")
_BOUNDS: Mapping[str, tuple[Any, str]] = {
    **dict.fromkeys(_LENGTH_NAMES, (Length, "a whole number of tokens, 1 or more")),
    **dict.fromkeys(_REPEAT_NAMES, (Repeats, "a whole number, 1 or more")),
    "temperature": (Temperature, "a number, 0 or more; 0 is greedy"),
    "top_p": (TopP, "a number above 0 and at most 1; 1 takes all tokens"),
    "top_k": (TopK, "a whole number, 1 or more; -1 takes all tokens"),
    "min_p": (MinP, "a number from 0 to 1"),
    "repetition_penalty": (RepetitionPenalty, "a number above 0; 1 changes nothing"),
    "presence_penalty": (Penalty, "a number"),
    "frequency_penalty": (Penalty, "a number"),
}


def describe_expected_value(name: str, value: Any) -> str | None:
    """Return what was expected if a value is not valid for a parameter; None if it is, or if unknown.

    A number can be written as text, as on a command line. None is always valid.
    """
    if value is None or name not in _BOUNDS:
        return None
    kind, expected = _BOUNDS[name]
    if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        return expected
    try:
        msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError:
        return expected
    return None
