r"""Text comparison of answers to math problems, without algebra.

Version 1 uses MATH's normal form, Minerva's, or both in turn. Version 2 first removes what other datasets
write around an answer: units, dollar and percent signs, `x \in`, trailing zeros, other spellings of infinity.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from assay.scoring.latex import latex_form
from assay.scoring.normalize import numbers_equal
from assay.scoring.originals.opencompass.postprocess.minerva import hendrycks_form, opencompass_form

Version = Literal["v1", "v2"]

_UNIT_AT_END = re.compile(r"(?<=.)\\text\{[^{}]*\}$", re.DOTALL)
_LOOSE = tuple(
    (re.compile(found), written)
    for found, written in (
        (r"\n|\\!|\\ ", ""),
        (r"\\{2,}", r"\\"),
        (r"\^(?:\\circ|\{\\circ\})", ""),
        (r"\\?[$%]", ""),
        (r"\\text(?![a-z])|\\mathbf|\\cdot|x\s*\\in(?![a-z])|\\mbox\{[^{}]*\}", ""),
        (r"\+?(?<!\\)\binf(?:inity|ty)?\b", r"\\infty"),
        (r"\band\b", ""),
        (r"(\d)\.0+(?!\d)", r"\1"),
        (r"\\sqrt\s*(\w+)", r"\\sqrt{\1}"),
    )
)


def are_alike(answer: str, gold: str, version: Version, *, is_faithful: bool) -> bool:
    """Whether an answer has the same text as the target; unless faithful, equal numbers also match."""
    if answer == gold:
        return True
    form = _hendrycks if is_faithful else latex_form
    prepare: Callable[[str], str] = loose_form if version == "v2" else str
    one, other = form(prepare(answer)), form(prepare(gold))
    pairs = (
        (one, other),
        (opencompass_form(one), opencompass_form(other)),
        (opencompass_form(answer), opencompass_form(gold)),
    )
    # Two texts that normalize to nothing are not evidence of equality.
    if any(left == right and (left or is_faithful) for left, right in pairs):
        return True
    return not is_faithful and numbers_equal(prepare(answer), prepare(gold))


def loose_form(answer: str) -> str:
    """Return an answer without units, signs and other decoration."""
    answer = answer.strip().rstrip(".")
    answer = _UNIT_AT_END.sub("", answer).strip() or answer
    for found, written in _LOOSE:
        answer = found.sub(written, answer)
    # Engineers write j for the imaginary unit.
    return answer.replace("j", "i") if "i" not in answer else answer


def _hendrycks(answer: str) -> str:
    """Return the script's normal form, or the answer unchanged where the script fails."""
    try:
        return hendrycks_form(answer)
    except ValueError:
        return answer
