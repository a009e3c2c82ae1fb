"""Options and answers: how a dataset writes its options and names the right one.

`answer` may be an option's label, its text, or an index counted from 0 or 1. One reading must fit every row
that has an answer. If two readings fit and disagree, the person must choose; Assay does not guess.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

from assay.core.names import compose_name
from assay.core.response import Failure
from assay.dialects.shared.template import get_field

AnswerForm: TypeAlias = Literal["label", "text", "index0", "index1"]
ANSWER_FORMS: tuple[AnswerForm, ...] = ("label", "text", "index0", "index1")
_NUMBERED = re.compile(r"^(option|opt|choice|ending|sol)[_ ]?(\d+)$", re.IGNORECASE)


class Options(NamedTuple):
    """The options of one record."""

    labels: tuple[str, ...]
    texts: tuple[str, ...]
    columns: tuple[str, ...] = ()
    """The columns that hold the options: answers may name them."""


def find_option_columns(columns: Iterable[str]) -> tuple[str, ...]:
    """Return the columns that are clearly options: A, B, C ... without a gap, or choice0, choice1, ..."""
    names = list(columns)
    letters: list[str] = []
    for label in iterate_labels():
        if label not in names:
            break
        letters.append(label)
    if len(letters) >= 2:
        return tuple(letters)
    families: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        if match := _NUMBERED.match(name):
            families.setdefault(match[1].lower(), []).append((int(match[2]), name))
    for family in families.values():
        numbers = sorted(family)
        if len(numbers) >= 2 and [n for n, _ in numbers] == list(
            range(numbers[0][0], numbers[0][0] + len(numbers))
        ):
            return tuple(name for _, name in numbers)
    return ()


def iterate_labels() -> Iterable[str]:
    """Yield A, B, ... Z, AA, AB, ... without end."""
    yield from string.ascii_uppercase
    for first in string.ascii_uppercase:
        for second in string.ascii_uppercase:
            yield first + second


@lru_cache(maxsize=64)
def build_labels(n: int) -> tuple[str, ...]:
    """Return the first n labels."""
    return tuple(label for label, _ in zip(iterate_labels(), range(n), strict=False))


def read_option_list(fields: Mapping[str, Any], name: str) -> list[str] | None:
    """Return the options in a list-valued field as texts; None if it is not a list.

    A JSON object with `text` and `label`, as in ARC, counts as the list of its texts.
    """
    value = get_field(fields, name, None)
    if isinstance(value, Mapping) and isinstance(value.get("text"), Sequence):
        value = value["text"]
    if isinstance(value, str) or not isinstance(value, Sequence):
        return None
    return [text if isinstance(text, str) else str(text) for text in value]


def read_answer(value: Any, options: Options, form: AnswerForm) -> tuple[int, ...] | None:
    """Return the indexes of the right options under one reading, or None if it does not fit.

    A list names several right options.
    """
    if isinstance(value, (list, tuple)):
        several = [read_answer(one, options, form) for one in value]
        if not several or any(one is None for one in several):
            return None
        return tuple(index for one in several if one for index in one)
    index = _READERS[form](value, options)
    if index is not None:
        return (index,)
    if form == "text" or not isinstance(value, str):
        return None
    return _by_several(value, options, form)


def _match_label(value: Any, options: Options) -> int | None:
    text = str(value).strip()
    if text not in options.labels:
        text = _to_plain_characters(text)  # Ａ for A
    if text in options.labels:
        return options.labels.index(text)
    if text in options.columns:
        return options.columns.index(text)
    return _match_decorated_label(text, options)


_OPTION_WORD = re.compile(
    r"^(?:option|choice|answer|alternative|opt|ans|op|选项|보기)[\s_\-]*(\w+)$", re.IGNORECASE
)
_LABEL_AND_TEXT = re.compile(r"^[(\[]?\s*(\w{1,2})\s*[)\].:、]\s*(.+)$", re.DOTALL)


def _match_decorated_label(text: str, options: Options) -> int | None:
    """Return the option that a text names by a decorated label.

    `a`, `(A)`, `A.`, `Option A`, `option_a`, and `A. Paris` if Paris is the text of option A.
    """
    labels = [label.casefold() for label in options.labels]
    bare = text.casefold().strip("()[]{}. :*")
    word = _OPTION_WORD.match(bare)
    for candidate in (bare, word[1] if word else ""):
        if labels.count(candidate) == 1:
            return labels.index(candidate)
    if (match := _LABEL_AND_TEXT.match(text)) is not None and labels.count(match[1].casefold()) == 1:
        index = labels.index(match[1].casefold())
        if compose_name(match[2].strip()) == compose_name(options.texts[index].strip()):
            return index
    return None


def _by_several(text: str, options: Options, form: AnswerForm) -> tuple[int, ...] | None:
    """Return the options that one text names together: `A,C`, `A and C`, `AC`, `1, 3`."""
    parts = [part for part in re.split(r"[\s,;/|&、，]+|\band\b", text) if part]
    if form == "label" and len(parts) == 1 and text.isalpha() and text.isupper():
        parts = list(text)
    if len(parts) < 2:
        return None
    found = [_READERS[form](part, options) for part in parts]
    indexes = tuple(index for index in found if index is not None)
    return indexes if len(indexes) == len(set(indexes)) == len(parts) else None


def _match_text(value: Any, options: Options) -> int | None:
    text = compose_name(str(value).strip())
    matching = [i for i, option in enumerate(options.texts) if compose_name(option.strip()) == text]
    return matching[0] if len(matching) == 1 else None


def _match_index(value: Any, options: Options, first: int) -> int | None:
    if isinstance(value, bool):
        return None
    # pandas writes a column of integers with gaps as 1.0, 2.0.
    text = _to_plain_characters(str(value).strip())
    if text not in options.texts:
        text = text.removesuffix(".0")
    index = int(text) - first if text.isdecimal() else -1
    return index if 0 <= index < len(options.texts) else None


def _to_plain_characters(text: str) -> str:
    """Convert full-width letters and circled digits to plain ones: Ａ is A, ② is 2."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


_READERS: dict[AnswerForm, Callable[[Any, Options], int | None]] = {
    "label": _match_label,
    "text": _match_text,
    "index0": lambda value, options: _match_index(value, options, 0),
    "index1": lambda value, options: _match_index(value, options, 1),
}


class AnswerFormCounts:
    """Counts of the rows that fit each reading of the answer."""

    def __init__(self, *, trusts_labels: bool = False) -> None:
        """Count all readings, or with `trusts_labels` stop after the label reading while it fits.

        A label is unambiguous, so the other readings do not matter if all answers are labels. If an answer is
        not a label, the counts are incomplete and `is_whole` is false.
        """
        self.n = 0
        self.fits: dict[AnswerForm, int] = dict.fromkeys(ANSWER_FORMS, 0)
        self.differ: set[frozenset[AnswerForm]] = set()
        self.lowest: int | None = None
        """The lowest number among answers that can be indexes."""
        self.several: set[AnswerForm] = set()
        """The readings under which at least one answer names several options."""
        self._trusts_labels = trusts_labels

    @property
    def is_whole(self) -> bool:
        """Whether the counts are complete: all readings were counted, or labels fit every row."""
        return not self._trusts_labels or self.fits["label"] == self.n

    def add(self, value: Any, options: Options) -> None:
        """Count one row's answer."""
        self.n += 1
        if self._trusts_labels:
            gold = read_answer(value, options, "label")
            if gold is not None:
                self._count("label", gold)
            return
        readings = {
            form: gold for form in ANSWER_FORMS if (gold := read_answer(value, options, form)) is not None
        }
        for form, gold in readings.items():
            self._count(form, gold)
        if (gold := readings.get("index1")) is not None:
            self.lowest = min((self.lowest or gold[0] + 1, *(index + 1 for index in gold)))
        forms = list(readings)
        for i, one in enumerate(forms):
            for other in forms[i + 1 :]:
                if readings[one] != readings[other]:
                    self.differ.add(frozenset((one, other)))

    def _count(self, form: AnswerForm, gold: tuple[int, ...]) -> None:
        self.fits[form] += 1
        if len(gold) > 1:
            self.several.add(form)

    def best(self) -> AnswerForm:
        """Return the reading that fits most rows; the label reading wins ties."""
        return max(ANSWER_FORMS, key=lambda form: (self.fits[form], -ANSWER_FORMS.index(form)))

    def find_rivals(self, form: AnswerForm) -> tuple[AnswerForm, ...]:
        """Return the other readings that fit every row but give different answers."""
        # Labels are the documented form and therefore unambiguous.
        if form == "label" or self.fits[form] < self.n:
            return ()
        return tuple(
            other
            for other in ANSWER_FORMS
            if other != form and self.fits[other] == self.n and frozenset((form, other)) in self.differ
        )


UNKNOWN_LABEL = Failure(
    "unknown_label",
    "the server returned only its top tokens, and a label is not among them: its probability is not known",
)
"""Used instead of 0, with which code that divides or takes logarithms would compute a wrong number."""
