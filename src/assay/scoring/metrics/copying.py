"""How much of a text is taken from another: extractiveness of summaries, memorised text."""

from __future__ import annotations

import re
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

_WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")


class Extractiveness(NamedTuple):
    """How a summary copies its source, after Grusky, Naaman and Artzi (2018)."""

    coverage: float
    """Share of the summary's words that stand in copied fragments."""
    density: float
    """Mean length of the fragment that a word of the summary stands in."""
    compression: float
    """Words of the source per word of the summary."""


def extractiveness(summary: str, source: str) -> Extractiveness:
    """Return what a summary shares with its source, in words and marks as they are spelled."""
    got, given = _WORD_OR_MARK.findall(summary), _WORD_OR_MARK.findall(source)
    if not got:
        raise ValueError("the summary has no words")
    lengths = _fragments(got, given)
    return Extractiveness(
        sum(lengths) / len(got), sum(length * length for length in lengths) / len(got), len(given) / len(got)
    )


def _fragments(summary: list[str], source: list[str]) -> list[int]:
    """Return the fragments' lengths: at each word the longest run that the source has, then the next."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(source):
        places.setdefault(word, []).append(place)
    lengths, at = [], 0
    while at < len(summary):
        longest = max(
            (_common_prefix(summary, at, source, place) for place in places.get(summary[at], ())), default=0
        )
        if longest:
            lengths.append(longest)
        at += max(1, longest)
    return lengths


def _common_prefix(one: list[str], start: int, other: list[str], other_start: int) -> int:
    length, most = 0, min(len(one) - start, len(other) - other_start)
    while length < most and one[start + length] == other[other_start + length]:
        length += 1
    return length


class Memorised(NamedTuple):
    """How near a completion is to the text that it may have been learned from, in words by white space."""

    common_prefix: int
    """Words before the first that differs."""
    edit_distance: int
    edit_similarity: float
    """1 - distance / words of the longer text; 1 for two empty texts."""


def memorised(completion: str, original: str) -> Memorised:
    """Return how much of an original text a completion repeats."""
    got, given = completion.split(), original.split()
    return Memorised(
        _common_prefix(got, 0, given, 0),
        Levenshtein.distance(got, given),
        Levenshtein.normalized_similarity(got, given),
    )
