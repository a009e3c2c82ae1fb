"""Evaluators that judge each row by itself, and what they ask of a row. Knows no names of evaluators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from assay.scoring.metrics.checks import Misfit, reference_texts, score_rows
from assay.scoring.originals.opencompass.evaluators.evaluator import EvaluatedRow, Evaluator
from assay.scoring.originals.opencompass.postprocess import find_postprocessor

Processor = str | Mapping[str, Any]
"""A post-processor as a config names it: a name, or an object with its `type` and arguments."""


class RowEvaluator(Evaluator):
    """The mean over rows of what `judge` says of each, in percent."""

    scale: ClassVar[float] = 100.0
    metric: str = "accuracy"
    """The name of the value."""

    def __init__(self, *, pred_postprocessor: Processor | None = None, is_faithful: bool = False) -> None:
        super().__init__(is_faithful=is_faithful)
        self._process = None if pred_postprocessor is None else find_postprocessor(pred_postprocessor)

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return the mean."""
        return self._mean(self.metric, score_rows(self, self.prepared(predictions), references, self.judge))

    def judge(self, prediction: Any, row: EvaluatedRow) -> float:
        """Return what an answer is worth, from 0 to 1."""
        raise NotImplementedError(f"{type(self).__name__} must define judge(prediction, row)")

    def prepared(self, predictions: Sequence[Any]) -> Sequence[Any]:
        """Return the predictions as the evaluator's own post-processor leaves them."""
        if self._process is None:
            return predictions
        return [self._process(to_text(one), self.is_faithful) for one in predictions]


def to_text(prediction: Any) -> str:
    """Return a prediction as a text; no answer is an empty one."""
    return "" if prediction is None else str(prediction)


def require_gold(row: EvaluatedRow) -> Any:
    """Return the right answer of a row; Misfit when it has none."""
    if row.gold is None:
        raise Misfit("the row has no right answer", "name its column as output_column, or leave the row out")
    return row.gold


def gold_text(row: EvaluatedRow) -> str:
    """Return the right answer as a text; a number is spelled as Python spells it."""
    return str(require_gold(row))


def gold_texts(row: EvaluatedRow) -> list[str]:
    """Return the right answers of a row that may have several."""
    gold = require_gold(row)
    return reference_texts(gold if isinstance(gold, str | list | tuple) else str(gold))


def require_field(row: EvaluatedRow, name: str) -> Any:
    """Return a column of a row; Misfit that lists the columns when it is not there."""
    if name not in row.fields:
        raise Misfit(
            f"the row has no column {name!r}; it has {', '.join(map(repr, row.fields)) or 'none'}",
            f"let the dataset's load return {name!r} too",
        )
    return row.fields[name]
