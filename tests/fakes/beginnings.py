"""What texts have in common at their beginning."""

from __future__ import annotations

from collections.abc import Sequence


def common_beginning(texts: Sequence[str]) -> str:
    """Return the longest beginning that all texts share; of one text, all of it."""
    first, last = min(texts), max(texts)
    differs = next(
        (at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), None
    )
    return first if differs is None else first[:differs]
