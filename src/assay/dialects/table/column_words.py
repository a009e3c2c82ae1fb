"""Column roles suggested by names: a word list in several languages. Names only suggest; values decide."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from itertools import count, takewhile
from typing import Literal, NamedTuple, TypeAlias, get_args

ColumnRole: TypeAlias = Literal[
    "question", "statement", "context", "answer", "explanation", "option", "distractor", "id", "group",
    "metadata", "prediction", "tests", "instruction",
]  # fmt: skip


class RoleSuggestion(NamedTuple):
    """The role that a name suggests, and how strongly."""

    role: ColumnRole
    strength: int
    """3: the name is the word; 2: its last word is; 1: any of its words is."""


_WORDS: dict[str, frozenset[str]] = {
    name: frozenset(unicodedata.normalize("NFKC", words).casefold().split())
    for name, words in tomllib.loads(
        resources.files("assay.dialects.table").joinpath("column_words.toml").read_text(encoding="utf-8")
    ).items()
}

_ROLES_BY_WORD: dict[str, list[ColumnRole]] = {}
for _role in get_args(ColumnRole):
    for _word in sorted(_WORDS[_role]):
        _ROLES_BY_WORD.setdefault(_word, []).append(_role)
_PIECES = re.compile(r"\d+|[^\s\d_\-./\\()\[\]{}:;,#?!*|<>\"'（）、。：？]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_OTHER_SCRIPT = r"[^\x00-\u024f\u1e00-\u1eff\W]"
_SCRIPTS = re.compile(rf"(?<={_OTHER_SCRIPT})(?=[A-Za-z])|(?<=[A-Za-z])(?={_OTHER_SCRIPT})")


@lru_cache(maxsize=4096)
def split_column_name(name: str) -> tuple[str, ...]:
    """Return the words of a column's name: `answerKey` and `answer_key` are both answer, key."""
    text = unicodedata.normalize("NFKC", name)
    text = _SCRIPTS.sub(" ", _CAMEL.sub(" ", text))
    return tuple(word.casefold() for word in _PIECES.findall(text))


@lru_cache(maxsize=4096)
def suggest_role(name: str) -> RoleSuggestion | None:
    """Return the role that a column's name suggests most strongly, or None."""
    words = tuple(word for word in split_column_name(name) if not word.isdigit())
    if not words:
        return None
    special = _suggest_from_words(words)
    if special is not None:
        return special
    whole = _ROLES_BY_WORD.get("".join(words)) or (_ROLES_BY_WORD.get(words[0]) if len(words) == 1 else None)
    if whole:
        return RoleSuggestion(_choose_role(whole), 3)
    if roles := _ROLES_BY_WORD.get(words[-1]):
        return RoleSuggestion(_choose_role(roles), 2)
    for word in words:
        if roles := _ROLES_BY_WORD.get(word):
            return RoleSuggestion(_choose_role(roles), 1)
    return _suggest_from_ending("".join(words))


def _suggest_from_words(words: tuple[str, ...]) -> RoleSuggestion | None:
    """Return the role of several words combined: `answer_idx` is an answer, `wrong_answer` a distractor."""
    head, rest = words[-1], words[:-1]
    if any(word in _WORDS["distractor"] for word in words) and len(words) > 1:
        return RoleSuggestion("distractor", 3)
    if not rest:
        return None
    if words[0] in _WORDS["count"] and head != words[0]:
        return RoleSuggestion("metadata", 2)
    if "long" in rest and "answer" in head:
        return RoleSuggestion("explanation", 2)
    if any(word in ("model", "predicted", "generated", "llm", "actual") for word in rest):
        return RoleSuggestion("prediction", 2)
    has_mark = any(word in _WORDS["answer_mark"] for word in rest)
    if has_mark and (head in _WORDS["answer_tail"] or "answer" in _ROLES_BY_WORD.get(head, ())):
        return RoleSuggestion("answer", 3)
    if head == "truth" and "ground" in rest:
        return RoleSuggestion("answer", 3)
    if "id" in words or "ids" in words:
        return RoleSuggestion("id", 2)
    return None


def _choose_role(roles: list[ColumnRole]) -> ColumnRole:
    """Return the role of a word with several roles: that of a single column, not of a family of options."""
    return next((role for role in ("answer", "question", "statement") if role in roles), roles[0])


def _suggest_from_ending(name: str) -> RoleSuggestion | None:
    """Find a known word at the end of a name in a script without spaces between words."""
    if name.isascii():
        return None
    cuts = ((name[:size], name[size:]) for size in range(1, len(name)))
    if any(
        "answer" in _ROLES_BY_WORD.get(one, ()) and "id" in _ROLES_BY_WORD.get(two, ()) for one, two in cuts
    ):
        return RoleSuggestion("answer", 3)  # 정답번호 is answer, number
    for size in range(min(len(name) - 1, 6), 1, -1):
        for piece in (name[-size:], name[:size]):
            if roles := _ROLES_BY_WORD.get(piece):
                return RoleSuggestion(_choose_role(roles), 2)
    return None


def is_weak_answer(name: str) -> bool:
    """Whether a name suggests an answer only if no clearer name exists: `output`, `response`."""
    words = [word for word in split_column_name(name) if not word.isdigit()]
    return len(words) == 1 and words[0] in _WORDS["weak_answer"]


def is_final_answer(name: str) -> bool:
    """Whether a name says that this answer is the agreed one among several: `gold_label`."""
    return not _FINAL.isdisjoint(split_column_name(name))


_FINAL = frozenset(("gold", "golden", "final", "correct", "right", "expected", "majority", "truth"))


def is_remark(name: str) -> bool:
    """Whether a name says that its texts are remarks about the row: `Notes`."""
    return not _WORDS["remark"].isdisjoint(split_column_name(name))


class NumberedName(NamedTuple):
    """A numbered name: `option_a`, `choice0`, `보기1`."""

    stem: str
    """The name without its number or letter; names that differ in case alone have one family each."""
    place: int
    base: int | None
    """The number of the first name, 0 or 1; None for letters."""


_ENUMERATIONS = (
    "أبجدهوزح",
    "ابجدهوزح",
    "абвгдежз",
    "甲乙丙丁戊己庚辛",
    "가나다라마바사",
    "①②③④⑤⑥⑦⑧⑨",
    "アイウエオカキク",
    "αβγδεζηθ",
    "一二三四五六七八",
)
"""Characters that number options, besides Latin letters and digits."""
_DIGITS_AT_END = re.compile(r"^(?P<stem>.*?)[\W_]*(?P<number>\d{1,2})[\W_]*$")
_LETTER_AT_END = re.compile(r"^(?P<stem>.*?[\W_])?(?P<letter>[A-Za-z])[\W_]*$")
_CAPITAL_AT_END = re.compile(r"^(?P<stem>[a-z\d_]*[a-z]|.*[^\x00-\x7f])(?P<letter>[A-Z])$")
_SHORT_STEM = re.compile(r"^(?P<stem>op|opt|option|ans|choice)(?P<letter>[a-h])$", re.IGNORECASE)


@lru_cache(maxsize=4096)
def parse_numbered_name(name: str) -> NumberedName | None:
    """Return the parts of a numbered name, or None."""
    for characters in _ENUMERATIONS:
        place = characters.find(name.strip().casefold()[-1:])
        if name.strip() and place >= 0:
            stem = name.strip()[:-1].strip(" _-.:()")
            return NumberedName(stem, place, None)
    text = unicodedata.normalize("NFKC", name).strip()
    if match := _DIGITS_AT_END.match(text):
        number = int(match["number"])
        return NumberedName(match["stem"], number, number)
    for pattern in (_LETTER_AT_END, _CAPITAL_AT_END, _SHORT_STEM):
        if match := pattern.match(text):
            stem = (match["stem"] or "").strip(" _-.:()")
            return NumberedName(stem, ord(match["letter"].casefold()) - ord("a"), None)
    return None


_NUMBER_INSIDE = re.compile(r"(?<!\w)(?:(?P<number>\d)|(?P<letter>[A-H]))(?=\W+\w)")


def _numbers_inside(name: str) -> Iterator[tuple[NumberedName, str]]:
    """Yield the numbers within a name, each with what follows it: `Answer 1 - max 75 characters`."""
    text = unicodedata.normalize("NFKC", name).strip()
    for match in _NUMBER_INSIDE.finditer(text):
        stem = text[: match.start()].strip(" _-.:()")
        if not stem:
            continue
        number = None if match["number"] is None else int(match["number"])
        place = ord(match["letter"]) - ord("A") if number is None else number
        yield NumberedName(stem, place, number), text[match.end() :].casefold()


def find_numbered_families(columns: tuple[str, ...]) -> list[tuple[str, tuple[str, ...], int | None]]:
    """Return the families of columns that count without a gap: stem, columns in order, first number."""
    families: dict[tuple[str, str, bool], dict[int, str]] = {}
    stems: dict[tuple[str, str, bool], str] = {}
    for name in columns:
        found = parse_numbered_name(name)
        places = [] if found is None else [(found, "")]
        for one, tail in (*places, *_numbers_inside(name)):
            key = one.stem.casefold(), tail, one.base is None
            stems.setdefault(key, one.stem)
            families.setdefault(key, {}).setdefault(one.place, name)
    made = []
    for key, members in families.items():
        stem, by_letter = stems[key], key[2]
        first = min(members)
        run = list(takewhile(members.__contains__, count(first)))
        if len(run) >= 2 and first in ((0,) if by_letter else (0, 1)):
            made.append((stem, tuple(members[place] for place in run), None if by_letter else first))
    return made


def is_option_stem(stem: str) -> bool:
    """Whether the stem of a column family is a word for options, or empty (letters only)."""
    if not stem:
        return True
    words = [word for word in split_column_name(stem) if not word.isdigit()]
    return bool(words) and any(
        "option" in _ROLES_BY_WORD.get(word, ()) for word in (words[-1], "".join(words))
    )
