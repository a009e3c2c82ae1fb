"""Natural texts of a wished length in tokens.

With a tokenizer a text has exactly so many tokens when it is encoded again; where that cannot be, it says how
many it has. Without one it has about so many: `TOKENS_PER_WORD` was measured, and the server's own count is
what is reported.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, chain, cycle, islice
from typing import NamedTuple

from assay.bench.tokenizer import Tokenizer
from assay.bench.words import iter_words

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
