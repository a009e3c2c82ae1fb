"""Words of a text as the original's BM25 parts them, without the sentence splitter that has to be downloaded.

The original takes nltk's `word_tokenize`: sentences first, by a trained splitter whose data comes by download
only, then the words of each in the manner of the Penn Treebank. All that the sentences decide is where a full
stop is parted from its word, so a rule stands in for the splitter: it is, unless the word is a single letter
or a title. Of 3,293 English texts from benchmarks, 95.8 % have exactly the original's words and 99.8 % of all
words are the same; what differs is mostly `i.e.`, `P.S.` and numbers of lists (`1.`).
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
"""Characters of scripts that put no spaces between words."""
_PART = re.compile(f"[{_UNSPACED}]|[^{_UNSPACED}]+")


def split_words(text: str) -> list[str]:
    """Return the words and marks of a text; a character of a script without spaces is a word."""
    return [part for word in split_treebank_words(text) for part in _PART.findall(word)]


def split_treebank_words(text: str) -> list[str]:
    """Return the words and marks of a text; what no space or mark parts is one word in every script."""
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
