"""The interface of every evaluator that a config names: a metric over lists that also sees the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from assay.scoring.differences import Difference
from assay.scoring.metrics.checks import Misfit, reference_texts, score_rows
from assay.scoring.metrics.list_metric import ListMetric
from assay.scoring.originals.opencompass.postprocess import find_postprocessor


class EvaluatedRow(NamedTuple):
    """What a prediction is compared with."""

    gold: Any
    """The right answer, post-processed; None where the dataset has none."""
    fields: Mapping[str, Any]
    """The whole row, as the dataset's loader returned it."""
    prompt: str = ""
    """What the model was asked, as one text."""


class Evaluator(ListMetric):
    """A metric whose references are rows.

    A call returns its values by the names that the original gives them, on the original's scale (`scale`
    says what a perfect share is there); `last_score_lists` then holds the rows' values.
    """

    difference: ClassVar[Difference | None] = None
    """Where the original is not followed unless it is asked for."""
    has_details: ClassVar[bool] = False
    """Whether the original says of each row if it is right; else it takes the last of several runs alone."""
    correct_by: str | None = "accuracy"
    """The value of a row that says whether its answer is right, 1 or 0; None where no value does."""

    def __init__(self, *, is_faithful: bool = False) -> None:
        self.is_faithful = is_faithful
        """Whether the original's value is wanted, right or not."""
        self.last_details: list[tuple[dict[str, Any], ...]] = []
        """What the latest call said of each answer to each row; empty where it said nothing."""

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return the values by name."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(predictions, references)")

    @property
    def last_correct(self) -> list[float] | None:
        """For each row of the latest call 1 where its answer is right, else 0; None where that is not said.

        A row that could not be judged is NaN.
        """
        return None if self.correct_by is None else self.last_score_lists.get(self.correct_by)


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
