r"""Math answers in a reply: in LaTeX boxes, stated in a sentence, by Minerva's or AGIEval's procedure.

The normal form is MATH's: `assay.scoring.latex`, or `minerva.hendrycks_form` exactly as in the original.
TheoremQA's own script parses answers with sympy and runs the result. Here nothing is run: arithmetic is
calculated, and any other expression stays as written, in the faithful mode too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

from assay.core.difference import Difference
from assay.scoring.latex import latex_form
from assay.scoring.originals.opencompass.postprocess.minerva import (
    dapo_form,
    hendrycks_form,
    minerva_form,
    opencompass_form,
)
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
"""DAPO looks for a box in this many last characters."""
_NO_NAME = "None"
_AROUND_NAME = re.compile(r"\\(?:text|boxed)\{([^{}]+)\}")
_BACKSLASH = re.compile(r"\\[\[\]]?")
_MARKS_IN_NAME = str.maketrans({'"': None, "'": None, "~": " "})


def find_last_boxed(text: str) -> str | None:
    r"""Return the contents of the last \boxed{}; None if there is none, or it does not close."""
    at = text.rfind(_BOX)
    if at < 0 or not text.startswith(f"{_BOX}{{", at):
        return None
    return _read_braces(text, at + len(_BOX))


def _read_braces(text: str, at: int) -> str | None:
    """Return the contents of the braces that open at a position."""
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


def _first_piece(text: str, stated: re.Pattern[str], split: Callable[[str], list[str]]) -> str:
    """Return the first piece of a text that states the answer, else its first piece."""
    pieces = split(text)
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
        "only the last 100 characters are searched, which may start inside a box",
        "the whole text is searched",
    ),
)
NEEDLEBENCH_NAME = PostProcessor(
    _original_name,
    _name,
    Difference(f"without a box the answer is `{_NO_NAME}`", "without a box there is no answer"),
)
OLYMPIADBENCH = make_unchanged(_olympiad)


_CONCLUDES = re.compile("final answer|therefore|thus|hence", re.IGNORECASE)
_PIECE_END = re.compile(r"\.(?!\d)")

_CLOZE_MARKS = ("The answer is therefore", "答案是")
_GREEDY_DOLLARS = re.compile(r"\$(.*)\$")
_DOLLARS = re.compile(r"\$([^$]+)\$")
_LAST_NUMBER = re.compile(r"\$?\d+(?:\.\d+)?\b")


def _find_conclusion(text: str, split: Callable[[str], list[str]]) -> str:
    """Return the first concluding piece of the last line that has one, or the text's first piece."""
    for line in reversed(text.split("\n")):
        for piece in split(line):
            if _CONCLUDES.search(piece):
                return piece
    return split(text)[0]


def _find_ultraeval_math_original(text: str) -> str:
    return _original_common(minerva_form(_find_conclusion(text, lambda line: line.split("."))))


def _find_ultraeval_math(text: str) -> str:
    return latex_form(minerva_form(_find_conclusion(text, _PIECE_END.split)))


def _original_common(text: str) -> str:
    try:
        return hendrycks_form(text)
    except ValueError:
        return text


def _cut_after_cloze_marks(text: str) -> str:
    for mark in _CLOZE_MARKS:
        if mark in text:
            cut = text.partition if text.startswith(mark) else text.rpartition
            text = cut(mark)[2].strip()
    return text


def _cut_after_equals(answer: str) -> str:
    return answer.rpartition("=")[2].lstrip(" ") if "=" in answer else answer


def _last_number(text: str) -> str | None:
    return found[-1] if (found := _LAST_NUMBER.findall(text)) else None


def _original_cloze(text: str) -> str | None:
    text = _cut_after_cloze_marks(text)
    if r"\boxed" in text:
        boxed = find_last_boxed(text)
        return None if boxed is None else _original_common(_cut_after_equals(boxed))
    answer: str | None = ""
    if dollars := _GREEDY_DOLLARS.findall(text):
        answer = _cut_after_equals(dollars[-1])
    if not answer:
        # The original searches for a backslash and an n where it means a line break.
        answer = _cut_after_equals(text).rstrip(".").split(r"\n")[0] if "=" in text else _last_number(text)
    return None if answer is None else _original_common(answer)


def _cloze(text: str) -> str | None:
    text = _cut_after_cloze_marks(text)
    answer = find_last_boxed(text) if r"\boxed" in text else None
    if not answer and (dollars := _DOLLARS.findall(text)):
        answer = dollars[-1]
    if not answer:
        answer = _cut_after_equals(text).split("\n")[0].rstrip(".") if "=" in text else _last_number(text)
    return None if answer is None else latex_form(_cut_after_equals(answer))


_MANGLED = r"an answer that the normal form mangles or cannot parse (`\sqrt\pi`, two units)"

ULTRAEVAL_MATH = PostProcessor(
    _find_ultraeval_math_original,
    _find_ultraeval_math,
    Difference(
        f"a decimal point ends the answer (0.5 is 0), in targets too; {_MANGLED} stays as it is",
        "numbers stay whole, and such answers are corrected",
    ),
)
COMMON_MATH = PostProcessor(
    _original_common, latex_form, Difference(f"{_MANGLED} stays as it is", "such answers are corrected")
)
AGIEVAL_CLOZE = PostProcessor(
    _original_cloze,
    _cloze,
    Difference(
        r"with several formulas in dollars, the answer is the text from the first to the last; "
        r"lines after the answer are part of it; a \boxed without braces ends the search; a text "
        r"without an answer stops the run",
        "the last formula is the answer, up to the end of its line; the search continues; a text "
        "without an answer is unanswered",
    ),
)


_FRACTION = re.compile(r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}")
_TIMES = re.compile(r"\\(?:times|cdot)(?![A-Za-z])")
_PRODUCT = re.compile(r"(?<=\))(?=[\d(])")
_ALLOWED = re.compile(r"[0-9.+\-*/() ]+")
_LONGEST = 200
_GREATEST_POWER = 64

_Number: TypeAlias = Fraction | float


def calculate(expression: str) -> str | None:
    """Return the value of an arithmetic expression as Python writes a number; None for anything else."""
    if len(expression) > _LONGEST:
        return None
    plain = expression
    while (inner := _FRACTION.sub(r"((\1)/(\2))", plain)) != plain:
        plain = inner
    plain = _PRODUCT.sub("*", _TIMES.sub("*", plain)).replace("^", "**").strip()
    if not _ALLOWED.fullmatch(plain):
        return None
    try:
        value = _value(ast.parse(plain, mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError):
        return None
    if isinstance(value, Fraction) and value.denominator == 1:
        return str(value.numerator)
    return str(float(value))


def _value(node: ast.expr) -> _Number:
    match node:
        case ast.Constant(value=int() as whole):
            return Fraction(whole)
        case ast.Constant(value=float() as number):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=operator, right=right):
            return _apply_operator(_value(left), operator, _value(right))
        case _:
            raise ValueError("no arithmetic")


def _apply_operator(left: _Number, operator: ast.operator, right: _Number) -> _Number:
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div():
            return left / right
        case ast.Pow() if (
            isinstance(right, Fraction) and right.denominator == 1 and abs(right) <= _GREATEST_POWER
        ):
            return left**right.numerator
        case _:
            raise ValueError("no arithmetic")


_THEOREM_QA_STATEMENT = re.compile("The answer is:?|the answer is")
_OPTION = re.compile(r"\([a-f]\)", re.IGNORECASE)
_NUMBER = re.compile(r"-?(?:\d*\.)?\d+")
_NUMBER_AND_UNIT = re.compile(r"-?[\d.]+\s(?:\D+|\S+)$")
_PI = "3.14"
_PI_AND_BEFORE = re.compile(r"([\d}]?)π")
_UNIT = re.compile("[$¥]|°C?| C")
_ORIGINAL_VERDICTS = (("True", re.compile("yes|true")), ("False", re.compile("no|false")))
_VERDICTS = (("True", re.compile(r"\b(?:yes|true)\b")), ("False", re.compile(r"\b(?:no|false)\b")))


def _drop_units(text: str) -> str:
    text = _PI_AND_BEFORE.sub(_replace_pi, text.replace(r"\pi", "π"))
    return _UNIT.sub("", text.replace("%", "/100"))


def _replace_pi(match: re.Match[str]) -> str:
    """Return 3.14, times the digit before it; after a brace, as in a fraction, the script keeps π."""
    match match[1]:
        case "":
            return _PI
        case "}":
            return match[0]
        case digit:
            return f"{digit}*{_PI}"


def _answer(text: str, verdicts: tuple[tuple[str, re.Pattern[str]], ...]) -> str:
    text = text.strip("\n")
    if any(text.count(f"{the} answer is") > 1 for the in ("The", "the")):
        text = text.split("\n\n")[0]  # a base model continues with questions of its own
    *before, stated = _THEOREM_QA_STATEMENT.split(text)
    stated = stated.strip("\n").rstrip(".").rstrip("/").strip(" ")
    return _read(stated, bool(before), verdicts).rstrip(".").rstrip("/")


def _read(stated: str, is_stated: bool, verdicts: tuple[tuple[str, re.Pattern[str]], ...]) -> str:
    for verdict, words in verdicts:
        if words.search(stated.lower()):
            return verdict
    if _OPTION.search(stated):
        return stated
    if not is_stated:
        return str(numbers[-1]) if (numbers := _NUMBER.findall(stated)) else ""
    value = _drop_units(stated.rpartition("=")[2].strip())
    if (result := calculate(value)) is not None:
        return result
    return value.split(" ")[0] if _NUMBER_AND_UNIT.match(value) else value


def _original_v3(text: str) -> str:
    return _answer(text, _ORIGINAL_VERDICTS)


def _v3(text: str) -> str:
    return _answer(text, _VERDICTS)


def _drop_delimiters(answer: str) -> str:
    return answer.strip("\\(").strip("\\)").strip()


def _original_v4(text: str) -> str:
    return _drop_delimiters(_original_v3(text))


def _v4(text: str) -> str:
    return _drop_delimiters(_v3(text))


_WORDS = Difference[object](
    "yes, true, no and false count inside words: `unknown` is False",
    "only whole words count; arithmetic is calculated, and nothing is executed",
)

THEOREM_QA_V3 = PostProcessor(_original_v3, _v3, _WORDS)
THEOREM_QA_V4 = PostProcessor(_original_v4, _v4, _WORDS)
