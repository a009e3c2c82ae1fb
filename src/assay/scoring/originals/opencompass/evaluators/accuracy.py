"""Accuracy: percentages of answers that equal the target by text, by value or by class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rapidfuzz.distance import Levenshtein

from assay.core.difference import Difference
from assay.scoring.metrics.accuracy import is_equal
from assay.scoring.metrics.checks import Misfit
from assay.scoring.originals.opencompass.evaluators.evaluator import (
    EvaluatedRow,
    RowEvaluator,
    gold_text,
    require_field,
    require_gold,
    to_text,
)
from assay.scoring.originals.opencompass.postprocess import POSTPROCESSORS

_STATES = {
    "clean": "clean",
    "input contamination": "input contaminated",
    "input-and-label contamination": "input-and-label contaminated",
}
"""The values of a row's `is_clean`, and the name of the value over such rows."""


def equal_texts(prediction: Any, gold: Any) -> bool:
    """Whether two labels are the same text; a whole number equals itself with `.0`."""
    return prediction is not None and _label(prediction) == _label(gold)


def _label(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


class AccEvaluator(RowEvaluator):
    """The percentage of predictions with the same text as the target; 1 and "1" are equal."""

    difference: ClassVar[Difference[object] | None] = Difference(
        "white space around an answer counts, and 1.0, as in a table with gaps, is not 1; only "
        "the last of several runs counts",
        "white space around it is ignored, 1.0 is 1; the mean of all runs counts",
    )

    def judge(self, prediction: Any, row: EvaluatedRow) -> float:
        """Return 1 for a correct answer."""
        if self.is_faithful:
            return float(str(prediction) == gold_text(row))
        gold = require_gold(row)
        if isinstance(gold, list | tuple) and not isinstance(prediction, list | tuple):
            raise Misfit(
                f"the target is the list {gold!r:.60}, but the prediction is one answer",
                "use EMEvaluator if any of them is right; otherwise make dataset_postprocessor return one",
            )
        return float(equal_texts(prediction, gold))


class AccContaminationEvaluator(AccEvaluator):
    """Accuracy over the rows of each kind of contamination in the column `is_clean`."""

    difference: ClassVar[Difference[object] | None] = Difference(
        "as `AccEvaluator`; a kind without rows stops the evaluation; an unknown kind is left out",
        "as `AccEvaluator`; a kind without rows has no value; a row of an unknown kind fails",
    )
    correct_by = None

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return `accuracy - clean`, `accuracy - input contaminated` and so on, for kinds that have rows."""
        super().__call__(predictions, references)
        right = self.last_score_lists["accuracy"]
        kinds = [_STATES[row.fields["is_clean"]] for row in references]
        names = {kind: f"accuracy - {kind}" for kind in _STATES.values() if kind in kinds}
        self.last_score_lists = dict.fromkeys(names.values(), right)
        self.last_ratios.clear()
        values = {}
        for kind, name in names.items():
            shares = [
                (one, 1.0) if kind == own else (0.0, 0.0) for one, own in zip(right, kinds, strict=True)
            ]
            self.last_ratios[name] = shares
            values[name] = self.scale * sum(one for one, _ in shares) / sum(size for _, size in shares)
        return values

    def judge(self, prediction: Any, row: EvaluatedRow) -> float:
        """Return 1 for a correct answer to a row of a known kind."""
        state = require_field(row, "is_clean")
        if state not in _STATES:
            raise Misfit(f"is_clean is {state!r}", f"write one of {', '.join(map(repr, _STATES))}")
        return super().judge(prediction, row)


class AccwithDetailsEvaluator(RowEvaluator):
    """The percentage of predictions that equal the target in value and type."""

    difference: ClassVar[Difference[object] | None] = Difference(
        "a prediction and a target of different types, such as 'B' and 1, are never equal: always 0",
        "that is an error",
    )
    has_details: ClassVar[bool] = True

    def judge(self, prediction: Any, row: EvaluatedRow) -> float:
        """Return 1 for a correct answer."""
        return float(prediction == row.gold) if self.is_faithful else is_equal(prediction, require_gold(row))


class GPQAEvaluator(AccwithDetailsEvaluator):
    """The same evaluator under the name in GPQA's configs."""


class BBHEvaluatorMcq(AccwithDetailsEvaluator):
    """The same as `score`: BIG-Bench Hard with options."""

    metric = correct_by = "score"


class BBHEvaluator(RowEvaluator):
    """The percentage of correct free answers to BIG-Bench Hard; both sides go through `bbh-freeform`."""

    difference: ClassVar[Difference[object] | None] = Difference(
        "answer and target are read by the original's `bbh-freeform`",
        "both are read by the corrected `bbh-freeform`",
    )
    has_details: ClassVar[bool] = True
    metric = correct_by = "score"

    def judge(self, prediction: Any, row: EvaluatedRow) -> float:
        """Return 1 for a correct answer."""
        read = POSTPROCESSORS["bbh-freeform"]
        got, wanted = (read(text, self.is_faithful) for text in (to_text(prediction), gold_text(row)))
        return float(got is not None and wanted is not None and got.casefold() == wanted.casefold())


class EDAccEvaluator(RowEvaluator):
    """The percentage of answers whose nearest candidate by edit distance is the target.

    A row's target is `{"candidates": [...], "label": index}`; a candidate may be a list of spellings.
    """

    difference: ClassVar[Difference[object] | None] = Difference(
        "an empty answer is the shortest candidate; only the last of several runs counts",
        "an empty answer is wrong; the mean of all runs counts",
    )

    def judge(self, prediction: Any, row: EvaluatedRow) -> float:
        """Return 1 if the target is the nearest candidate; on a tie the first one is."""
        gold = require_gold(row)
        if not isinstance(gold, dict) or not gold.keys() >= {"candidates", "label"} or not gold["candidates"]:
            raise Misfit(
                f"the target is {gold!r:.80}", "provide {'candidates': [...], 'label': index} for each row"
            )
        text = to_text(prediction)
        if not self.is_faithful and not text.strip():
            return 0.0
        distances = [
            min(
                Levenshtein.distance(text, one)
                for one in ([spelled] if isinstance(spelled, str) else spelled)
            )
            for spelled in gold["candidates"]
        ]
        return float(distances.index(min(distances)) == gold["label"])
