"""Normal forms of answers: texts for exact match, numbers by value.

The order of the steps is part of the metric; changing it changes scores: NFKC, case fold, white space,
surrounding punctuation, the Korean copula at the end, then articles if requested.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from fractions import Fraction

_SPACE = re.compile(r"\s+")
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
# Characters with a meaning at the edge of an answer ($, %, -, +) stay.
_EDGE = " \t\n.,;:!?\"'`*_~()[]{}<>«»“”‘’「」『』【】《》。，、；：！？…|"
# Korean attaches "it is" to the answer: 서울입니다. No noun ends this way. 이다 stays, as in 사이다.
_COPULA = re.compile(r"(?<=.)(?:입니다|이에요|예요)$")
_UNSPACED = "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u9fff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\W_])+")

NUMBER = (
    # sign and currency in either order; a minus that follows a digit is a subtraction
    r"(?:(?<![0-9A-Za-z_.)\]}])[-−–+])?(?:\\?[$€£¥₩]\s?)?(?:(?<=[$€£¥₩])[-−])?"
    r"(?:"
    r"(?:(?<![0-9A-Za-z_.])[0-9]{1,20}\s?)?\\[dt]?frac\s*\{\s*-?[0-9]{1,40}\s*\}\s*\{\s*[0-9]{1,40}\s*\}"
    r"|(?<![0-9A-Za-z_.])(?:"
    r"[0-9]{1,20}\s[0-9]{1,20}/[0-9]{1,20}(?![0-9/])|[0-9]{0,20}\s?[¼-¾⅐-⅞]"
    r"|(?:[0-9]{1,3}(?:(?:,|\\,|\{,\}|\\!|['’ \u00a0\u202f\u2009])[0-9]{3})++(?![0-9])|[0-9]++)(?:\.[0-9]++)?"
    r"(?:/[0-9]{1,20}(?![0-9/.])|[eE][+\-]?[0-9]{1,3}(?![0-9A-Za-z])"
    r"|\s?(?:[×x*·]|\\times|\\cdot)\s?10(?:\^\{?-?[0-9]{1,3}\}?|[⁻⁰¹²³⁴-⁹]{1,4}))?"
    r"|\.[0-9]++)(?!(?:st|nd|rd|th)\b)"
    r")"
)
"""Pattern of a number as models and people write it: 1,234.50, $-5, 3/4, 1e3, 1\\,000, \\frac{3}{4}."""

_LONGEST_NUMBER = 400
_NUMBER = re.compile(NUMBER)
_FRACTION = re.compile(r"(?:([0-9]+)\s?)?\\[dt]?frac\s*\{\s*(-?[0-9]+)\s*\}\s*\{\s*([0-9]+)\s*\}")
_MIXED = re.compile(r"([0-9]+)\s([0-9]+)/([0-9]+)")
_MARKED_FRACTION = re.compile(r"([0-9]*)\s?([¼-¾⅐-⅞])$")
_POWER = re.compile(r"\s?(?:[×x*·]|\\times|\\cdot)\s?10(?:\^\{?(-?[0-9]+)\}?|([⁻⁰¹²³⁴-⁹]+))")
_SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_SEPARATOR = re.compile(
    r",|\\,|\{,\}|\\!|(?<=[0-9])['’ \u00a0\u202f\u2009](?=[0-9])|\\?[$€£¥₩]\s?|\+(?=[0-9.$])"
)
_UNIT = re.compile(r"\s*(?:\\?%|percent|dollars?|\.|°|\\\$|[$€£¥₩])?\s*")


def normalize(text: str, *, drops_articles: bool = False) -> str:
    """Return the form in which texts are compared for an exact match."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    spaced = _SPACE.sub(" ", folded)
    folded = _strip_copula(spaced.strip(_EDGE))
    if drops_articles:
        folded = _SPACE.sub(" ", _ARTICLE.sub(" ", folded)).strip(_EDGE)
    # A text of punctuation alone, such as the brackets that close a sequence, is compared as it is.
    return folded or spaced.strip()


def _strip_copula(text: str) -> str:
    while copula := _COPULA.search(text):
        text = text[: copula.start()].strip(_EDGE)
    return text


def split_any_script(text: str) -> list[str]:
    """Return the words of a text in one spelling, without punctuation.

    Each Chinese or Japanese character is a word, because no spaces separate words.
    """
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def words(text: str) -> list[str]:
    """Return the words that token F1 counts: no punctuation, no English articles, no Korean copula."""
    return [word for word in split_any_script(normalize(text)) if word not in ("a", "an", "the")]


def contains(reply: str, target: str) -> bool:
    """Whether a normalized target occurs in a normalized reply, not inside a longer word or number."""
    hay, needle = normalize(reply), normalize(target)
    at = hay.find(needle) if needle else -1
    while at >= 0:
        end = at + len(needle)
        if not (_is_inside_word(hay, at) or _is_inside_word(hay, end)):
            return True
        at = hay.find(needle, at + 1)
    return False


def _is_inside_word(text: str, at: int) -> bool:
    """Whether a Latin word or a number continues across a position."""
    if at <= 0 or at >= len(text):
        return False
    left, right = text[at - 1], text[at]
    if left.isascii() and right.isascii() and left.isalnum() and right.isalnum():
        return True
    return left in ".," and right.isdigit() and at > 1 and text[at - 2].isdigit()


def read_number(spelled: str) -> Fraction | None:
    """Return the exact value of a string that `NUMBER` matched; None for a zero denominator."""
    if len(spelled) > _LONGEST_NUMBER:
        return None  # a degenerate run of digits, not an answer
    text = spelled.strip().replace("−", "-").replace("–", "-")
    sign = -1 if text.startswith("-") else 1
    if fraction := _FRACTION.search(text):
        whole, top, bottom = int(fraction[1] or 0), int(fraction[2]), int(fraction[3])
        return sign * (whole + Fraction(top, bottom)) if bottom else None
    if marked := _MARKED_FRACTION.search(text):
        part = Fraction(unicodedata.numeric(marked[2])).limit_denominator(10)
        return sign * (int(marked[1] or 0) + part)
    if power := _POWER.search(text):
        text = f"{text[: power.start()]}e{power[1] or power[2].translate(_SUPERSCRIPTS)}"
    text = _SEPARATOR.sub("", text) if not _MIXED.search(text) else text
    sign = -1 if text.startswith("-") else 1  # a currency may have been before it
    text = text.lstrip("+-$ ")
    try:
        if mixed := _MIXED.fullmatch(text):
            return sign * (int(mixed[1]) + Fraction(int(mixed[2]), int(mixed[3])))
        top_text, slash, bottom_text = text.partition("/")
        value = Fraction(top_text)
        return sign * (value / int(bottom_text) if slash else value)
    except (ValueError, ZeroDivisionError):
        return None


def parse_number(text: str) -> Fraction | None:
    """Return the value of a text that is one number, optionally with a unit sign."""
    stripped = text.strip().strip("*_`").strip()
    match = _NUMBER.match(stripped)
    if match is None or not _UNIT.fullmatch(stripped, match.end()):
        return None
    return read_number(match[0])


def format_exact(value: Fraction) -> str:
    """Return the shortest exact decimal, or `a/b` in lowest terms if no decimal is exact."""
    bottom, digits = value.denominator, 0
    while bottom % 10 == 0:
        bottom, digits = bottom // 10, digits + 1
    twos = fives = 0
    while bottom % 2 == 0:
        bottom, twos = bottom // 2, twos + 1
    while bottom % 5 == 0:
        bottom, fives = bottom // 5, fives + 1
    if bottom != 1:
        return f"{value.numerator}/{value.denominator}"
    digits += max(twos, fives)
    if digits == 0:
        return str(value.numerator)
    scaled = abs(value.numerator) * 10**digits // value.denominator
    text = str(scaled).rjust(digits + 1, "0")
    return f"{'-' if value < 0 else ''}{text[:-digits]}.{text[-digits:]}".rstrip("0").rstrip(".")


def numbers_equal(left: str, right: str) -> bool:
    """Whether two texts are the same number, without tolerance: 18, 18.0 and 18.00 are equal."""
    one, other = parse_number(left), parse_number(right)
    return one is not None and one == other


def are_numbers(targets: Sequence[str]) -> bool:
    """Whether answers are compared as numbers: there is at least one target, and each is a number."""
    return bool(targets) and all(parse_number(target) is not None for target in targets)
