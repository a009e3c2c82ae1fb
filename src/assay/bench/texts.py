"""Generate natural texts of a given length in tokens.

With a tokenizer, a text has exactly this many tokens when it is encoded again; if that is impossible, its
actual number is known. Without one, the number is approximate (`TOKENS_PER_WORD`), and the server's count is
reported.
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
"""The word lists that encode the number in an opening, the fastest-changing first."""
_OPENING = ("{N}", " {F},", " a", " {R}", " from", " {O},", " asks", " for", " a", " long", " answer.")
_SENTENCES_OF_A_PARAGRAPH = 6
N_OPENINGS = 64**4


_Slot: TypeAlias = str | tuple[str, ...]
"""A word, or the words of which one is chosen; each includes its space and punctuation, so that
generating a sentence only chooses words: a load may need a million words per second."""


class _Language(NamedTuple):
    words: Mapping[str, Sequence[str]]
    """Word lists by their letter in patterns."""
    patterns: Sequence[Sequence[_Slot]]
    """Sentences. The first word is capitalized and has no space before it."""


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
    """Yield words without end, each with its leading white space; they depend only on the arguments.

    Streams of one seed and purpose start differently if their numbers differ by less than
    N_OPENINGS.
    """
    yield from _encode_number(seed, purpose, number)
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
    """Return the step and the start with which numbers visit all openings."""
    made = make_random(seed, purpose, "openings")
    return made.randrange(1, N_OPENINGS, 2), made.randrange(N_OPENINGS)


def _encode_number(seed: int, purpose: str, number: int) -> Iterator[str]:
    """Yield a sentence that encodes the number. Steps of an odd size visit all openings once, since their
    number is a power of two. Neighbours have different first words.
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
"""Additional tokens of an opening, due to its rare names: 1.36 per word over the first 25 words."""

_BEFORE = "the"
"""A placeholder for any preceding text."""
_FILLERS = (" so", " then", " now", " here", " and", " as", " it", " is", " of", " to", " in", " a")
_WORDS_GIVEN_UP = 6
"""Maximum number of words removed, one by one, until the rest can be filled to the length."""


class GeneratedText(NamedTuple):
    """A generated text."""

    text: str
    n_tokens: int | None
    """How many tokens it has; None without a tokenizer."""


class TextGenerator:
    """Generates texts that depend only on the seed, the purpose and their numbers."""

    def __init__(self, seed: int, purpose: str, tokenizer: Tokenizer | None = None) -> None:
        self._seed = seed
        self._purpose = purpose
        self._tokenizer = tokenizer

    def text(self, number: int, n_tokens: int, *, after: str = "", joiner: str = "\n\n") -> GeneratedText:
        """Return a text of `n_tokens` in total that starts with `after`."""
        words = iter_words(self._seed, self._purpose, number)
        if after:
            words = chain((f"{joiner}{next(words)}",), words)
        if self._tokenizer is None:
            n_words = max(estimate_words(n_tokens) - len(after.split()), 0)
            return GeneratedText(after + "".join(islice(words, n_words)), None)
        return self._fit_tokens(self._tokenizer, after, words, n_tokens)

    def block(self, number: int, n_tokens: int) -> str:
        """Return a text with a leading space that makes another one `n_tokens` longer."""
        n_before = 0 if self._tokenizer is None else self._tokenizer.count(_BEFORE)
        made = self.text(number, n_before + n_tokens, after=_BEFORE, joiner=" ")
        return made.text.removeprefix(_BEFORE)

    def _fit_tokens(
        self, tokenizer: Tokenizer, after: str, words: Iterator[str], n_tokens: int
    ) -> GeneratedText:
        n_before = tokenizer.count(after) if after else 0
        # A word has at least one token.
        drafted = list(islice(words, max(n_tokens - n_before, 0) + 1))
        whole = after + "".join(drafted)
        ends = tokenizer.ends(whole)
        places = list(accumulate(map(len, drafted), initial=len(after)))
        # The words whose tokens are all within the first n.
        n_whole = bisect_right(places, ends[n_tokens - 1] if n_tokens <= len(ends) else len(whole)) - 1
        best = GeneratedText(after, n_before)
        for n_words in range(max(n_whole, 0), max(n_whole - _WORDS_GIVEN_UP, 0) - 1, -1):
            kept = whole[: places[n_words]]
            filled = self._fill_text(tokenizer, kept, n_tokens - bisect_right(ends, places[n_words]))
            best = _pick_nearer(filled, best, n_tokens)
            if best.n_tokens == n_tokens:
                return best
        # Tokenizers of single characters or bytes have no word of one token.
        if n_tokens <= len(ends):
            cut = whole[: max(ends[n_tokens - 1], len(after))]
            best = _pick_nearer(GeneratedText(cut, tokenizer.count(cut)), best, n_tokens)
        return best

    def _fill_text(self, tokenizer: Tokenizer, text: str, n_lacking: int) -> GeneratedText:
        """Return a text extended by words of one token each."""
        if n_lacking > 0:
            text += "".join(islice(cycle(self._fillers), n_lacking))
            text = text.lstrip(" ")
        return GeneratedText(text, tokenizer.count(text))

    @cached_property
    def _fillers(self) -> Sequence[str]:
        """Words that are one token after another word; all fillers if there are none."""
        assert self._tokenizer is not None
        alone = self._tokenizer.count(_BEFORE)
        single = [word for word in _FILLERS if self._tokenizer.count(_BEFORE + word) == alone + 1]
        return single or _FILLERS


def _pick_nearer(one: GeneratedText, other: GeneratedText, n_tokens: int) -> GeneratedText:
    """Return the text whose number of tokens is nearer to `n_tokens`."""

    def off(generated: GeneratedText) -> int:
        return abs((generated.n_tokens or 0) - n_tokens)

    return one if off(one) <= off(other) else other


def estimate_words(n_tokens: int) -> int:
    """Return the approximate number of words with this many tokens; at least one."""
    return max(round((n_tokens - OPENING_TOKENS) / TOKENS_PER_WORD), 1)


def estimate_tokens(n_words: int) -> int:
    """Return the approximate number of tokens of this many words; at least one."""
    return max(round(n_words * TOKENS_PER_WORD), 1)
