"""The interface of evaluators that configs name: metrics over lists that also see the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from assay.core.difference import Difference
from assay.scoring.metrics.checks import Misfit, reference_texts, score_rows
from assay.scoring.metrics.list_metric import ListMetric
from assay.scoring.originals.opencompass.postprocess import find_postprocessor


class EvaluatedRow(NamedTuple):
    """What a prediction is compared with."""

    gold: Any
    """The target, post-processed; None if the dataset has none."""
    fields: Mapping[str, Any]
    """The whole row, as the dataset's loader returned it."""
    prompt: str = ""
    """The prompt as one text."""


class Evaluator(ListMetric):
    """A metric whose references are rows.

    A call returns its values under the original's names and on the original's scale (`scale` is the value of
    a perfect share); `last_score_lists` then contains the row values.
    """

    difference: ClassVar[Difference[object] | None] = None
    """The difference from the original, unless faithful."""
    has_details: ClassVar[bool] = False
    """Whether the original reports for each row if it is right; otherwise it uses only the last of several
    runs."""
    correct_by: str | None = "accuracy"
    """The row value that is 1 for a correct answer and 0 for a wrong one; None if no value is."""

    def __init__(self, *, is_faithful: bool = False) -> None:
        self.is_faithful = is_faithful
        """Whether to return the original's value, right or wrong."""
        self.last_details: list[tuple[dict[str, Any], ...]] = []
        """Details of each answer to each row in the latest call; empty if there are none."""

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return the values by name."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(predictions, references)")

    @property
    def last_correct(self) -> list[float] | None:
        """For each row of the latest call, 1 if its answer is correct, else 0; None if that is unknown.

        A row that could not be judged is NaN.
        """
        return None if self.correct_by is None else self.last_score_lists.get(self.correct_by)


Processor = str | Mapping[str, Any]
"""A post-processor as a config names it: a name, or an object with its `type` and arguments."""


class RowEvaluator(Evaluator):
    """The mean over rows of `judge`, in percent."""

    scale: ClassVar[float] = 100.0
    metric: str = "accuracy"
    """The name of the value."""

    def __init__(self, *, pred_postprocessor: Processor | None = None, is_faithful: bool = False) -> None:
        super().__init__(is_faithful=is_faithful)
        self._process = None if pred_postprocessor is None else find_postprocessor(pred_postprocessor)

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return the mean."""
        return self._mean(
            self.metric, score_rows(self, self.prepare_predictions(predictions), references, self.judge)
        )

    def judge(self, prediction: Any, row: EvaluatedRow) -> float:
        """Return the value of an answer, from 0 to 1."""
        raise NotImplementedError(f"{type(self).__name__} must define judge(prediction, row)")

    def prepare_predictions(self, predictions: Sequence[Any]) -> Sequence[Any]:
        """Return the predictions after the evaluator's own post-processor."""
        if self._process is None:
            return predictions
        return [self._process(to_text(one), self.is_faithful) for one in predictions]


def to_text(prediction: Any) -> str:
    """Return a prediction as text; no answer is an empty text."""
    return "" if prediction is None else str(prediction)


def require_gold(row: EvaluatedRow) -> Any:
    """Return the target of a row; Misfit if it has none."""
    if row.gold is None:
        raise Misfit("the row has no target", "set output_column to its column, or remove the row")
    return row.gold


def gold_text(row: EvaluatedRow) -> str:
    """Return the target as text; a number is written as Python writes it."""
    return str(require_gold(row))


def gold_texts(row: EvaluatedRow) -> list[str]:
    """Return the targets of a row that may have several."""
    gold = require_gold(row)
    return reference_texts(gold if isinstance(gold, str | list | tuple) else str(gold))


def require_field(row: EvaluatedRow, name: str) -> Any:
    """Return a column of a row; if it is missing, raise a Misfit that lists the columns."""
    if name not in row.fields:
        raise Misfit(
            f"the row has no column {name!r}; it has {', '.join(map(repr, row.fields)) or 'none'}",
            f"make the dataset's load return {name!r} too",
        )
    return row.fields[name]
