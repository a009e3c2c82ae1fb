"""Where a reply mentions one of several phrases as separate words.

What the reply says about them is decided elsewhere.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from assay.scoring.extract.answer_words import split_words

_MARKS = re.compile(
    r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mathsf|mbox"
    r"|emph)\s*\{|\\[()\[\]]|[*`~]+|(?<!\w)_+|_+(?!\w)"
    r"|[\"“”„‟«»「」『』《》〈〉{}$]|(?<!\w)['‘’]|(?<=[^\W\d])['’](?!\w)|(?<=\d)['’](?!\w)"
)
"""Marks that decorate words. An apostrophe inside a word stays."""
_ALIKE = str.maketrans("‘’ʼ–—−‐‑₀₁₂₃₄₅₆₇₈₉⁰¹²³⁴⁵⁶⁷⁸⁹\u00a0\u202f", "'''-----01234567890123456789  ")
_ASIDE = re.compile(r"[(（][^()（）\n]{3,200}[)）]")
_ARTICLE = re.compile(r"(?:the|an?|el|la|los|las|le|les|der|die|das|il|lo|gli|o|os)\s+(?=\S)", re.IGNORECASE)
_EDGES = " \t\n.,;:!?。，、；：！？…"
UNSPACED = "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u9fff\U00020000-\U0003ffff"
_MARKS_ON_LETTERS = (
    r"\u0300-\u036f\u064b-\u0670\u0900-\u0903\u093a-\u094f\u0981-\u0983\u09bc-\u09cd\u0e31-\u0e4e"
)
LETTER = rf"(?:[^\W_]|[{_MARKS_ON_LETTERS}])"
"""Pattern of a word character: vowel signs of Indic scripts are marks, not letters."""
_HANGUL = "\uac00-\ud7a3"
_ENDS_WORD = (
    # Korean attaches particles to the word; Turkish adds its copula after an apostrophe.
    r"(?:입니다|이에요|예요|이다|이며|이고|이었|였|임|다(?=[\s.]|$)|은|는|이|가|을|를|에서|에|으로|로|도|께서|이라|라고|이라고)"
)
_PLAIN_WORDS = split_words(
    "it us who may will can no in on or an as is am be do go he me my so to up we all one"
)
_SHORT = 3
"""Phrases with at most this many Latin letters must match in case: Au, US, IT."""


class Mention(NamedTuple):
    """A phrase found in a reply."""

    start: int
    end: int
    after: int
    """Where the next word starts: after the particles attached to the phrase."""
    particle: str
    """Those particles."""


def blank_decoration(body: str) -> str:
    """Return a reply of the same length with decoration and asides blanked and look-alike marks unified."""
    blank = _MARKS.sub(lambda match: " " * len(match[0]), body.translate(_ALIKE))
    return _ASIDE.sub(lambda match: " " * len(match[0]), blank)


class Phrases:
    """Phrases with the same meaning, compiled for searching. Created by `compile_phrases`."""

    def __init__(self, targets: tuple[str, ...]) -> None:
        self.spellings = tuple(dict.fromkeys(spelling for target in targets if (spelling := _core(target))))
        by_length = sorted(self.spellings, key=len, reverse=True)
        free = [_pattern(one) for one in by_length if not _has_fixed_case(one)]
        fixed = [_pattern(one) for one in by_length if _has_fixed_case(one)]
        parts = [f"(?i:{'|'.join(free)})"] if free else []
        if fixed:
            parts.append("|".join(fixed))
        self._pattern = re.compile("|".join(parts)) if parts else None
        self.are_names = any(_is_name(one) for one in self.spellings)

    def find(self, body: str, start: int, end: int) -> Iterator[Mention]:
        """Yield the mentions in a part of a reply after `blank_decoration`."""
        if self._pattern is None:
            return
        for match in self._pattern.finditer(body, start, end):
            particle = _particle(body, match)
            if particle is not None:
                yield Mention(match.start(), match.end(), match.end() + len(particle), particle)


@lru_cache(maxsize=512)
def compile_phrases(targets: tuple[str, ...]) -> Phrases:
    """Return the compiled form of some phrases."""
    return Phrases(targets)


def _core(target: str) -> str:
    """Return a phrase without decoration, an article before it and punctuation around it."""
    text = " ".join(blank_decoration(unicodedata.normalize("NFC", target)).split()).strip(_EDGES)
    text = text.strip("()（） ") or target.strip().strip("()（）").strip()
    return _ARTICLE.sub("", text, count=1) if _ARTICLE.match(text) else text


def _is_name(spelling: str) -> bool:
    return spelling[:1].isupper() or spelling[:1].isdigit()


def _has_fixed_case(spelling: str) -> bool:
    if spelling.casefold() in _PLAIN_WORDS:
        return True
    return spelling.isascii() and len(spelling) <= _SHORT and any(letter.isupper() for letter in spelling)


def _pattern(spelling: str) -> str:
    words = r"\s+".join(re.escape(word) for word in spelling.split())
    first, last = spelling[0], spelling[-1]
    before = rf"(?<![\w{_MARKS_ON_LETTERS}])(?<!\w[-/])" if _is_spaced(first) else ""
    if "\u0600" <= first <= "\u06ff" and not spelling.startswith("ال"):
        before = r"(?:(?<!\w)|(?<=(?<!\w)ال))"
    if not _is_spaced(last) or "\uac00" <= last <= "\ud7a3":
        return before + words
    return before + words + rf"(?![\w{_MARKS_ON_LETTERS}])(?!-\w)(?![.,:/]\d)"


def _is_spaced(letter: str) -> bool:
    return letter.isalnum() and not re.match(f"[{UNSPACED}]", letter)


_KOREAN_END = re.compile(rf"(?P<particle>(?:{_ENDS_WORD})?)(?![{_HANGUL}])")
_TURKISH_END = re.compile(r"\s?'(?:d[ıiuü]r|t[ıiuü]r)(?!\w)", re.IGNORECASE)
_POSSESSIVE = re.compile(r"\s?'\s?\w")


def _particle(body: str, match: re.Match[str]) -> str | None:
    """Return the suffix that leaves a phrase whole; None if it is part of another word."""
    last, end = body[match.end() - 1], match.end()
    if "\uac00" <= last <= "\ud7a3" or re.match(f"[{_HANGUL}]", body[end : end + 1]):
        spaced = re.compile(r"\s*").match(body, end)
        stop = spaced.end() if spaced else end
        korean = _KOREAN_END.match(body, end) or (_KOREAN_END.match(body, stop) if stop > end else None)
        if korean is None:
            return None
        return body[end : korean.end()] if korean["particle"] else ""
    if turkish := _TURKISH_END.match(body, end):
        return turkish[0]
    return None if _POSSESSIVE.match(body, end) else ""
