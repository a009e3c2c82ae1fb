"""Comparison of formulas: by their normalized text, then by their value.

math-verify (extra `math`) compares values. It runs in the sandbox because parsing a model's output may never
end. Without math-verify, only the text is compared.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from assay.core.errors import PlanError
from assay.scoring.extract.formulas import plain_text, split_equation
from assay.scoring.latex import latex_form
from assay.scoring.latex_answers import are_alike
from assay.scoring.normalize import normalize

if TYPE_CHECKING:
    from assay.scoring.sandbox import Sandbox

_COMPARES = "assay.scoring.originals.opencompass.evaluators.verify_formulas"
_PACKAGES = ("math_verify", "latex2sympy2_extended")
_SECONDS = 10.0
_MEMORY_MIB = 2048
_LONGEST = 300
_MAX_CACHED = 4096


class FormulaComparison:
    """Compares formulas. The sandbox starts with the first pair whose texts differ; `close` stops it."""

    def __init__(self) -> None:
        self._sandbox: Sandbox | None = None
        self._can_verify: bool | None = None
        """Whether math-verify is installed; None until first needed."""
        self._verdicts: dict[tuple[str, str], bool] = {}
        self.notes: list[str] = []

    def is_any(self, answer: str, targets: Sequence[str]) -> bool:
        """Whether a formula equals one of the targets."""
        fitting = [target for target in targets if _are_comparable(answer, target)]
        return any(_are_same_text(answer, target) for target in fitting) or any(
            self._are_same_value(answer, target) for target in fitting
        )

    def close(self) -> None:
        """Stop the sandbox if it was started."""
        if self._sandbox is not None:
            self._sandbox.close()
            self._sandbox = None

    def _are_same_value(self, answer: str, target: str) -> bool:
        if self._can_verify is None:
            self._can_verify = all(find_spec(package) is not None for package in _PACKAGES)
        if not self._can_verify or len(answer) > _LONGEST or len(target) > _LONGEST:
            return False
        pair = answer, target
        if pair not in self._verdicts:
            if len(self._verdicts) >= _MAX_CACHED:
                self._verdicts.clear()
            self._verdicts[pair] = self._verify(answer, target)
        return self._verdicts[pair]

    def _verify(self, answer: str, target: str) -> bool:
        # Imported on use: most tables contain no formulas and should not load the sandbox.
        from assay.scoring.sandbox import Limits, Sandbox, Status

        if self._sandbox is None:
            self._sandbox = Sandbox(Limits(seconds=_SECONDS, memory_mib=_MEMORY_MIB), preload=(_COMPARES,))
            weakref.finalize(self, self._sandbox.close)
        boxed = "$\\boxed{" + answer + "}$"
        call = f"print_verdict({boxed!r}, {target!r}, is_faithful=False)"
        program = f"from {_COMPARES} import print_verdict\n{call}\n"
        try:
            ran = self._sandbox.run(program)
        except PlanError as error:
            self._can_verify = False
            self.notes.append(f"formulas were compared as text only: {error.problems[0].what}")
            return False
        if ran.status is not Status.OK:
            return False
        try:
            return json.loads(ran.stdout.splitlines()[-1]) is True
        except (IndexError, ValueError):
            return False


def _are_same_text(answer: str, target: str) -> bool:
    """Whether two formulas have the same normalized text."""
    _, one = split_equation(answer)
    _, other = split_equation(target)
    if normalize(plain_text(one)) == normalize(plain_text(other)) != "":
        return True
    return are_alike(one, other, "v2", is_faithful=False)


def _are_comparable(answer: str, target: str) -> bool:
    """Whether two formulas can be equal: the same left-hand side and the same outer brackets.

    An open interval is not a closed one, and y = 3 is not x = 3, even if their normal forms are equal.
    """
    left, right = split_equation(answer)
    left_target, right_target = split_equation(target)
    is_other = left != "" and left_target != "" and latex_form(left) != latex_form(left_target)
    return not is_other and _outer(right) == _outer(right_target)


def _outer(formula: str) -> tuple[str, str]:
    """Return the outer brackets of a formula; empty if it has no comma, because they only group then."""
    text = formula.replace(r"\left", "").replace(r"\right", "").replace("\\", "").strip()
    if "," not in text or text[0] not in "[({" or text[-1] not in "])}":
        return "", ""
    return text[0], text[-1]
