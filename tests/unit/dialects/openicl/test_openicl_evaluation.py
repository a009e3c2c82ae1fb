from __future__ import annotations

from pathlib import Path

from assay.core.score import Verdict
from fakes.configs import GEN, evaluated, quiz, written

FIRST_OPTION = {
    "evaluator": "dict(type=AccEvaluator)",
    "pred_postprocessor": "dict(type='first_option_postprocess', options='AB')",
}


def test_what_went_unanswered_is_forgotten_when_answers_are_scored_again(workdir: Path) -> None:
    one = quiz(workdir, GEN, FIRST_OPTION)
    nothing = evaluated(one, [[written("I do not know.")]] * 3)
    assert [score.verdict for score in nothing.scores] == [Verdict.UNANSWERED] * 3
    wrong = evaluated(one, [[written(f"Answer: {letter}")] for letter in "ABA"])
    assert [(score.verdict, score.value) for score in wrong.scores] == [(Verdict.SCORED, 0.0)] * 3
