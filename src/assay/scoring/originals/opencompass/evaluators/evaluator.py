"""The interface of every evaluator that a config names: a metric over lists that also sees the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from assay.scoring.differences import Difference
from assay.scoring.originals.llmbox.list_metric import ListMetric


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
