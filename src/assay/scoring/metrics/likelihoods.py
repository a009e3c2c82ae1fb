"""LLMBox's PPL: the mean negative log-likelihood per token."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from assay.scoring.metrics.checks import Misfit, score_rows
from assay.scoring.metrics.list_metric import ListMetric


class PPL(ListMetric):
    """The mean of the predictions, which are each text's negative log-likelihood per token, in nats.

    LLMBox defines it this way: neither exponentiated nor weighted by length, unlike the usual perplexity.
    """

    higher_is_better: ClassVar[bool] = False

    def __call__(self, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
        """Return `PPL`. References are only counted."""
        return self._mean("PPL", score_rows(self, predictions, references, _read_finite))


def _read_finite(prediction: Any, _: Any) -> float:
    try:
        value = float(prediction)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise Misfit(
            f"the prediction is {prediction!r}; expected a finite number",
            "use PPL only for datasets whose texts are scored by likelihood, without empty texts",
        )
    return value
