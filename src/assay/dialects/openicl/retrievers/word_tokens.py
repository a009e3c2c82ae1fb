"""A word tokenizer that follows the original's BM25, without the sentence splitter that must be downloaded.

The original uses nltk's `word_tokenize`: it splits sentences with a trained splitter, whose data must be
downloaded, and then words in the style of the Penn Treebank. Sentences only decide where a full stop is
separated from its word. A rule replaces the splitter: it is separated, unless the word is a single letter or
a title. Of 3,293 English texts from benchmarks, 95.8 % have exactly the original's words, and 99.8 % of all
words are equal; most differences are `i.e.`, `P.S.` and list numbers (`1.`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

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
