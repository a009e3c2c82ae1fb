"""Answers to math problems: numbers, LaTeX by text, and formulas by value."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple

from assay.core.difference import Difference
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

    difference: ClassVar[Difference[object] | None] = Difference(
        "target and answer must be whole numbers without thousands commas",
        "1,234.50 and 1234.5 are equal, on both sides",
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

    difference: ClassVar[Difference[object] | None] = Difference(
        r"18.0 is not 18 (with `faithful`, v2 still accepts 0.5 for 1/2), and answers that MATH's "
        r"script mangles (such as `\sqrt\pi`) are never equal; two texts with an empty normal form "
        r"are equal",
        "numbers are also compared by value, such answers are parsed, and an answer with an empty "
        "normal form is no answer",
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
    difference: ClassVar[Difference[object] | None] = Difference(
        r"an answer that is only a formula, such as 42, is not parsed, nor is `\frac12`; the two "
        r"are compared in the wrong order; a target that cannot be parsed makes every answer wrong",
        "both are parsed; the answer is compared with the target; such a row fails",
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
            verdict = json.loads(ran.stdout.splitlines()[-1])
        except (IndexError, ValueError):
            return self._unread(f"{ran.status.value} {ran.detail}", row)
        if verdict == _NO_GOLD:
            return self._unread("it contains no formula", row)
        return _VerifyResult(bool(verdict))

    def _unread(self, why: str, row: EvaluatedRow) -> _VerifyResult:
        if self.is_faithful:
            return _VerifyResult(False)
        raise Misfit(
            f"the answer could not be compared with the target {row.gold!r:.60}: {why}",
            "write the target as LaTeX or as a number",
        )
