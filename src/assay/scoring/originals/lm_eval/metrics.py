"""The metrics of a task file's `metric_list`, and the aggregation of the values of all documents."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from assay.scoring.metrics import translation
from assay.scoring.originals.leap.aggregations import (
    bits_per_byte,
    bleu,
    chrf,
    f1_score,
    matthews_corrcoef,
    mean,
    perplexity,
    ter,
    weighted_perplexity,
)

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_NO_DIGITS = str.maketrans("", "", string.digits)
BYPASSED = 999
"""The value of a metric that is not computed, as in the original."""


def median(arr: Sequence[Any]) -> float:
    """Return the middle value; of two, the higher."""
    return float(sorted(arr)[len(arr) // 2])


def nanmean(arr: Sequence[Any]) -> float:
    """Return the mean of the values that are numbers; NaN without any."""
    numbers = [float(one) for one in arr if not math.isnan(one)]
    return mean(numbers) if numbers else math.nan


def bypass(arr: Sequence[Any]) -> float:
    """Return a fixed value, whatever the documents' values are."""
    return BYPASSED


def chrf_plus_plus(items: Sequence[tuple[Any, Any]]) -> float:
    """Return corpus chrF with words, 0 to 100."""
    predictions = [prediction if isinstance(prediction, str) else prediction[0] for _, prediction in items]
    references = [[one] if isinstance(one, str) else list(one) for one, _ in items]
    return translation.chrf(predictions, references, word_order=2)


def brier_score(items: Sequence[tuple[int, Sequence[float]]]) -> float:
    """Return the mean squared distance between the options' probabilities and the right answer."""
    return mean(
        [
            math.fsum((float(prob) - (number == gold)) ** 2 for number, prob in enumerate(probs))
            for gold, probs in items
        ]
    )


AGGREGATIONS: dict[str, Callable[[Any], Any]] = {
    "mean": mean,
    "median": median,
    "nanmean": nanmean,
    "perplexity": perplexity,
    "weighted_perplexity": weighted_perplexity,
    "bits_per_byte": bits_per_byte,
    "f1": f1_score,
    "matthews_corrcoef": matthews_corrcoef,
    "bleu": bleu,
    "chrf": chrf,
    "chrf++": chrf_plus_plus,
    "ter": ter,
    "brier_score": brier_score,
    "bypass": bypass,
}
"""The aggregations by the names that task files use."""


class MetricFacts(NamedTuple):
    """What is known about a metric by its name."""

    aggregation: str = "mean"
    higher_is_better: bool = True


METRICS: dict[str, MetricFacts] = {
    **dict.fromkeys(("acc", "acc_norm", "acc_mutual_info", "acc_bytes", "exact_match"), MetricFacts()),
    "likelihood": MetricFacts(),
    "perplexity": MetricFacts("perplexity", False),
    "word_perplexity": MetricFacts("weighted_perplexity", False),
    "byte_perplexity": MetricFacts("weighted_perplexity", False),
    "bits_per_byte": MetricFacts("bits_per_byte", False),
    "f1": MetricFacts("f1"),
    "mcc": MetricFacts("matthews_corrcoef"),
    "bleu": MetricFacts("bleu"),
    "chrf": MetricFacts("chrf"),
    "chrf++": MetricFacts("chrf++"),
    "ter": MetricFacts("ter", False),
    "brier_score": MetricFacts("brier_score", False),
    "bypass": MetricFacts("bypass"),
}
"""The metrics by the names that task files use."""


def exact_match(
    *,
    predictions: Sequence[str],
    references: Sequence[str],
    regexes_to_ignore: Sequence[str] | None = None,
    ignore_case: bool = False,
    ignore_punctuation: bool = False,
    ignore_numbers: bool = False,
) -> dict[str, float]:
    """Return the share of predictions that equal their reference, after removing what is ignored."""

    def clean(value: Any) -> str:
        text = str(value)
        for pattern in regexes_to_ignore or ():
            text = re.sub(pattern, "", text)
        if ignore_case:
            text = text.lower()
        if ignore_punctuation:
            text = text.translate(_NO_PUNCTUATION)
        return text.translate(_NO_DIGITS) if ignore_numbers else text

    equal = [clean(one) == clean(other) for one, other in zip(predictions, references, strict=True)]
    return {"exact_match": mean(equal)}


TEXT_METRICS: dict[str, Callable[..., Any]] = {"exact_match": exact_match}
"""Metrics of single replies; the others aggregate pairs of target and reply."""
