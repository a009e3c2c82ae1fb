"""Decide whether the first row of a table holds column names or data, from names and values alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from assay.core.errors import AuthorError, Problem, listing
from assay.core.origin import Origin
from assay.sources.faults import require_column_names
from assay.sources.file_settings import FileReading, FileSettings, UndecidedFile

_WORDS = (
    "question|query|problem|prompt|input|instruction|goal|premise|hypothesis|stem|sentence|text|context"
    "|passage|article|document|support|answer|label|target|gold|correct|expected|output|response|reply"
    "|completion|solution|explanation|option|options|choice|choices|alternative|distractor|id|idx|index|category"
    "|subject|topic|type|source|split|level|difficulty|score|rating|name|title|lang|language|date|year|class"
    "|pregunta|respuesta|frage|antwort|réponse|vraag|antwoord|domanda|risposta|pergunta|resposta|вопрос|ответ"
)
_KNOWN = re.compile(rf"(?:{_WORDS})s?")
_KNOWN_WIDE = re.compile("질문|문제|정답|답|보기|问题|題目|题目|答案|选项|選項|質問|問題|回答|選択肢")
"""Words that people use in column names and that are rarely a whole value."""
_BESIDE = re.compile(
    r"correct|right|best|wrong|false|true|key|text|number|no|nr|of|the|ground|truth|model|\w|\d+"
)
"""Words that appear next to them in names of several words."""
_NUMBER = re.compile(r"[-+]?\d[\d ]*(?:[.,]\d+)*%?")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LONG_WORDS = 4
_LONG_CHARS = 20
_SHORT_WIDE = 8
"""Maximum characters of a Chinese, Japanese or Korean name; a longer text is a sentence with the word."""
_FEW = 12
"""Maximum number of different values in a column of labels."""


def find_header_fault(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str | None:
    """Return why the first row seems to be data; None if it can be a header."""
    if not rows or _is_numbered(names) or _is_lettered(names) or any(map(_is_name, names)):
        return None
    columns = [[row[at].strip() for row in rows if at < len(row) and row[at]] for at in range(len(names))]
    if any(_is_above_numbers(name, values) for name, values in zip(names, columns, strict=True)):
        return None
    for at, name in enumerate(map(str.strip, names)):
        if reason := _reads_like_value(name, columns[at]):
            return f"{name[:60]!r} in column {at + 1} {reason}"
    again = [name.strip() for name, values in zip(names, columns, strict=True) if name.strip() in values]
    if len(again) > 1:
        return f"{listing(name[:60] for name in again)} also appear as values of their columns"
    doubled = [name for name, n in Counter(names).items() if n > 1 and name.strip()]
    if doubled:
        return f"{doubled[0][:60]!r} appears in {list(names).count(doubled[0])} columns"
    return None


def require_header(names: Sequence[str], rows: Sequence[Sequence[str]], where: Origin) -> None:
    """Raise SOURCE-015 if the first row seems to be data, with the commands for both readings."""
    reason = find_header_fault(names, rows)
    if reason is None:
        return
    what = f"the first row seems to be data, not a header: {reason}"
    columns = _suggest_columns(names, rows) or None
    readings = [
        FileReading("the first row is data", FileSettings(has_header=False, columns=columns)),
        FileReading("the first row holds the column names", FileSettings(has_header=True)),
    ]
    raise UndecidedFile("SOURCE-015", what, readings, where)


INDEX_NAME = "Unnamed: 0"


class TableHead(NamedTuple):
    """The column names of a table and, if it has no header, its first row."""

    columns: tuple[str, ...]
    first: Sequence[object] | None
    """The first row if it is data."""


def read_table_head(settings: FileSettings, first: Sequence[object], where: Origin) -> TableHead:
    """Return the column names of a table, from its first row or from the settings."""
    names = [str(value) for value in first]
    if settings.columns is not None:
        given = settings.columns
        if len(given) != len(names):
            what = (
                f"--columns has {len(given)} names, {listing(given)}; the first row has {len(names)} columns"
            )
            fix = f"name every column; the first row is {listing(name[:40] for name in names)}"
            raise AuthorError(Problem("SOURCE-009", what, fix, where))
        require_column_names(given, Origin(where.path))
        is_header = settings.has_header is True or settings.header_row is not None
        if not is_header and _fold_names(names) == _fold_names(given):
            what = f"--columns repeats the first row, {listing(names)}, so that row is a header"
            raise AuthorError(Problem("SOURCE-009", what, "omit --columns", where))
        return TableHead(given, None if is_header else first)
    if settings.is_headerless:
        return TableHead(tuple(f"column_{at}" for at in range(1, len(names) + 1)), first)
    if len(names) > 1 and [name.strip() for name in names].count("") == 1 and not names[0].strip():
        # pandas writes the row index without a name, and uses this name when it reads the file back.
        names[0] = INDEX_NAME
    require_column_names(names, where)
    return TableHead(tuple(names), None)


def _fold_names(names: Sequence[str]) -> list[str]:
    return [name.strip().lower() for name in names]


def _is_numbered(names: Sequence[str]) -> bool:
    """Return whether the names are the numbers that pandas gives to unnamed columns."""
    return any([name.strip() for name in names] == [str(k + n) for k in range(len(names))] for n in (0, 1))


def _is_lettered(names: Sequence[str]) -> bool:
    """Return whether three adjacent names are consecutive letters, as the names of options are."""
    marks = [name.strip().upper() for name in names]
    orders = zip(marks, marks[1:], marks[2:], strict=False)
    return any("".join(three) in _LETTERS and all(len(mark) == 1 for mark in three) for three in orders)


def _is_name(name: str) -> bool:
    """Return whether a text consists of words for columns: `question`, `Option 1`, `correct answer`."""
    text = name.strip()
    if re.fullmatch(r"__\w+|\w+_id", text):
        return True
    if len(text) <= _SHORT_WIDE and _KNOWN_WIDE.search(text):
        return True
    words = re.findall(r"[^\W\d_]+|\d+", re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower())
    known = [_KNOWN.fullmatch(word) is not None for word in words]
    # An identifier is not a sentence, so one known word in it is enough.
    others = text.isidentifier() or all(
        is_known or _BESIDE.fullmatch(word) for word, is_known in zip(words, known, strict=True)
    )
    return any(known) and others and len(words) <= _LONG_WORDS


def _is_above_numbers(name: str, values: Sequence[str]) -> bool:
    """Return whether a name that is a word is above a column of numbers."""
    filled = [value for value in values if value]
    n = sum(_NUMBER.fullmatch(value) is not None for value in filled)
    return (
        len(filled) >= 3 and n == len(filled) and bool(name.strip()) and not _NUMBER.fullmatch(name.strip())
    )


def _reads_like_value(name: str, values: Sequence[str]) -> str | None:
    """Return why a name seems to be a value of its column; None if it does not."""
    filled = [value for value in values if value]
    if not name or not filled:
        return None
    if _NUMBER.fullmatch(name) and sum(_NUMBER.fullmatch(value) is not None for value in filled) * 2 > len(
        filled
    ):
        return "is a number, like the values below it"
    if name in filled:
        different = len(set(filled))
        if different <= _FEW and len(filled) >= different + 1:
            return f"is one of the {different} values of the column"
    typical = sorted(map(len, filled))[len(filled) // 2]
    words = len(name.split())
    is_long = len(name) >= _LONG_CHARS and (words >= _LONG_WORDS or not name.isascii())
    if is_long and typical * 3 >= len(name):
        return "is as long as the values below it"
    if name.endswith(("?", "？", "=", "。")) and any(value.endswith(name[-1]) for value in filled):
        return f"ends in {name[-1]!r}, like values below it"
    return None


def _suggest_columns(names: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return column names for the usual headerless table: a question, options, the letter of the answer."""
    width = len(names)
    letters = [chr(ord("A") + at) for at in range(width - 2)]
    if 4 <= width <= 12 and {row[-1].strip() for row in (names, *rows) if len(row) == width} <= set(letters):
        return ("question", *letters, "answer")
    return ("question", "answer") if width == 2 else ()
