"""Values over classes: the Matthews correlation, and the area under the ROC curve."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from assay.core.difference import Difference
from assay.scoring.metrics.checks import Misfit, score_rows
from assay.scoring.metrics.classification import matthews
from assay.scoring.metrics.list_metric import MetricUnit
from assay.scoring.originals.opencompass.evaluators.accuracy import AccEvaluator
from assay.scoring.originals.opencompass.evaluators.evaluator import EvaluatedRow, Evaluator, require_gold
from assay.scoring.statistics import LEVEL, normal_quantile

_AUC = "auc_score"


class MccEvaluator(AccEvaluator):
    """The Matthews correlation of answers and targets, -100 to 100; a row's own value is 1 if correct."""

    difference: ClassVar[Difference[object] | None] = Difference(
        "white space around an answer counts; only the last of several runs counts",
        "white space around it is ignored; the mean of all runs counts",
    )
    metric = correct_by = "matthews_correlation"
    corpus_values: ClassVar[Collection[str]] = ("matthews_correlation",)
    # From -100 to 100, so not a share.
    units: Mapping[str, MetricUnit] = MappingProxyType(
        {"matthews_correlation": MetricUnit(1.0, is_share=False)}
    )

    def __init__(self, *, is_faithful: bool = False) -> None:
        super().__init__(is_faithful=is_faithful)

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return `matthews_correlation`, -100 to 100."""
        super().__call__(predictions, references)
        spelled = str if self.is_faithful else lambda one: str(one).strip()
        got = [spelled(one) for one in predictions]
        wanted = [spelled(row.gold) for row in references]
        return {self.metric: self.scale * matthews(got, wanted)}


class AUCROCEvaluator(Evaluator):
    """The area under the ROC curve of class 1 against class 0, and the accuracy of the likeliest class.

    A prediction is the list of class probabilities, a target is the class index. A row's own AUC is the share
    of the other class's rows that it is ranked correctly against.
    """

    scale: ClassVar[float] = 100.0
    corpus_values: ClassVar[Collection[str]] = (_AUC,)
    difference: ClassVar[Difference[object] | None] = Difference(
        "rows of a single class stop the evaluation; only the last of several runs counts",
        "they have an accuracy but no AUC, and a note says so; the mean of all runs counts",
    )

    def __init__(self, *, is_faithful: bool = False) -> None:
        super().__init__(is_faithful=is_faithful)
        self._note: tuple[str, ...] = ()

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return `auc_score` and `accuracy`; the AUC of one class is NaN."""
        rows = score_rows(self, predictions, references, _read_prediction)
        right = [float(is_right) for _, _, is_right in rows]
        others = {
            of_class: sorted(score for score, other, _ in rows if other != of_class) for of_class in (0, 1)
        }
        self.last_intervals.clear()
        self._note = ()
        self.last_score_lists = {"accuracy": right}
        accuracy = self.scale * sum(right) / len(right)
        if not all(others.values()):
            self._note = ("all rows belong to one class, so there is no AUC",)
            return {_AUC: math.nan, "accuracy": accuracy}
        placed = [_placement(score, others[of_class], of_class) for score, of_class, _ in rows]
        area, low, high = _area(placed, [of_class for _, of_class, _ in rows])
        self.last_intervals[_AUC] = (self.scale * low, self.scale * high)
        self.last_score_lists = {_AUC: placed, "accuracy": right}
        return {_AUC: self.scale * area, "accuracy": accuracy}

    def notes(self) -> Sequence[str]:
        """Return a note if there is no AUC."""
        return self._note


def _read_prediction(prediction: Any, row: EvaluatedRow) -> tuple[float, int, bool]:
    gold = require_gold(row)
    try:
        probabilities, of_class = [float(one) for one in prediction], int(gold)
    except (TypeError, ValueError):
        probabilities, of_class = [], -1
    if len(probabilities) < 2 or any(map(math.isnan, probabilities)) or of_class not in (0, 1):
        raise Misfit(
            f"the prediction is {prediction!r:.60} and the target {gold!r:.20}; expected probabilities "
            "of the classes, and 0 or 1",
            "use an inferencer that returns the probabilities of two classes, such as CLPInferencer",
        )
    return probabilities[1], of_class, probabilities.index(max(probabilities)) == of_class


def _placement(score: float, others: Sequence[float], of_class: int) -> float:
    """Return the share of the other class's scores on the correct side; ties count half."""
    below, up_to = bisect_left(others, score), bisect_right(others, score)
    share = (below + up_to) / 2 / len(others)
    return share if of_class else 1 - share


def _area(placed: Sequence[float], classes: Sequence[int]) -> tuple[float, float, float]:
    """Return the area with its 95 % interval, by DeLong's variance of the two classes' placements."""
    area = math.fsum(placed) / len(placed)
    variance = 0.0
    for of_class in (0, 1):
        own = [one for one, other in zip(placed, classes, strict=True) if other == of_class]
        if len(own) > 1:
            variance += math.fsum((one - area) ** 2 for one in own) / (len(own) - 1) / len(own)
    half = normal_quantile(LEVEL) * math.sqrt(variance)
    return area, max(0.0, area - half), min(1.0, area + half)
