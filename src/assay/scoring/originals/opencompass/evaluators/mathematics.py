"""Answers to math problems: numbers, LaTeX by text, and formulas by value."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple

from assay.scoring.differences import Difference
from assay.scoring.latex_answers import Version, are_alike
from assay.scoring.metrics.checks import Misfit, check_lengths, missing_requirement, score_rows
from assay.scoring.normalize import parse_number
from assay.scoring.originals.opencompass.evaluators.evaluator import (
    EvaluatedRow,
    Evaluator,
    Processor,
    RowEvaluator,
    gold_text,
    require_gold,
    to_text,
)
from assay.scoring.sandbox import Limits, Protections, Sandbox, Status

_TOLERANCE = 1e-6
_COMPARES = "assay.scoring.originals.opencompass.evaluators.verify_formulas"
"""The module that compares two formulas, inside the sandbox."""
_NO_GOLD = "no gold"
_SECONDS = 10.0
_MEMORY_MIB = 2048
_PACKAGES = ("math_verify", "latex2sympy2_extended")


class Gsm8kEvaluator(RowEvaluator):
    """The percentage of answers that are the correct number."""

    difference: ClassVar[Difference | None] = Difference(
        "the right answer must be a whole number without commas of thousands, and so must an answer be "
        "without them",
        "1,234.50 and 1234.5 are one number, on both sides",
    )
    has_details: ClassVar[bool] = True

    def judge(self, prediction: Any, row: EvaluatedRow) -> float:
        """Return 1 for the correct number, or the same text."""
        text, gold = to_text(prediction), gold_text(row)
        if self.is_faithful:
            return float(text == gold or _is_near_integer(text, gold))
        return float((bool(text.strip()) and text.strip() == gold.strip()) or _same_number(text, gold))


def _is_near_integer(text: str, gold: str) -> bool:
    try:
        return abs(float(text) - int(gold)) < _TOLERANCE
    except (ValueError, OverflowError):
        return False


def _same_number(text: str, gold: str) -> bool:
    one, other = parse_number(text), parse_number(gold)
    return one is not None and other is not None and abs(one - other) < _TOLERANCE


class MATHEvaluator(RowEvaluator):
    """The percentage of answers with the same normalized text as the target."""

    difference: ClassVar[Difference | None] = Difference(
        "18.0 is not 18 (under `faithful`, v2 takes 0.5 for 1/2 all the same), and what MATH's script "
        "mangles (such as `\\sqrt\\pi`) is never equal; two texts of which the normal form leaves nothing "
        "are equal",
        "numbers are also the same by value, such answers are read, and an answer of which nothing is left "
        "is none",
    )
    has_details: ClassVar[bool] = True

    def __init__(
        self,
        *,
        version: Version = "v1",
        pred_postprocessor: Processor | None = None,
        is_faithful: bool = False,
    ) -> None:
        super().__init__(pred_postprocessor=pred_postprocessor, is_faithful=is_faithful)
        self._version: Version = version

    def judge(self, prediction: Any, row: EvaluatedRow) -> float:
        """Return 1 for a correct answer."""
        text, gold = to_text(prediction), str(require_gold(row))
        if not text.strip() and not self.is_faithful:
            return 0.0
        return float(are_alike(text, gold, self._version, is_faithful=self.is_faithful))


class _VerifyResult(NamedTuple):
    is_right: bool
    is_late: bool = False


class MATHVerifyEvaluator(Evaluator):
    r"""The percentage of answers whose formula has the value of the target, by math-verify.

    The formula of an answer is in a box, or follows words that announce the answer. Formulas are parsed and
    compared in the sandbox: a model's output may take unlimited time or memory.
    """

    scale: ClassVar[float] = 100.0
    is_costly: ClassVar[bool] = True
    has_details: ClassVar[bool] = True
    difference: ClassVar[Difference | None] = Difference(
        "an answer that is a formula and nothing else, such as 42, is not read, nor is `\\frac12`; the two "
        "are compared the wrong way round; a right answer that cannot be read makes every answer wrong",
        "both are read; the answer is compared with the right one; such a row fails",
    )

    def __init__(self, *, is_faithful: bool = False) -> None:
        super().__init__(is_faithful=is_faithful)
        if any(find_spec(package) is None for package in _PACKAGES):
            raise missing_requirement(self, "the package math-verify", "pip install 'assay-eval[math]'")
        self.protections: Protections | None = None
        """The sandbox protections of the latest call."""
        self._n_late = 0

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return `accuracy`."""
        check_lengths(self, predictions, references)
        pairs = [
            (to_text(one), str(require_gold(row))) for one, row in zip(predictions, references, strict=True)
        ]
        with Sandbox(Limits(seconds=_SECONDS, memory_mib=_MEMORY_MIB), preload=(_COMPARES,)) as sandbox:
            self.protections = sandbox.protections()
            replies = list(sandbox.run_many(self._programs(pairs)))
        judged = score_rows(self, replies, references, self._verdict)
        self._n_late = sum(one.is_late for one in judged)
        return self._mean("accuracy", [float(one.is_right) for one in judged])

    def notes(self) -> Sequence[str]:
        """Return notes: how formulas were compared, and how many could not be."""
        late = f"{self._n_late:,} answers could not be compared within {_SECONDS:g} s and count as wrong"
        ran = () if self.protections is None else (f"formulas were compared in a {self.protections}",)
        return (*ran, late) if self._n_late else ran

    def _programs(self, pairs: Sequence[tuple[str, str]]) -> list[str]:
        return [
            f"from {_COMPARES} import print_verdict\n"
            f"print_verdict({text!r}, {gold!r}, is_faithful={self.is_faithful})\n"
            for text, gold in pairs
        ]

    def _verdict(self, ran: Any, row: EvaluatedRow) -> _VerifyResult:
        if ran.status in (Status.TIMEOUT, Status.MEMORY):
            return _VerifyResult(False, is_late=True)
        try:
            said = json.loads(ran.stdout.splitlines()[-1])
        except (IndexError, ValueError):
            return self._unread(f"{ran.status.value} {ran.detail}", row)
        if said == _NO_GOLD:
            return self._unread("no formula is found in it", row)
        return _VerifyResult(bool(said))

    def _unread(self, why: str, row: EvaluatedRow) -> _VerifyResult:
        if self.is_faithful:
            return _VerifyResult(False)
        raise Misfit(
            f"the answer could not be compared with the right one, {row.gold!r:.60}: {why}",
            "write the right answer as LaTeX or as a number",
        )
