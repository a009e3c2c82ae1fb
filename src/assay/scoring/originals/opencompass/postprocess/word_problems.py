"""Numbers in a reply: answers to word problems, results of calculations, boxes and lists of points."""

from __future__ import annotations

import re

from assay.core.difference import Difference
from assay.core.errors import listing, suggest_name
from assay.scoring.extract import extract_number
from assay.scoring.extract.statements import find_group_end
from assay.scoring.normalize import NUMBER, format_exact, parse_number, read_number
from assay.scoring.originals.opencompass.postprocess.processor import PostProcessor, make_unchanged

_NUMBER = re.compile(NUMBER)
_NOT_OF_VALUE = re.compile(r"\\?[$€£¥₩]\s?|,|\\,|\{,\}|\\!|(?<=[0-9])[ \u00a0\u202f\u2009](?=[0-9]{3})|^\+")
_ORIGINAL_FLOAT = re.compile(r"-?(?:\d*\.)?\d+")
_ORIGINAL_LAST = re.compile(r"-?\d+(?:\.\d+)?")
_ORIGINAL_PLAIN = re.compile(r"\d+(?:\.\d+)?")
_ORIGINAL_AFTER_PREFIX = re.compile(r"\d+(?:\.\d*)?")
_ORIGINAL_RATIO = re.compile(r"-?\d*\.?/?\d+")
_COMMA_IN_NUMBER = re.compile(r"(\d),(\d)")
_BOX = re.compile(r"\\boxed\{([^}]+)\}")
_BOX_OPENS = re.compile(r"\\f?boxed?\s*\{")
_NEXT_QUESTION = "Question:"
_HASHES = "#### "
_NO_NUMBER = "NULL"

_PREFIXES = {
    "en": "Answer",
    "bn": "উত্তর",
    "de": "Antwort",
    "es": "Respuesta",
    "fr": "Réponse",
    "ja": "答え",
    "ru": "Ответ",
    "sw": "Jibu",
    "te": "సమాధానం",
    "th": "คำตอบ",
    "zh": "答案",
}
"""The prefix that MGSM asks a model to write before its answer, by language."""


def _format_spelled(number: re.Match[str]) -> str:
    """Return a number as written, without commas and currency: targets may be ratios."""
    return _NOT_OF_VALUE.sub("", number[0]).replace("−", "-").replace("–", "-")


def _value(number: re.Match[str]) -> str | None:
    value = read_number(number[0])
    return None if value is None else format_exact(value)


def _find_last(text: str) -> re.Match[str] | None:
    return found[-1] if (found := list(_NUMBER.finditer(text))) else None


def _original_first_number(text: str) -> str | None:
    found = _ORIGINAL_FLOAT.search(text)
    return str(float(found[0])) if found else None


def _first_number(text: str) -> str | None:
    found = _NUMBER.search(text)
    return _value(found) if found else None


def _find_first_plain_original(text: str) -> str | None:
    found = _ORIGINAL_PLAIN.search(text)
    return found[0] if found else None


def _find_first_spelled(text: str) -> str | None:
    found = _NUMBER.search(text)
    return _format_spelled(found) if found else None


def _find_gsm8k_original(text: str) -> str:
    found = _ORIGINAL_LAST.findall(text.split(_NEXT_QUESTION)[0])
    return str(found[-1]) if found else _NO_NUMBER


def _find_gsm8k(text: str) -> str | None:
    return extract_number(text.split(_NEXT_QUESTION)[0]).answer


def _original_gsm8k_gold(text: str) -> str | None:
    # The original stops the run if the marker is missing.
    parts = text.split(_HASHES)
    return parts[1].replace(",", "") if len(parts) > 1 else None


def _gsm8k_gold(text: str) -> str | None:
    _, mark, stated = text.rpartition(_HASHES)
    value = parse_number(stated) if mark else None
    return None if value is None else format_exact(value)


def _original_gsm100(text: str) -> str:
    parts = text.split("The answer is")
    if len(parts) < 2:
        return ""
    word = next((word for word in parts[1].split(" ") if any(map(str.isdigit, word))), "")
    return "".join(filter(str.isdigit, word))


def _gsm100(text: str) -> str | None:
    _, phrase, stated = text.partition("The answer is")
    return _first_number(stated) if phrase else None


def _drop_commas(text: str) -> str:
    return text.replace(",", "")


def _cut_after_prefix(text: str, lang: str) -> str:
    prefix = _PREFIXES.get(lang)
    if prefix is None:
        raise ValueError(
            f"'lang' is {lang!r}{suggest_name(lang, _PREFIXES)}; expected one of {listing(_PREFIXES)}"
        )
    return text.rpartition(prefix)[2].strip() if prefix in text else ""


def _original_mgsm(text: str, *, lang: str) -> str:
    found = _ORIGINAL_AFTER_PREFIX.findall(_drop_commas(_cut_after_prefix(text, lang)))
    return str(found[-1]).rstrip(".") if found else ""


def _mgsm(text: str, *, lang: str) -> str | None:
    found = _find_last(_cut_after_prefix(text, lang))
    return _value(found) if found else None


def _cut_statement(text: str, phrase: str) -> tuple[str, bool]:
    """Return the text between a phrase and its next occurrence, and whether the phrase occurs."""
    before, found, after = text.partition(phrase)
    return (after.partition(phrase)[0].strip(), True) if found else (before, False)


def _cut_mathbench_statement(text: str, name: str) -> tuple[str, bool]:
    return _cut_statement(text, "答案是" if "_cn" in name else "The answer is")


def _original_mathbench(text: str, *, name: str) -> str:
    stated, is_stated = _cut_mathbench_statement(text, name)
    found = _ORIGINAL_RATIO.findall(_COMMA_IN_NUMBER.sub(r"\1\2", stated))
    if not found:
        return stated
    return str(found[0] if is_stated else found[-1])


def _mathbench(text: str, *, name: str) -> str | None:
    stated, is_stated = _cut_mathbench_statement(text, name)
    found = _NUMBER.search(stated) if is_stated else _find_last(stated)
    if found is None:
        return stated if is_stated else None
    return _format_spelled(found)


def _original_scibench(text: str) -> str:
    stated, _ = _cut_statement(text, "answer is")
    if box := _BOX.search(stated):
        return box[1]
    found = _ORIGINAL_FLOAT.findall(_COMMA_IN_NUMBER.sub(r"\1\2", stated))
    return str(found[-1]) if found else stated


def _scibench(text: str) -> str | None:
    stated, is_stated = _cut_statement(text, "answer is")
    box = _BOX_OPENS.search(stated)
    end = find_group_end(stated, box.end()) if box else None
    if box and end is not None:
        return stated[box.end() : end]
    found = _find_last(stated)
    if found is None:
        return stated if is_stated else None
    return _format_spelled(found)


_SIGNS = "a comma ends a number (1,234 is 234), and the minus of a subtraction is a sign (5-3 is -3)"

FIRST_NUMBER = PostProcessor(
    _original_first_number,
    _first_number,
    Difference(
        "a comma ends a number, and it is written with decimals: 1,234.5 is 1.0, 3 is 3.0",
        "numbers stay whole, and 3 is 3",
    ),
)
FIRST_NUMBER_PLAIN = PostProcessor(
    _find_first_plain_original,
    _find_first_spelled,
    Difference("a comma ends a number, and a minus is dropped: -1,234 is 1", "numbers stay whole: -1234"),
)
GSM8K = PostProcessor(
    _find_gsm8k_original,
    _find_gsm8k,
    Difference(
        f"the last number is the answer, whatever is stated; {_SIGNS}; without a number the answer is "
        f"`{_NO_NUMBER}`",
        "the number after `####`, in the last box or stated as the answer counts, else the last; numbers "
        "stay whole, 18.00 is 18; without one there is no answer",
    ),
)
GSM8K_GOLD = PostProcessor(
    _original_gsm8k_gold,
    _gsm8k_gold,
    Difference(
        "everything after the first `#### ` is the answer; a text without it stops the run",
        "the number after the last `#### ` is the answer; without one there is none",
    ),
)
GSM100 = PostProcessor(
    _original_gsm100,
    _gsm100,
    Difference("only the digits of a number are kept: -3.5 is 35", "numbers stay whole"),
)
GSM100_GOLD = make_unchanged(_drop_commas)
MGSM = PostProcessor(
    _original_mgsm,
    _mgsm,
    Difference("a minus is dropped, and 18.0 is not 18", "the sign stays, and 18.0 is 18"),
)
MATHBENCH = PostProcessor(
    _original_mathbench,
    _mathbench,
    Difference(
        "the minus of a difference is a sign, `1.5/2` is two numbers, and a text without a number is an "
        "answer",
        "numbers stay whole; a text without a stated answer and without a number has no answer",
    ),
)
SCIBENCH = PostProcessor(
    _original_scibench,
    _scibench,
    Difference(
        "a box ends at its first closing brace, 1e5 is 5, and a text without a number is an answer",
        "boxes and numbers stay whole; a text without a stated answer and without a number has no answer",
    ),
)


_FINAL = re.compile(r"#### (-?[0-9.,]+)")
_PLAIN_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def _cut_after_last_equals(text: str) -> str:
    return text.strip().rpartition("=")[2].strip()


def _strip_number_marks(word: str) -> str:
    """Return a number without dollar sign, commas and final full stop."""
    return word.strip("$").replace(",", "").rstrip(".")


def _find_calculated(text: str) -> str | None:
    """Return the first word after the last calculation in GSM8K's notation, or None."""
    for mark in (">>", "="):
        if mark in text and (words := text.rpartition(mark)[2].split()):
            return _strip_number_marks(words[0])
    return None


def _find_ultraeval_gsm8k_original(text: str) -> str:
    if final := _FINAL.search(text):
        return final[1].replace(",", "")
    if (result := _find_calculated(text)) is not None:
        return result.strip()
    words = text.split()
    return next((word for word in reversed(words) if word.isdigit()), words[0] if words else text.strip())


def _find_ultraeval_gsm8k(text: str) -> str | None:
    if final := _FINAL.search(text):
        return _strip_number_marks(final[1])
    if (result := _find_calculated(text)) is not None:
        return result.strip()
    return next(
        (word for word in map(_strip_number_marks, reversed(text.split())) if _PLAIN_NUMBER.fullmatch(word)),
        None,
    )


ARITHMETIC = make_unchanged(_cut_after_last_equals)
ULTRAEVAL_GSM8K = PostProcessor(
    _find_ultraeval_gsm8k_original,
    _find_ultraeval_gsm8k,
    Difference(
        "if nothing else is found, the answer is the last word of only digits, else the first "
        "word of the text; the full stop in `#### 18.` stays",
        "such a word may have a sign, a dollar sign, commas, decimals and a full stop; without "
        "one there is no answer; the full stop is removed",
    ),
)


_N = r"\s*(-?\d+(?:\.\d+)?)\s*"
_BOX_NUMBERS = re.compile(rf"\[{_N},{_N},{_N},{_N}\]")
_WHOLE_NUMBERS = re.compile(r"\[([\d\s,]+)\]")
_NO_BOX = str([0.0] * 4)
_NO_POINTS = "[]"


def _box(text: str) -> str | None:
    found = _BOX_NUMBERS.search(text)
    return str([float(number) for number in found.groups()]) if found else None


def _original_box(text: str) -> str:
    return _box(text) or _NO_BOX


def _points(text: str) -> str | None:
    lists = _WHOLE_NUMBERS.finditer(text)
    return next((one[0] for one in lists if all(part.strip().isdigit() for part in one[1].split(","))), None)


def _original_points(text: str) -> str:
    return _points(text) or _NO_POINTS


REFCOCO_BOX = PostProcessor(
    _original_box,
    _box,
    Difference(f"without a box the answer is `{_NO_BOX}`", "without a box there is no answer"),
)
POINTS = PostProcessor(
    _original_points,
    _points,
    Difference(f"without a list the answer is `{_NO_POINTS}`", "without a list there is no answer"),
)
