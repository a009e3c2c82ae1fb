"""Plain English without end: words of sentences about nothing in particular, by a generator.

Every stream of words begins with its own number, spelled as a person's name, trade and town, so that no two
texts of a load begin alike: a server that keeps beginnings would otherwise look faster than it is. Knows no
tokens.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple, TypeAlias

from assay.core.ids import make_random

_SPELLING = "NFRO"
"""The lists that an opening spells its number with, the fastest first."""
_OPENING = ("{N}", " {F},", " a", " {R}", " from", " {O},", " asks", " for", " a", " long", " answer.")
_SENTENCES_OF_A_PARAGRAPH = 6
N_OPENINGS = 64**4


_Slot: TypeAlias = str | tuple[str, ...]
"""A word as it is written, or those of which one is chosen; each with its space and its punctuation, so that
making a sentence is choosing alone: a load may need a million words a second."""


class _Language(NamedTuple):
    words: Mapping[str, Sequence[str]]
    """Lists of words by the letter that stands for one of them."""
    patterns: Sequence[Sequence[_Slot]]
    """Sentences. The first word is capital, and has no space before it."""


@cache
def _language() -> _Language:
    read = tomllib.loads(files(__package__).joinpath("words.toml").read_text(encoding="utf-8"))
    words = {letter: text.split() for letter, text in read["words"].items()}
    return _Language(words, [_pattern(text, words) for text in read["sentences"]["patterns"]])


def _pattern(text: str, words: Mapping[str, Sequence[str]]) -> Sequence[_Slot]:
    slots: list[_Slot] = []
    for written in text.split():
        bare = written.rstrip(".,?:")
        behind = written[len(bare) :]
        chosen_from = words.get(bare, (bare,))
        if slots:
            made = tuple(f" {word}{behind}" for word in chosen_from)
        else:
            made = tuple(f"{word[0].upper()}{word[1:]}{behind}" for word in chosen_from)
        slots.append(made if len(made) > 1 else made[0])
    return slots


def iter_words(seed: int, purpose: str, number: int) -> Iterator[str]:
    """Yield words without end, each with the white space before it; they depend on these three alone.

    Streams of one seed and purpose begin differently as long as their numbers differ by less than
    N_OPENINGS.
    """
    yield from _opening(seed, purpose, number)
    random = make_random(seed, purpose, str(number), "words").random
    patterns = _language().patterns
    while True:
        for at in range(_SENTENCES_OF_A_PARAGRAPH):
            pattern = patterns[int(random() * len(patterns))]
            first, *others = [
                slot if type(slot) is str else slot[int(random() * len(slot))] for slot in pattern
            ]
            yield f" {first}" if at else f"\n\n{first}"
            yield from others


@lru_cache(maxsize=64)
def _order(seed: int, purpose: str) -> tuple[int, int]:
    """Return the step and the start with which numbers go through all openings."""
    made = make_random(seed, purpose, "openings")
    return made.randrange(1, N_OPENINGS, 2), made.randrange(N_OPENINGS)


def _opening(seed: int, purpose: str, number: int) -> Iterator[str]:
    """Yield a sentence that spells the number. Steps of an odd size go once through all openings, whose
    number is a power of two, and neighbours have different first words.
    """
    step, start = _order(seed, purpose)
    rest = (number * step + start) % N_OPENINGS
    chosen = {}
    for letter in _SPELLING:
        words = _language().words[letter]
        rest, at = divmod(rest, len(words))
        chosen[letter] = words[at]
    for word in _OPENING:
        yield word.format_map(chosen)
