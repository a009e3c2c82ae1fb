"""Normalization of a reply before the rules: compose letters, simplify full-width and circled ones.

East Asian keyboards and models write `Ａ`, `（３）` and `②` for A, (3) and 2. Each becomes one other
character, so offsets stay valid; composing letters shortens a text, so their origins are recorded.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

# The rules know full-width marks; only numbers need some of them simplified.
_WIDE = {code: code - 0xFEE0 for code in range(0xFF10, 0xFF5B) if chr(code).isalnum()}
_NUMBER_MARKS = str.maketrans("．－＋／％＄￥￦＝（）٫٬٪", ".-+/%$¥₩=().,%")
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
"""A digit of another script: full-width, Arabic-Indic, Devanagari, Thai and so on."""
_CIRCLED = {
    # ① ⑴ ⒈ ❶ ➀ ➊ and so on to 9: those of two digits have no single plain character
    **{
        chr(first + n): str(n + 1)
        for first in (0x2460, 0x2474, 0x2488, 0x2776, 0x2780, 0x278A)
        for n in range(9)
    },
    **{chr(first + n): chr(ord(a) + n) for first, a in ((0x24B6, "A"), (0x24D0, "a")) for n in range(26)},
}
# Before a digit it would merge with it: ②12명 is option 2, twelve people.
_CIRCLED_ALONE = re.compile(rf"[{''.join(_CIRCLED)}](?!\d)")
# A character that combines with the preceding ones: a combining mark, or a jamo after the first.
_JOINS = re.compile(r"[\u1160-\u11ff]")


class NormalizedReply(NamedTuple):
    """A normalized text, and the origin of its characters."""

    text: str
    starts: tuple[int, ...] | None = None
    """The position of each character in the original, and that text's length; None if all are equal."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return a span of the normalized text as a span of the original."""
        return (start, end) if self.starts is None else (self.starts[start], self.starts[end])


def compose_reply(text: str) -> NormalizedReply:
    """Return a reply with its letters composed (NFC)."""
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return NormalizedReply(text)
    pieces: list[str] = []
    starts: list[int] = []
    at = 0
    while at < len(text):
        end = at + 1
        while end < len(text) and (unicodedata.combining(text[end]) or _JOINS.match(text[end])):
            end += 1
        piece = unicodedata.normalize("NFC", text[at:end])
        pieces.append(piece)
        starts += [at] * len(piece)
        at = end
    return NormalizedReply("".join(pieces), (*starts, len(text)))


def simplify_reply(text: str) -> NormalizedReply:
    """Return a reply with composed letters, and full-width and circled characters simplified."""
    spelled = compose_reply(text)
    return spelled._replace(text=simplify_letters(spelled.text))


def simplify_number_reply(text: str) -> NormalizedReply:
    """Return a reply with composed letters, and digits and number marks of other scripts simplified."""
    spelled = compose_reply(text)
    read = spelled.text
    if read.isascii():
        return spelled
    read = _OTHER_DIGIT.sub(lambda match: str(unicodedata.digit(match[0])), read.translate(_NUMBER_MARKS))
    return spelled._replace(text=read)


def simplify_letters(text: str) -> str:
    """Return a text of the same length with full-width and circled letters and digits simplified."""
    if text.isascii():
        return text
    return _CIRCLED_ALONE.sub(lambda match: _CIRCLED[match[0]], text.translate(_WIDE))
