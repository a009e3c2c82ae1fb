"""GAOKAO-Bench: points of an exam paper, with partial credit and different points per question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from assay.scoring.metrics.checks import Misfit, score_rows
from assay.scoring.metrics.list_metric import ListMetric

_ONE_LETTER_EACH = ("multi_mcqs", "seven_option")
_ONE_LETTER = "single_answer_mcq"
_SEVERAL_LETTERS = "multi_answers_mcq"
_TASKS = (*_ONE_LETTER_EACH, _ONE_LETTER, _SEVERAL_LETTERS)


class GaokaoBenchMetric(ListMetric):
    """The percentage of an exam's points that was reached.

    A prediction is the list of answers to a row's questions. A reference is `{"answer": [...], "task": ...,
    "score": points per question}`, or a list of such, of which the best counts and the first defines the
    total points. A question with several right letters gives half its points for some of them without a wrong
    one. Answers beyond the last question are ignored.

    Two cases differ from the original: it gives half the points for an empty answer to such a question, and
    counts a repeated letter each time.
    """

    scale: ClassVar[float] = 100.0

    def __call__(self, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
        """Return `Scoring rate`. A sample's value is its own share of its points."""
        rows = score_rows(self, predictions, references, _count_points)
        self.last_score_lists = {"Scoring rate": [reached / possible for reached, possible in rows]}
        self.last_ratios["Scoring rate"] = rows
        total = sum(possible for _, possible in rows)
        return {"Scoring rate": self.scale * sum(reached for reached, _ in rows) / total}


def _count_points(prediction: Any, reference: Any) -> tuple[float, float]:
    keys = [reference] if isinstance(reference, Mapping) else reference
    if not isinstance(keys, list | tuple) or not keys or not all(map(_is_usable, keys)):
        raise Misfit(
            f"the reference is {reference!r}; expected a dict, or a list of dicts, with `answer` (a list "
            f"that is not empty), `score` (points, above 0) and `task`, one of {', '.join(_TASKS)}",
            "make `references` return these fields for each row",
        )
    answers = [] if prediction is None else list(prediction)
    return max(_points(answers, key) for key in keys), keys[0]["score"] * len(keys[0]["answer"])


def _is_usable(key: Any) -> bool:
    if not isinstance(key, Mapping) or not {"answer", "task", "score"} <= set(key):
        return False
    return key["task"] in _TASKS and bool(key["answer"]) and key["score"] > 0


def _points(answers: list[str], key: Mapping[str, Any]) -> float:
    wanted, task, score = list(key["answer"]), key["task"], float(key["score"])
    if not answers:
        return 0.0
    if task in _ONE_LETTER_EACH:
        # Fewer or more answers than questions: the rest is ignored.
        pairs = zip(answers, wanted, strict=False)
        return score * sum(1 for got, right in pairs if got == right)
    if task == _ONE_LETTER:
        return score if answers[0] == wanted[0] else 0.0
    return score * several_letters(answers[0], wanted[0])


def several_letters(given: Iterable[str], right: Iterable[str]) -> float:
    """Return the credit for letters if several are right: a half for some of them without a wrong one."""
    got, wanted = set(given), set(right)
    if not got or not got <= wanted:
        return 0.0
    return 1.0 if got == wanted else 0.5
