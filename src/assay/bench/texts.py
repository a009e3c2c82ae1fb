"""Natural texts of a wished length in tokens.

With a tokenizer a text has exactly so many tokens when it is encoded again; where that cannot be, it says how
many it has. Without one it has about so many: `TOKENS_PER_WORD` was measured, and the server's own count is
what is reported.
"""

from __future__ import annotations

import tomllib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import accumulate, chain, cycle, islice
from typing import NamedTuple, TypeAlias

from assay.bench.tokenizer import Tokenizer
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


TOKENS_PER_WORD = 1.21
"""Of our sentences, by SmolLM2's tokenizer: 1.208 over 3,000 words."""
OPENING_TOKENS = 4
"""How many more the opening of a text has, with its rare names: 1.36 a word over the first 25 words."""

_BEFORE = "the"
"""A word that stands for any text before."""
_FILLERS = (" so", " then", " now", " here", " and", " as", " it", " is", " of", " to", " in", " a")
_WORDS_GIVEN_UP = 6
"""How many words are given up at most, one by one, until the rest can be filled to the length."""


class GeneratedText(NamedTuple):
    """A text that was made."""

    text: str
    n_tokens: int | None
    """How many tokens it has; None without a tokenizer."""


class TextGenerator:
    """Makes texts that depend on the seed, the purpose and their numbers alone."""

    def __init__(self, seed: int, purpose: str, tokenizer: Tokenizer | None = None) -> None:
        self._seed = seed
        self._purpose = purpose
        self._tokenizer = tokenizer

    def text(self, number: int, n_tokens: int, *, after: str = "", joiner: str = "\n\n") -> GeneratedText:
        """Return a text of so many tokens in all, which begins with what is given."""
        words = iter_words(self._seed, self._purpose, number)
        if after:
            words = chain((f"{joiner}{next(words)}",), words)
        if self._tokenizer is None:
            n_words = max(estimate_words(n_tokens) - len(after.split()), 0)
            return GeneratedText(after + "".join(islice(words, n_words)), None)
        return self._fit_tokens(self._tokenizer, after, words, n_tokens)

    def block(self, number: int, n_tokens: int) -> str:
        """Return a text, its first space included, that makes another one so many tokens longer."""
        n_before = 0 if self._tokenizer is None else self._tokenizer.count(_BEFORE)
        made = self.text(number, n_before + n_tokens, after=_BEFORE, joiner=" ")
        return made.text.removeprefix(_BEFORE)

    def _fit_tokens(
        self, tokenizer: Tokenizer, after: str, words: Iterator[str], n_tokens: int
    ) -> GeneratedText:
        n_before = tokenizer.count(after) if after else 0
        # A word has one token at the least.
        drafted = list(islice(words, max(n_tokens - n_before, 0) + 1))
        whole = after + "".join(drafted)
        ends = tokenizer.ends(whole)
        places = list(accumulate(map(len, drafted), initial=len(after)))
        # The words whose tokens all lie within the first n.
        n_whole = bisect_right(places, ends[n_tokens - 1] if n_tokens <= len(ends) else len(whole)) - 1
        best = GeneratedText(after, n_before)
        for n_words in range(max(n_whole, 0), max(n_whole - _WORDS_GIVEN_UP, 0) - 1, -1):
            kept = whole[: places[n_words]]
            filled = self._filled(tokenizer, kept, n_tokens - bisect_right(ends, places[n_words]))
            best = _pick_nearer(filled, best, n_tokens)
            if best.n_tokens == n_tokens:
                return best
        # Tokenizers of single characters or bytes have no word of one token.
        if n_tokens <= len(ends):
            cut = whole[: max(ends[n_tokens - 1], len(after))]
            best = _pick_nearer(GeneratedText(cut, tokenizer.count(cut)), best, n_tokens)
        return best

    def _filled(self, tokenizer: Tokenizer, text: str, n_lacking: int) -> GeneratedText:
        """Return a text made longer by words of one token each."""
        if n_lacking > 0:
            text += "".join(islice(cycle(self._fillers), n_lacking))
            text = text.lstrip(" ")
        return GeneratedText(text, tokenizer.count(text))

    @cached_property
    def _fillers(self) -> Sequence[str]:
        """Words that are one token behind another word; all of them where none is."""
        assert self._tokenizer is not None
        alone = self._tokenizer.count(_BEFORE)
        single = [word for word in _FILLERS if self._tokenizer.count(_BEFORE + word) == alone + 1]
        return single or _FILLERS


def _pick_nearer(one: GeneratedText, other: GeneratedText, n_tokens: int) -> GeneratedText:
    """Return the text whose tokens are nearer to the wished number."""

    def off(made: GeneratedText) -> int:
        return abs((made.n_tokens or 0) - n_tokens)

    return one if off(one) <= off(other) else other


def estimate_words(n_tokens: int) -> int:
    """Return how many words have about so many tokens; one at the least."""
    return max(round((n_tokens - OPENING_TOKENS) / TOKENS_PER_WORD), 1)


def estimate_tokens(n_words: int) -> int:
    """Return about how many tokens so many words have; one at the least."""
    return max(round(n_words * TOKENS_PER_WORD), 1)
