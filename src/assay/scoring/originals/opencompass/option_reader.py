"""The option reader of OpenCompass and AISBench, used only with `--fidelity faithful`.

Phrases are tried in order. The order decides, not the position in the text: an early phrase wins over a later
one that occurs first in the reply. Only the first match of each phrase counts. Results that a careful reader
would reject are reproduced too: every letter after `1.` counts, and the A of `The answer is Apple` is option
A. `benchmarks/conformance_option_readers.py` compares both originals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from assay.scoring.extract.extraction import Extraction

_LABEL = "label"
_ANSWER, _OPTION = "答案", "选项"
_CORRECT, _WRONG = "正确", "错"


class Slot(Enum):
    """A part of a phrase that is not a fixed word."""

    LABEL = "one label"
    ANOTHER = "one label that does not count"
    RUN = "characters without white space; the first label in it counts"
    REST = "everything up to the end; the first label in it counts"
    ANYTHING = "any text, as short as possible"
    CHARACTER = "one character"
    EMPHASIS = "an opening bracket and up to two asterisks, or some of them, or nothing"
    SPACE = "white space"
    SPACES = "white space, or none"
    ONE_SPACE = "one white-space character, or none"
    START = "the start of the reply"
    END = "the end of the reply"


Part = str | Slot | tuple[str | Slot, ...]
"""A fixed word, a slot, or alternatives of which the first match is taken."""


class Phrase(NamedTuple):
    """A named sequence of words and slots that contains one label, or a text in which a label is searched."""

    name: str
    parts: tuple[Part, ...]
    ignores_case: bool = False

    def compile(self, labels: Sequence[str]) -> re.Pattern[str]:
        """Return the pattern for these labels."""
        flags = re.S | re.I if self.ignores_case else re.S
        return re.compile("".join(_pattern(part, labels) for part in self.parts), flags)


def _pattern(part: Part, labels: Sequence[str]) -> str:
    if isinstance(part, tuple):
        return "(?:" + "|".join(_pattern(one, labels) for one in part) + ")"
    if isinstance(part, str):
        return re.escape(part)
    label = "|".join(re.escape(one) for one in sorted(labels, key=len, reverse=True))
    return {
        Slot.LABEL: f"(?P<{_LABEL}>{label})",
        Slot.ANOTHER: f"(?:{label})",
        Slot.RUN: rf"(?P<{_LABEL}>\S+)",
        Slot.REST: f"(?P<{_LABEL}>.*)",
        Slot.ANYTHING: ".*?",
        Slot.CHARACTER: ".",
        Slot.EMPHASIS: r"\(?\*{0,2}",
        Slot.SPACE: r"\s+",
        Slot.SPACES: r"\s*",
        Slot.ONE_SPACE: r"\s?",
        Slot.START: r"\A",
        Slot.END: r"\Z",
    }[part]


def _make_optional(*words: str) -> tuple[str, ...]:
    return (*words, "")


def _make_stated_phrase(name: str, *lead: Part, gap: Slot = Slot.SPACES) -> Phrase:
    """Return a phrase that ends in its label."""
    return Phrase(name, (*lead, gap, Slot.LABEL))


def _build_closing_phrase(name: str, *lead: Part, marks: str = ".。") -> Phrase:
    """Return a phrase whose label is the last character of the reply, or the one before final punctuation."""
    return Phrase(name, (*lead, Slot.LABEL, _make_optional(*marks), Slot.END))


def _chinese_answers() -> Iterator[Phrase]:
    """Yield 'the answer is X' and its variants."""
    must = ("应该", "应")
    may = _make_optional(*must, "该")
    colons = {"wide_colon": "：", "colon": ":"}
    yield _make_stated_phrase("zh_answer", _ANSWER, _make_optional("是"))
    for name, colon in colons.items():
        yield _make_stated_phrase(f"zh_answer_{name}", _ANSWER, _make_optional("是"), Slot.SPACES, colon)
    for name, verb in {"is": "是", "equals": "为"}.items():
        yield _make_stated_phrase(f"zh_answer_option_{name}", _ANSWER + _OPTION, may, verb)
    for name, verb in {"be": "是", "choose": "选"}.items():
        yield _make_stated_phrase(f"zh_answer_should_{name}", _ANSWER, must, verb)
    option = _ANSWER + _OPTION
    yield _make_stated_phrase(
        "zh_answer_option_wide_colon", option, _make_optional("为"), Slot.SPACES, colons["wide_colon"]
    )
    marked = (option, _make_optional("为"), Slot.SPACE, Slot.EMPHASIS, Slot.LABEL)
    yield Phrase("zh_answer_option_marked", marked)
    yield _make_stated_phrase(
        "zh_answer_option_colon", option, _make_optional("是"), Slot.SPACES, colons["colon"]
    )
    yield _make_stated_phrase("zh_answer_equals", _ANSWER, "为")
    yield _make_stated_phrase("zh_answer_choose", _ANSWER, "选")
    yield _make_stated_phrase("zh_choose", "选", _make_optional("择"))


def _chinese_verdicts() -> Iterator[Phrase]:
    """Yield phrases that call an option right or wrong."""
    item = _make_optional(_OPTION, "选", "项")
    only = ("只有", item, Slot.ONE_SPACE)
    # Two options in one phrase: the first is the answer.
    first = ("故", _make_optional("选"), Slot.SPACES, Slot.LABEL)
    yield Phrase(
        "zh_therefore_only", (*first, *only, Slot.ANOTHER, Slot.ONE_SPACE, _make_optional("是"), "对")
    )
    yield Phrase("zh_only_wrong", (*only, Slot.LABEL, Slot.ONE_SPACE, _make_optional("是"), _WRONG))
    yield Phrase("zh_only_correct", (*only, Slot.LABEL, Slot.ONE_SPACE, _make_optional("不"), _CORRECT))
    which = (item, _make_optional("的"), "是")
    claims: dict[str, tuple[Part, ...]] = {
        "right": (_make_optional("不"), "对"),
        "correct": (_make_optional("不"), _CORRECT),
        "wrong": ("错误",),
    }
    for name, claim in claims.items():
        yield _make_stated_phrase(f"zh_statement_{name}", "说法", *claim, *which, gap=Slot.ONE_SPACE)
    for name, ending in {"correct": "的", "correct_answer": _ANSWER}.items():
        yield Phrase(f"zh_is_{name}", (Slot.LABEL, Slot.ONE_SPACE, "是" + _CORRECT + ending))
    yield Phrase("zh_option_correct", (_OPTION, Slot.ONE_SPACE, Slot.LABEL, Slot.ONE_SPACE, _CORRECT))
    yield _make_stated_phrase("zh_so_answer", "所以答", gap=Slot.ONE_SPACE)


def _english_answers() -> Iterator[Phrase]:
    """Yield 'The answer is X' and its variants."""

    def after(subject: str, *marks: Part) -> tuple[Part, ...]:
        return ("T", "t"), f"he {subject}", _make_optional(":"), *marks

    bracket = (Slot.SPACE, _make_optional("("))
    # 'ANSWER: b' matches and names no option: the case of the letter matters.
    colon = ("answer", Slot.SPACES, ":", Slot.SPACES, Slot.LABEL)
    yield Phrase("answer_colon", colon, ignores_case=True)
    yield Phrase("answer_is", (*after("answer is", *bracket), Slot.LABEL))
    yield Phrase("answer_is_marked", (*after("answer is", Slot.SPACE, Slot.EMPHASIS), Slot.LABEL))
    for subject in ("answer is option", "correct answer is", "correct answer is option"):
        yield Phrase(subject.replace(" ", "_"), (*after(subject, *bracket), Slot.LABEL))
    for subject in ("correct answer", "correct option", "correct answer option"):
        box = (Slot.ANYTHING, "boxed{", Slot.LABEL, "}")
        yield Phrase(f"{subject.replace(' ', '_')}_boxed", after(f"{subject} is", *box))
    question = "answer to the question is"
    yield Phrase(question.replace(" ", "_"), (*after(question, *bracket), Slot.LABEL))


_PAUSES = (Slot.SPACE, *"，,：:")

PHRASES = (
    *_chinese_answers(),
    *_chinese_verdicts(),
    _build_closing_phrase("closing_so", ("所以", "所有"), Slot.ONE_SPACE, marks=".。$"),
    _build_closing_phrase("closing_letter", _PAUSES, marks=".。，,"),
    _build_closing_phrase("closing_therefore", _PAUSES, ("故", "即")),
    _build_closing_phrase("closing_zh_link", ("是", "为", "。", "因此", "显然"), Slot.ONE_SPACE),
    # Any text between 'the answer is' and a full stop or the end of the reply.
    *(
        Phrase(f"zh_answer_{name}text", (_ANSWER + verb, Slot.ONE_SPACE, Slot.RUN, ("。", Slot.END)))
        for name, verb in {"": "是", "should_be_": "应该是", "equals_": "为"}.items()
    ),
    *_english_answers(),
    Phrase("opening_zh_option", (Slot.START, _OPTION, Slot.ONE_SPACE, Slot.LABEL)),
    Phrase("opening_letter_zh_option", (Slot.START, Slot.LABEL, Slot.ONE_SPACE, _make_optional("选"), "项")),
    Phrase("opening_letter", (Slot.START, Slot.LABEL, (Slot.SPACE, *".。，,：:$"))),
    # Everything after the first 1 and one more character, which is intended for '1.'.
    Phrase("numbered_text", ("1", Slot.CHARACTER, Slot.ONE_SPACE, Slot.REST)),
)
"""The phrases in the order in which they are tried."""

CUSHION_PHRASES = (Phrase("letter_before_colon", (Slot.LABEL, ":")), Phrase("first_letter", (Slot.LABEL,)))
"""`cushion` adds this: a letter anywhere, even inside a word."""


@lru_cache(maxsize=256)
def _compile_phrases(labels: tuple[str, ...], cushion: bool) -> tuple[tuple[str, re.Pattern[str]], ...]:
    phrases = (*PHRASES, *CUSHION_PHRASES) if cushion else PHRASES
    return tuple((one.name, one.compile(labels)) for one in phrases)


def read_phrase(text: str, labels: Sequence[str], *, cushion: bool) -> Extraction:
    """Return the option that a phrase names, with the phrase's name as the rule; empty if none does."""
    body, labels = text.strip(), tuple(labels)
    offset = len(text) - len(text.lstrip())
    for name, pattern in _compile_phrases(labels, cushion):
        match = pattern.search(body)
        label = match and _find_named_label(match[_LABEL] or match[0], labels)
        if match and label:
            return Extraction(label, name, (match.start() + offset, match.end() + offset))
    return Extraction()


def _find_named_label(text: str, labels: Sequence[str]) -> str | None:
    """Return the first label, in the labels' order, that occurs in a text."""
    return text if text in labels else next((label for label in labels if label in text), None)


def infer_option(text: str, labels: Sequence[str], choices: Sequence[str | None]) -> Extraction:
    """Return the option that the original's evaluator finds in a reply; it finds one in every reply.

    A bare letter, else a phrase, else the only option whose text the reply contains, else the option at the
    smallest edit distance. A choice None is missing from the row.
    """
    reply, labels = text.strip(), tuple(labels)
    if reply in labels:
        start = text.index(reply)
        return Extraction(reply, "letter", (start, start + len(reply)))
    if (stated := read_phrase(text, labels, cushion=False)).answer is not None:
        return Extraction(stated.answer, f"phrase: {stated.rule}", stated.span)
    present = {label: choice for label, choice in zip(labels, choices, strict=True) if choice is not None}
    contained = [label for label, choice in present.items() if choice.lower() in reply.lower()]
    if len(contained) == 1:
        return Extraction(contained[0], "only_choice_inside")

    def distance(label: str) -> tuple[int, str]:
        spellings = (label, present[label], f"{label}. {present[label]}")
        return min(Levenshtein.distance(reply, one) for one in spellings), label

    return Extraction(min(present, key=distance), "edit_distance") if present else Extraction()
