"""Examples that share rare words with a row: Okapi BM25 with the constants of rank-bm25.

Implemented here because it is short: rank-bm25, which the original uses, loops over all documents in Python
for every word, and bm25s uses other weights.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.dialects.openicl.retrievers.corpus import Corpus
from assay.dialects.openicl.retrievers.retriever import CountingRetriever, PickedRows, pick_others
from assay.dialects.shared.similarity import rank_best

_TITLES = ("Dr", "Mr", "Mrs", "Ms", "St", "vs")
_SENTENCE_END = re.compile(
    r"(?<=\.)(?<!\b[A-Za-z]\.)" + "".join(rf"(?<!\b{title}\.)" for title in _TITLES) + r"[\"'”’)\]]*\s+"
)
_UNSPACED = (
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Kana and Han
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
)
"""Characters of scripts without spaces between words."""
_PART = re.compile(f"[{_UNSPACED}]|[^{_UNSPACED}]+")


def split_words(text: str) -> list[str]:
    """Return the words and marks of a text; each character of a script without spaces is a word."""
    return [part for word in split_treebank_words(text) for part in _PART.findall(word)]


def split_treebank_words(text: str) -> list[str]:
    """Return the words and marks of a text, split only at spaces and marks in every script."""
    words: list[str] = []
    start = 0
    for end in [*(found.end() for found in _SENTENCE_END.finditer(text)), len(text)]:
        words += _tokenizer().tokenize(text[start:end])
        start = end
    return words


@lru_cache(maxsize=1)
def _tokenizer() -> Any:
    from nltk.tokenize.destructive import NLTKWordTokenizer

    return NLTKWordTokenizer()


_K1 = 1.5
"""Weight of repeated words."""
_B = 0.75
"""Penalty for long texts."""
_EPSILON = 0.25
"""A word in more than half of the texts would have a negative weight; it gets this share of the average
weight instead."""


class BM25Retriever(CountingRetriever, frozen=True, kw_only=True):
    """The train rows with the highest BM25 to a row, the highest first."""

    original_runs_short: ClassVar[bool] = True

    def _pick_rows(self, corpus: Corpus) -> PickedRows:
        index = Okapi([split_words(text) for text in corpus.train])
        picked = []
        for row, text in enumerate(corpus.test):
            ranked = rank_best(
                index.scores(split_words(text)), self.ice_num + len(corpus.find_equal_rows(row))
            )
            picked.append(pick_others(corpus, row, ranked, self.ice_num))
        return picked

    def _pick_originals(self, corpus: Corpus) -> PickedRows:
        index = Okapi([split_treebank_words(text) for text in corpus.train])
        picked = []
        for text in corpus.test:
            # Of equal scores the later row comes first, as far as numpy's sort is stable.
            ranked = np.argsort(index.scores(split_treebank_words(text)))[::-1][: self.ice_num]
            picked.append(tuple(ranked.tolist()))
        return picked


class Okapi:
    """An inverted index, so that a query visits only texts that contain its words."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        self._n = len(documents)
        holders: dict[str, list[int]] = {}
        counts: dict[str, list[int]] = {}
        for at, words in enumerate(documents):
            for word, count in Counter(words).items():
                holders.setdefault(word, []).append(at)
                counts.setdefault(word, []).append(count)
        lengths = np.array([len(words) for words in documents], dtype=np.float64)
        # Without any word there is no mean length, and there are no weights.
        held_back = _K1 * (1 - _B + _B * lengths / (lengths.mean() if lengths.any() else 1.0))
        rarity = _rarity(holders, self._n)
        self._weights: dict[str, tuple[NDArray[np.intp], NDArray[np.float64]]] = {}
        for word, rows in holders.items():
            having = np.array(rows, dtype=np.intp)
            frequency = np.array(counts[word], dtype=np.float64)
            weights = rarity[word] * (frequency * (_K1 + 1) / (frequency + held_back[having]))
            self._weights[word] = (having, weights)

    def scores(self, query: Sequence[str]) -> NDArray[np.float64]:
        """Return the score of every text; repeated words of the query count each time."""
        scores = np.zeros(self._n)
        for word in query:
            if word in self._weights:
                having, weights = self._weights[word]
                scores[having] += weights
        return scores


def _rarity(holders: dict[str, list[int]], n: int) -> dict[str, float]:
    """Return the inverse document frequency of each word."""
    raw = {word: math.log(n - len(rows) + 0.5) - math.log(len(rows) + 0.5) for word, rows in holders.items()}
    least = _EPSILON * sum(raw.values()) / max(len(raw), 1)
    return {word: least if value < 0 else value for word, value in raw.items()}
