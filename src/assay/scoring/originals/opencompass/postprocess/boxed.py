r"""Answers in a LaTeX box, or stated in a sentence where there is none."""

from __future__ import annotations

import re
from collections.abc import Callable

from assay.scoring.differences import Difference
from assay.scoring.originals.opencompass.postprocess.minerva import dapo_form, opencompass_form
from assay.scoring.originals.opencompass.postprocess.processor import PostProcessor, make_unchanged

_BOX = r"\boxed"
_FRAMED = r"\fbox{"
_BRACED = re.compile(r"\{(.*)\}$")
_SENTENCE_POINT = re.compile(r"\.(?!\d)")
_FINAL = re.compile("final answer")
_STATES_ANSWER = re.compile("final answer|answer is")
_AFTER_ANSWER = re.compile(r"answer\s*:\s*(.+)", re.IGNORECASE)
_INVALID = "[INVALID]"
_N_TAIL = 100
"""DAPO looks for a box in so many last characters."""
_NO_NAME = "None"
_AROUND_NAME = re.compile(r"\\(?:text|boxed)\{([^{}]+)\}")
_BACKSLASH = re.compile(r"\\[\[\]]?")
_MARKS_IN_NAME = str.maketrans({'"': None, "'": None, "~": " "})


def find_last_boxed(text: str) -> str | None:
    r"""Return what stands in the last \boxed{}, None where there is none, or it does not close."""
    at = text.rfind(_BOX)
    if at < 0 or not text.startswith(f"{_BOX}{{", at):
        return None
    return _read_braces(text, at + len(_BOX))


def _read_braces(text: str, at: int) -> str | None:
    """Return what stands in the braces that open at a place."""
    depth = 0
    for end in range(at, len(text)):
        depth += (text[end] == "{") - (text[end] == "}")
        if depth == 0:
            return text[at + 1 : end]
    return None


def _strip_outer_braces(answer: str | None) -> str | None:
    r"""Return an answer without braces around all of it: \boxed{{5}} is 5."""
    inner = _BRACED.match(answer) if answer else None
    return inner[1] if inner else answer


def _first_piece(text: str, stated: re.Pattern[str], parted: Callable[[str], list[str]]) -> str:
    """Return the first piece of a text that states the answer, else its first one."""
    pieces = parted(text)
    return next((piece for piece in pieces if stated.search(piece.lower())), pieces[0])


def _split_at_points(text: str) -> list[str]:
    return text.split(".")


def _find_math_original(text: str) -> str:
    return opencompass_form(_first_piece(text, _FINAL, _split_at_points))


def _find_math(text: str) -> str:
    return opencompass_form(_first_piece(text, _FINAL, _SENTENCE_POINT.split))


def _original_math_v2(text: str) -> str:
    boxed = _strip_outer_braces(find_last_boxed(text))
    return boxed or opencompass_form(_first_piece(text, _STATES_ANSWER, _split_at_points))


def _math_v2(text: str) -> str:
    at = text.rfind(_FRAMED)
    framed = _read_braces(text, at + len(_FRAMED) - 1) if at >= 0 else None
    boxed = _strip_outer_braces(find_last_boxed(text) or framed)
    return boxed or opencompass_form(_first_piece(text, _STATES_ANSWER, _SENTENCE_POINT.split))


def _find_after_answer(text: str) -> str:
    found = _AFTER_ANSWER.search(text)
    return found[1] if found else ""


def _original_dapo(text: str) -> str:
    found = _AFTER_ANSWER.findall(text)
    return dapo_form(found[-1] if found else _INVALID)


def _dapo(text: str) -> str | None:
    found = _AFTER_ANSWER.findall(text)
    return dapo_form(found[-1]) if found else None


def _find_dapo_boxed(text: str) -> str:
    at = text.rfind(f"{_BOX}{{")
    return (_read_braces(text, at + len(_BOX)) or "") if at >= 0 else ""


def _find_dapo_boxed_original(text: str) -> str:
    return _find_dapo_boxed(text[-_N_TAIL:])


def _original_name(text: str) -> str:
    name = _name(text)
    return _NO_NAME if name is None else name


def _name(text: str) -> str | None:
    answer = _strip_outer_braces(find_last_boxed(text))
    if not answer or answer == _NO_NAME:
        return None
    while (inner := _AROUND_NAME.sub(r"\1", answer)) != answer:
        answer = inner
    return " ".join(_BACKSLASH.sub("", answer).split()).translate(_MARKS_IN_NAME)


def _olympiad(text: str, *, is_chinese: bool = False, is_deepseek: bool = False) -> str:
    if is_deepseek:
        phrase = "## 解题答案" if is_chinese else "The answer is: "
    else:
        phrase = "所以最终答案是" if is_chinese else "So the final answer is "
    found = re.findall(f"{phrase}(.*)", text)
    return str(found[-1]).strip() if found else text


MATH = PostProcessor(
    _find_math_original,
    _find_math,
    Difference("a decimal point ends the answer: 0.5 is 0", "numbers stay whole"),
)
MATH_V2 = PostProcessor(
    _original_math_v2,
    _math_v2,
    Difference(
        r"a decimal point ends an answer outside a box: 0.5 is 0; `\fbox{5}` is not read",
        r"numbers stay whole; `\fbox{5}` is 5",
    ),
)
MATH_JUDGED = make_unchanged(_find_after_answer)
DAPO = PostProcessor(
    _original_dapo,
    _dapo,
    Difference(f"without `Answer:` the answer is `{_INVALID}`", "without it there is no answer"),
)
DAPO_BOXED = PostProcessor(
    _find_dapo_boxed_original,
    _find_dapo_boxed,
    Difference(
        "only the last 100 characters are looked at, which may begin inside a box", "the whole text is"
    ),
)
NEEDLEBENCH_NAME = PostProcessor(
    _original_name,
    _name,
    Difference(f"without a box the answer is `{_NO_NAME}`", "without a box there is no answer"),
)
OLYMPIADBENCH = make_unchanged(_olympiad)
