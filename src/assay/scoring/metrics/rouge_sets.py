"""ROUGE over sets of n-grams, as the package rouge_chinese computes it.

Each n-gram counts once, however often it occurs; the longest common subsequence spans the whole text. Numbers
differ from rouge-score's (`rouge.py`), which counts repeats and knows only ASCII words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rapidfuzz.distance import LCSseq

from assay.core.errors import listing, suggest_name

_SENTENCE_ENDS = tuple(
    re.compile(pattern)
    for pattern in (
        r"([。！？?])([^”’])",
        r"(\.{6})([^”’])",
        r"(…{2})([^”’])",
        r"([。！？?][”’])([^，。！？?])",
    )
)
_SMALL = 1e-8
"""Avoids a division by 0 if nothing is shared."""


def make_tokenizer(name: str) -> Any:
    """Return the sacrebleu tokenizer with this name; ValueError if it does not exist."""
    from sacrebleu.metrics import BLEU

    if name not in BLEU.TOKENIZERS:
        known = sorted(BLEU.TOKENIZERS)
        raise ValueError(
            f"unknown tokenizer {name!r}{suggest_name(name, known)}; expected one of {listing(known)}"
        )
    return BLEU(tokenize=name).tokenizer


def compute_set_rouge(
    prediction: str, reference: str, *, n_gram: str = "1", index: str = "f", tokenizer: str = "13a"
) -> float:
    """Return ROUGE-1, ROUGE-2 or ROUGE-L (`l`), 0 to 1: its F-measure, precision (`p`) or recall (`r`).

    ValueError for a text without words, which has no ROUGE.
    """
    tokenize = make_tokenizer(tokenizer)
    got, wanted = _words(tokenize(prediction)), _words(tokenize(reference))
    if not got or not wanted:
        raise ValueError("a text without words has no ROUGE")
    if n_gram == "l":
        shared, n_got, n_wanted = LCSseq.similarity(got, wanted), len(got), len(wanted)
    else:
        got_grams, wanted_grams = _grams(got, int(n_gram)), _grams(wanted, int(n_gram))
        shared, n_got, n_wanted = len(got_grams & wanted_grams), len(got_grams), len(wanted_grams)
    precision = shared / n_got if n_got else 0.0
    recall = shared / n_wanted if n_wanted else 0.0
    by_index = {"p": precision, "r": recall, "f": 2 * precision * recall / (precision + recall + _SMALL)}
    return by_index[index]


def _words(text: str) -> list[str]:
    """Return the words between spaces and sentence ends; Chinese sentences have no space after them."""
    for end in _SENTENCE_ENDS:
        text = end.sub(r"\1\n\2", text)
    return text.split()


def _grams(words: Sequence[str], order: int) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + order]) for at in range(len(words) - order + 1)}
