"""Numbers in words: zero to a hundred in eight languages, larger ones in English and in characters.

A word with other uses in a sentence (`one`, `un`, `一`) is a number only where one is expected, which the
caller knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import NamedTuple

_WORD = re.compile(r"[^\W\d_]+(?:[-‐'’][^\W\d_]+)*")
_LONGEST = 4
"""The maximum number of words of a number in the tables: 'trente et un', 'quarenta e dois'."""


def _words(text: str) -> list[str]:
    return text.split()


_ENGLISH_SMALL = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_ENGLISH_TENS = _words("twenty thirty forty fifty sixty seventy eighty ninety")
_ENGLISH_SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9}
_SPANISH_SMALL = _words(
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince "
    "dieciséis diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro "
    "veinticinco veintiséis veintisiete veintiocho veintinueve"
)
_SPANISH_TENS = _words("treinta cuarenta cincuenta sesenta setenta ochenta noventa")
_PORTUGUESE_SMALL = _words(
    "zero um dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze dezesseis "
    "dezessete dezoito dezenove"
)
_PORTUGUESE_TENS = _words("vinte trinta quarenta cinquenta sessenta setenta oitenta noventa")
_FRENCH_SMALL = _words(
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize "
    "dix-sept dix-huit dix-neuf"
)
_FRENCH_TENS = {20: "vingt", 30: "trente", 40: "quarante", 50: "cinquante", 60: "soixante"}
_GERMAN_SMALL = _words(
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn "
    "sechzehn siebzehn achtzehn neunzehn"
)
_GERMAN_TENS = _words("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig")
_ITALIAN_SMALL = _words(
    "zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici "
    "quindici sedici diciassette diciotto diciannove"
)
_ITALIAN_TENS = _words("venti trenta quaranta cinquanta sessanta settanta ottanta novanta")
_RUSSIAN_SMALL = _words(
    "ноль один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать тринадцать "
    "четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать"
)
_RUSSIAN_TENS = _words("двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто")
_KOREAN_ONES = ("", "하나", "둘", "셋", "넷", "다섯", "여섯", "일곱", "여덟", "아홉")
_KOREAN_COUNTING = ("", "한", "두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉")
_KOREAN_TENS = ("", "열", "스물", "서른", "마흔", "쉰", "예순", "일흔", "여든", "아흔")

_DIGITS = {
    **{mark: value for value, mark in enumerate("零一二三四五六七八九")},
    **{mark: value for value, mark in enumerate("영일이삼사오육칠팔구")},
    **{"〇": 0, "两": 2, "兩": 2, "공": 0},
}
_UNITS = {**dict.fromkeys("十십", 10), **dict.fromkeys("百백", 100), **dict.fromkeys("千천", 1000)}
_GROUPS = {**dict.fromkeys("万萬만", 10**4), **dict.fromkeys("亿億억", 10**8)}
_HAN_NUMBER = "[零〇一二三四五六七八九两兩十百千万萬亿億]+"
_HAN = re.compile(
    rf"(?P<percent>百分之)?(?P<number>{_HAN_NUMBER})"
    rf"(?:点(?P<decimals>[零〇一二三四五六七八九]+)|分之(?P<top>{_HAN_NUMBER}))?"
)
_HANGUL = re.compile(
    r"(?<![가-힣])(?P<number>[일이삼사오육칠팔구십백천만억]{2,})(?=\s?(?:[개명원월년시분살세대마권번]|입니다|이다|이에요|$|\s*[.,。]))"
)
_MEASURE = re.compile(
    r"\s?(?:个|個|人|名|位|本|只|隻|头|頭|匹|条|條|张|張|件|天|日|年|月|小时|小時|分钟|分鐘|秒|元|块|塊|円|米|公里|千克|克|岁|歳|歲|次|倍|种|種|箱|瓶|杯|枚|冊|台|辆|艘|つ)"
)
_NATIVE_KOREAN = re.compile(
    r"(?<![가-힣])(?P<number>(?:열|스물|스무|서른|마흔|쉰|예순|일흔|여든|아흔)?"
    r"(?:하나|둘|셋|넷|한|두|세|네|다섯|여섯|일곱|여덟|아홉)?)"
    r"(?=\s?(?:개|명|살|마리|권|번|시간|대|잔|병|장|송이|그루|켤레|입니다|이다|이에요|예요|$|[.。]))"
)
# Words that are as often an article, a pronoun or a verb.
_AMBIGUOUS = frozenset(_words("one un uno um eins один sei sette sept null once due elf cent quince"))


class WordNumber(NamedTuple):
    """A number in words."""

    value: Fraction
    start: int
    end: int
    is_clear: bool
    """Whether it can only be a number; `one` and `三` may be part of other words."""


def _combine_tens(small: list[str], tens: list[str], first: int, join: str) -> dict[str, int]:
    table = {word: value for value, word in enumerate(small)}
    for step, ten in enumerate(tens):
        table[ten] = first + 10 * step
        table |= {f"{ten}{join}{small[one]}": first + 10 * step + one for one in range(1, 10)}
    return table


def _french() -> dict[str, int]:
    table = {word: value for value, word in enumerate(_FRENCH_SMALL)}
    for ten, word in _FRENCH_TENS.items():
        table[word] = ten
        table |= {f"{word}-{_FRENCH_SMALL[one]}": ten + one for one in range(2, 10)}
        table |= {f"{word} et un": ten + 1, f"{word}-et-un": ten + 1}
    table |= {f"soixante-{_FRENCH_SMALL[one]}": 60 + one for one in range(10, 20)}
    table |= {"soixante et onze": 71, "soixante-et-onze": 71, "quatre-vingts": 80, "cent": 100}
    table |= {f"quatre-vingt-{_FRENCH_SMALL[one]}": 80 + one for one in range(1, 20)}
    return table


def _german() -> dict[str, int]:
    table = {word: value for value, word in enumerate(_GERMAN_SMALL)}
    for step, ten in enumerate(_GERMAN_TENS):
        table[ten] = 20 + 10 * step
        for one in range(1, 10):
            table[f"{'ein' if one == 1 else _GERMAN_SMALL[one]}und{ten}"] = 20 + 10 * step + one
    return table | {"hundert": 100, "einhundert": 100}


def _italian() -> dict[str, int]:
    table = {word: value for value, word in enumerate(_ITALIAN_SMALL)}
    for step, ten in enumerate(_ITALIAN_TENS):
        table[ten] = 20 + 10 * step
        for one in range(1, 10):
            stem = ten[:-1] if one in (1, 8) else ten
            table[f"{stem}{'tré' if one == 3 else _ITALIAN_SMALL[one]}"] = 20 + 10 * step + one
    return table | {"cento": 100}


@cache
def _table() -> dict[str, int]:
    """Return the value of every phrase of the languages written with spaces, except English."""
    return {
        **_german(),
        **_italian(),
        **_combine_tens(_PORTUGUESE_SMALL, _PORTUGUESE_TENS, 20, " e "),
        **_combine_tens(_SPANISH_SMALL, _SPANISH_TENS, 30, " y "),
        **_french(),
        **_combine_tens(_RUSSIAN_SMALL, _RUSSIAN_TENS, 20, " "),
        "сто": 100,
        "cien": 100,
        "cem": 100,
    }


_ENGLISH = {
    **{word: value for value, word in enumerate(_ENGLISH_SMALL)},
    **{word: 20 + 10 * step for step, word in enumerate(_ENGLISH_TENS)},
}


def word_numbers(body: str, start: int, stop: int) -> Iterator[WordNumber]:
    """Yield the numbers in words in a part of a reply, in order for each script."""
    if not body.isascii():
        yield from _characters(body, start, stop)
        yield from _korean(body, start, stop)
    words = list(_WORD.finditer(body, start, stop))
    at = 0
    while at < len(words):
        read = _english(body, words, at) or _phrase(words, at)
        if read is None:
            at += 1
            continue
        value, n_words = read
        first, last = words[at], words[at + n_words - 1]
        is_clear = n_words > 1 or first[0].lower() not in _AMBIGUOUS
        yield WordNumber(Fraction(value), first.start(), last.end(), is_clear)
        at += n_words


def _english(body: str, words: list[re.Match[str]], at: int) -> tuple[int, int] | None:
    """Return the value of an English number and its number of words: 'three hundred and forty-two'."""
    total = group = n_read = 0
    last = 0
    """The value of the last part: 'twenty' may be followed by 'one', 'two' only by a scale."""
    for index in range(at, len(words)):
        word = words[index][0].lower()
        if index > at and not body[words[index - 1].end() : words[index].start()].isspace():
            break
        follows = words[index + 1][0].lower() if index + 1 < len(words) else ""
        if word == "a" and not n_read and follows in _ENGLISH_SCALES:
            group = last = 1
            continue
        if word == "and" and last >= 100 and _english_part(follows) is not None:
            continue
        if scale := _ENGLISH_SCALES.get(word) if last else None:
            total, group = (total, group * scale) if scale == 100 else (total + group * scale, 0)
            last = scale
        else:
            part = _english_part(word)
            if part is None or not (
                last == 0 or last >= 100 or (last >= 20 and last % 10 == 0 and 0 < part < 10)
            ):
                break
            group, last = group + part, part
        n_read = index - at + 1
    return (total + group, n_read) if n_read else None


def _english_part(word: str) -> int | None:
    tens, hyphen, ones = word.partition("-")
    if not hyphen:
        return _ENGLISH.get(word)
    if tens in _ENGLISH_TENS and ones in _ENGLISH_SMALL[1:10]:
        return _ENGLISH[tens] + _ENGLISH[ones]
    return None


def _phrase(words: list[re.Match[str]], at: int) -> tuple[int, int] | None:
    table = _table()
    for n_words in range(min(_LONGEST, len(words) - at), 0, -1):
        value = table.get(" ".join(word[0].lower() for word in words[at : at + n_words]))
        if value is not None:
            return value, n_words
    return None


def _characters(body: str, start: int, stop: int) -> Iterator[WordNumber]:
    for match in _HAN.finditer(body, start, stop):
        value = _parse_character_number(match["number"])
        if value is None:
            continue
        exact = Fraction(value)
        if match["top"]:  # 三分之一 is a third
            top = _parse_character_number(match["top"])
            if top is None or value == 0:
                continue
            exact = Fraction(top, value)
        if match["decimals"]:
            digits = "".join(str(_DIGITS[mark]) for mark in match["decimals"])
            exact += Fraction(int(digits), 10 ** len(digits))
        is_clear = match.end() - match.start() > 1
        is_counted = _MEASURE.match(body, match.end()) is not None and match["number"] != "一"
        yield WordNumber(exact, match.start(), match.end(), is_clear or is_counted)


def _korean(body: str, start: int, stop: int) -> Iterator[WordNumber]:
    for match in _HANGUL.finditer(body, start, stop):
        value = _parse_character_number(match["number"])
        if value is not None:
            yield WordNumber(
                Fraction(value),
                *match.span("number"),
                is_clear=any(mark in _UNITS for mark in match["number"]),
            )
    for match in _NATIVE_KOREAN.finditer(body, start, stop):
        spelled = match["number"].replace("스무", "스물")
        if not spelled:
            continue
        ten = next((index for index, word in enumerate(_KOREAN_TENS) if word and spelled.startswith(word)), 0)
        rest = spelled[len(_KOREAN_TENS[ten]) :]
        one = _KOREAN_ONES.index(rest) if rest in _KOREAN_ONES else _KOREAN_COUNTING.index(rest)
        yield WordNumber(
            Fraction(10 * ten + one),
            *match.span("number"),
            is_clear=ten > 0 or rest not in ("한", "두", "세", "네"),
        )


def _parse_character_number(spelled: str) -> int | None:
    """Return the value of 三十九, 一万二千 or 삼십구; None for characters that are not a number."""
    total = section = 0
    digit: int | None = None
    for mark in spelled:
        if mark in _DIGITS:
            if digit:
                return None  # 三四 is 'three or four'
            digit = _DIGITS[mark]
        elif mark in _UNITS:
            section += (1 if digit is None else digit) * _UNITS[mark]
            digit = None
        else:
            total += (section + (digit or 0)) * _GROUPS[mark]
            section, digit = 0, None
    if spelled[0] in _GROUPS:
        return None  # 万一 is 'in case'
    return total + section + (digit or 0)
