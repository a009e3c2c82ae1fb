"""Plain English without end: words of sentences about nothing in particular, by a generator.

Every stream of words begins with its own number, spelled as a person's name, trade and town, so that no two
texts of a load begin alike: a server that keeps beginnings would otherwise look faster than it is. Knows no
tokens.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from random import Random
from typing import NamedTuple

from assay.core.ids import draw

_SPELLING = "NFRO"
"""The lists that an opening spells its number with, the fastest first."""
_OPENING = ("{N}", " {F},", " a", " {R}", " from", " {O},", " asks", " for", " a", " long", " answer.")
_SENTENCES_OF_A_PARAGRAPH = 6
N_OPENINGS = 64**4


class _Language(NamedTuple):
    words: Mapping[str, Sequence[str]]
    """Lists of words by the letter that stands for one of them."""
    patterns: Sequence[Sequence[tuple[Sequence[str], str]]]
    """Sentences: for each word what it is chosen from, and the punctuation behind it."""


@cache
def _language() -> _Language:
    read = tomllib.loads(files(__package__).joinpath("words.toml").read_text(encoding="utf-8"))
    words = {letter: text.split() for letter, text in read["words"].items()}
    patterns = []
    for pattern in read["sentences"]["patterns"]:
        slots = []
        for written in pattern.split():
            bare = written.rstrip(".,?:")
            slots.append((words.get(bare, (bare,)), written[len(bare) :]))
        patterns.append(slots)
    return _Language(words, patterns)


def words_of(seed: int, purpose: str, number: int) -> Iterator[str]:
    """Yield words without end, each with the white space before it; they depend on these three alone.

    Streams of one seed and purpose begin differently as long as their numbers differ by less than
    N_OPENINGS.
    """
    yield from _opening(seed, purpose, number)
    made = draw(seed, purpose, str(number), "words")
    while True:
        for at in range(_SENTENCES_OF_A_PARAGRAPH):
            yield from _sentence(made, " " if at else "\n\n")


def _opening(seed: int, purpose: str, number: int) -> Iterator[str]:
    """Yield a sentence that spells the number. Steps of an odd size go once through all openings, whose
    number is a power of two, and neighbours have different first words.
    """
    order = draw(seed, purpose, "openings")
    step, start = order.randrange(1, N_OPENINGS, 2), order.randrange(N_OPENINGS)
    rest = (number * step + start) % N_OPENINGS
    chosen = {}
    for letter in _SPELLING:
        words = _language().words[letter]
        rest, at = divmod(rest, len(words))
        chosen[letter] = words[at]
    for word in _OPENING:
        yield word.format_map(chosen)


def _sentence(made: Random, before: str) -> Iterator[str]:
    patterns = _language().patterns
    is_first = True
    for choices, behind in patterns[int(made.random() * len(patterns))]:
        word = choices[int(made.random() * len(choices))]
        yield f"{before}{word[0].upper()}{word[1:]}{behind}" if is_first else f" {word}{behind}"
        is_first = False
