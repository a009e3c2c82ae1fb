"""The interface of every evaluator that a config names: a metric over lists that also sees the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from assay.scoring.metrics.list_metric import ListMetric


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

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return the values by name."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(predictions, references)")
