"""Perplexity, Min-K % and bits per character from the model's likelihoods. Lower is better.

A prediction is the inferencer's record of a text: an object with `ppl`, `mink`, `token_len`, `loss` or
`total_chr_num`, or the one number that an evaluator needs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from assay.scoring.metrics.checks import Misfit, score_rows
from assay.scoring.originals.opencompass.evaluators.evaluator import EvaluatedRow, Evaluator


class _RecordedValueEvaluator(Evaluator):
    """A value with a scale of its own."""

    higher_is_better: ClassVar[bool] = False
    correct_by = None


class AveragePPLEvaluator(_RecordedValueEvaluator):
    """The mean `ppl` over texts, however the inferencer defines it."""

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return `average_ppl`."""
        return self._mean("average_ppl", _numbers(self, predictions, references, "ppl"))


class AverageMinKEvaluator(_RecordedValueEvaluator):
    """The mean `mink` over texts: the mean log-probability of their least likely tokens."""

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return `average_mink`."""
        return self._mean("average_mink", _numbers(self, predictions, references, "mink"))


class AverageInferencePPLEvaluator(_RecordedValueEvaluator):
    """The sum of the texts' `ppl` divided by the sum of their tokens, `token_len`."""

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return `average_ppl`."""
        losses = _numbers(self, predictions, references, "ppl")
        return _ratio(self, "average_ppl", losses, _numbers(self, predictions, references, "token_len"))


class BPCEvaluator(_RecordedValueEvaluator):
    """Bits per character: the sum of all `loss` divided by (the dataset's characters · ln 2).

    `total_chr_num` is the number of characters of the whole dataset, the same in every row.
    """

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return `bpc`."""
        bits = [loss / math.log(2) for loss in _numbers(self, predictions, references, "loss")]
        total = _numbers(self, predictions, references, "total_chr_num")[0]
        return _ratio(self, "bpc", bits, [total / len(bits)] * len(bits))


def _ratio(
    metric: _RecordedValueEvaluator, name: str, above: Sequence[float], below: Sequence[float]
) -> dict[str, float]:
    metric.last_ratios[name] = list(zip(above, below, strict=True))
    metric.last_score_lists = {
        name: [one / size if size else 0.0 for one, size in zip(above, below, strict=True)]
    }
    if not math.fsum(below) > 0:
        raise ValueError("the texts have no size")
    return {name: math.fsum(above) / math.fsum(below)}


def _numbers(
    metric: _RecordedValueEvaluator, predictions: Sequence[Any], references: Sequence[EvaluatedRow], name: str
) -> list[float]:
    def number(prediction: Any, _: EvaluatedRow) -> float:
        given: Any = prediction.get(name) if isinstance(prediction, Mapping) else prediction
        try:
            value = float(given)
        except (TypeError, ValueError):
            value = math.nan
        if not math.isfinite(value):
            raise Misfit(
                f"the prediction {prediction!r:.60} has no finite {name!r}",
                f"use an inferencer that records {name!r}",
            )
        return value

    return score_rows(metric, predictions, references, number)
