"""Aggregation functions that authors of Task classes import: one number for the values of all documents.

Values are numbers, or pairs: a target and a prediction, in this order, or a sum and its divisor. Packages are
imported by the functions that call them. Must not know tasks or runs.
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeAlias

from assay.scoring.metrics import translation
from assay.scoring.metrics.classification import compute_f1_by_class, macro_f1, matthews
from assay.scoring.metrics.words import bag_f1

Pairs: TypeAlias = Sequence[tuple[Any, Any]]

_QUOTES = str.maketrans(dict.fromkeys("'\"《》<>〈〉()‘’", " "))
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_BLEURT = "Elron/bleurt-base-128"
_KOBERT = "beomi/kcbert-base"
_KOBERT_LAYERS = 12


def mean(arr: Sequence[Any]) -> float:
    """Return the mean; an empty list has none."""
    return math.fsum(map(float, arr)) / len(arr) if len(arr) else math.nan


def median(arr: Sequence[Any]) -> float:
    """Return the middle value, or the mean of the two middle values."""
    ordered = sorted(map(float, arr))
    if not ordered:
        return math.nan
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def pop_stddev(arr: Sequence[Any]) -> float:
    """Return the population standard deviation."""
    return math.sqrt(_squares(arr) / len(arr))


def sample_stddev(arr: Sequence[Any]) -> float:
    """Return the sample standard deviation."""
    return math.sqrt(_squares(arr) / (len(arr) - 1))


def mean_stderr(arr: Sequence[Any]) -> float:
    """Return the standard error of the mean."""
    return sample_stddev(arr) / math.sqrt(len(arr))


def _squares(arr: Sequence[Any]) -> float:
    middle = mean(arr)
    return math.fsum((float(one) - middle) ** 2 for one in arr)


def f1_score(items: Pairs) -> float:
    """Return F1 of class 1 against the other class; 0 if class 1 is never a target or a prediction."""
    golds, predictions = _columns(items)
    classes = {*golds, *predictions}
    if len(classes) > 2 or (len(classes) == 2 and 1 not in classes):
        seen = ", ".join(sorted(map(repr, classes))[:6])
        raise ValueError(f"f1_score compares the class 1 with one other, found {seen}: use macro_f1_score")
    return compute_f1_by_class(predictions, golds).get(1, 0.0)


def macro_f1_score(items: Pairs) -> float:
    """Return the mean F1 over all classes that occur as a target or a prediction."""
    golds, predictions = _columns(items)
    return macro_f1(predictions, golds)


def matthews_corrcoef(items: Pairs) -> float:
    """Return the Matthews correlation between targets and predictions."""
    golds, predictions = _columns(items)
    return matthews(predictions, golds)


def acc_all(items: Sequence[tuple[Any, Mapping[str, Any]]]) -> float:
    """Return the share of questions whose answers were all judged correctly, as MultiRC counts.

    An item is a prediction and its document, with `idx` (paragraph, question) and `label`.
    """
    questions: dict[tuple[Any, Any], bool] = {}
    for prediction, doc in items:
        key = (doc["idx"]["paragraph"], doc["idx"]["question"])
        is_right = bool(prediction) == (doc["label"] == 1)
        questions[key] = questions.get(key, True) and is_right
    return mean(list(questions.values()))


def metric_max_over_ground_truths(
    metric_fn: Callable[[Any, Any], float], prediction: Any, ground_truths: Iterable[Any]
) -> float:
    """Return a prediction's best value over several targets."""
    return max(metric_fn(prediction, truth) for truth in ground_truths)


def yesno(x: Any) -> str:
    """Return a boolean as a word."""
    return "yes" if x else "no"


def perplexity(items: Sequence[Any]) -> float:
    """Return e to the mean negative log-likelihood."""
    return math.exp(-mean(items))


def weighted_mean(items: Pairs) -> float:
    """Return the sum of the first parts divided by the sum of the second."""
    sums, weights = _columns(items)
    return math.fsum(map(float, sums)) / math.fsum(map(float, weights))


def weighted_perplexity(items: Pairs) -> float:
    """Return e to the negative log-likelihood of all texts per unit: word, byte or other."""
    return math.exp(-weighted_mean(items))


def bits_per_byte(items: Pairs) -> float:
    """Return the negative log-likelihood of all texts in bits, per byte."""
    return -weighted_mean(items) / math.log(2)


def normalize_answer(s: str) -> str:
    """Return an answer without quotes, brackets and ASCII punctuation, in lower case, with single spaces."""
    return " ".join(s.translate(_QUOTES).lower().translate(_NO_PUNCTUATION).split())


def exact_match_score(prediction: str, ground_truth: str) -> bool:
    """Whether two answers are equal after normalization."""
    return normalize_answer(prediction) == normalize_answer(ground_truth)


def f1_score_sentence(prediction: str, ground_truth: str) -> float:
    """Return F1 between the characters of two normalized answers; 0 if they share none."""
    got, wanted = ("".join(normalize_answer(text).split()) for text in (prediction, ground_truth))
    return bag_f1(got, wanted) if got and wanted else 0.0


def is_non_str_iterable(obj: Any) -> bool:
    """Whether an object is iterable and not a str."""
    return isinstance(obj, Iterable) and not isinstance(obj, str)


def bleu(items: Pairs) -> float:
    """Return corpus BLEU, 0 to 100; a target may be a list of several."""
    return translation.corpus_bleu(*_texts(items))


def chrf(items: Pairs) -> float:
    """Return corpus chrF, 0 to 100."""
    return translation.chrf(*_texts(items))


def ter(items: Pairs) -> float:
    """Return the corpus translation edit rate in percent; lower is better."""
    return translation.ter(*_texts(items))


def rouge(items: Pairs) -> float:
    """Return the mean ROUGE-1 recall over documents: the share of the reference's words that are found.

    Each word counts once. Full stops separate sentences and are not words, as in the package `rouge`. A
    prediction without words finds none.
    """
    predictions, references = _texts(items)
    shares = []
    for prediction, (reference, *_) in zip(predictions, references, strict=True):
        wanted = _rouge_words(reference)
        shares.append(len(wanted & _rouge_words(prediction)) / len(wanted) if wanted else 0.0)
    return mean(shares)


def _rouge_words(text: str) -> frozenset[str]:
    return frozenset(text.replace(".", " ").split())


def bert_score(items: Pairs) -> dict[str, float]:
    """Return BERTScore's precision, recall and F1 for Korean."""
    return _bert_score(items, lang="ko")


def kobert_score(items: Pairs) -> dict[str, float]:
    """Return BERTScore's precision, recall and F1 by beomi/kcbert-base."""
    return _bert_score(items, model_type=_KOBERT, num_layers=_KOBERT_LAYERS)


def _bert_score(items: Pairs, **how: Any) -> dict[str, float]:
    from bert_score import score

    predictions, references = _texts(items)
    parts = score(list(predictions), [list(one) for one in references], **how)
    return {
        name: float(part.mean())
        for name, part in zip(("precision", "recall", "f1_score"), parts, strict=True)
    }


def _columns(items: Pairs) -> tuple[list[Any], list[Any]]:
    return [first for first, _ in items], [second for _, second in items]


def _texts(items: Pairs) -> tuple[list[str], list[list[str]]]:
    """Return predictions and, for each, its references."""
    references, predictions = _columns(items)
    return [_one_text(one) for one in predictions], [_several_texts(one) for one in references]


def _one_text(prediction: Any) -> str:
    if isinstance(prediction, str):
        return prediction
    if is_non_str_iterable(prediction) and len(several := list(prediction)) == 1:
        return str(several[0])
    raise ValueError(f"a prediction must be a text, found {prediction!r:.60}")


def _several_texts(reference: Any) -> list[str]:
    return [str(one) for one in reference] if is_non_str_iterable(reference) else [str(reference)]


class AggregationTraits(NamedTuple):
    """The known properties of an aggregation function."""

    is_share: bool = False
    """Whether its value is always between 0 and 1."""
    needs: tuple[str, ...] = ()
    """Required packages that Assay does not install."""
    is_costly: bool = False
    """Whether it loads a model: it is called once, never for single documents or for an interval."""
    ratio: Callable[[Any], tuple[float, float, bool]] | None = None
    """For a ratio of two sums over the documents: one document's part of both, and whether the number is e to
    the power of the ratio."""


class Bleurt:
    """The mean of BLEURT's raw scores, by Elron/bleurt-base-128."""

    traits = AggregationTraits(needs=("torch", "transformers"), is_costly=True)

    def __init__(self, compare: Callable[[str, Sequence[str], Sequence[str]], list[float]]) -> None:
        """Take the function that returns a model's score for each pair; this package does not load models."""
        self._compare = compare

    def __call__(self, items: Pairs) -> float:
        """Return the mean over all pairs of a target and a prediction."""
        predictions, references = _texts(items)
        return mean(self._compare(_BLEURT, [several[0] for several in references], predictions))


_SHARE = AggregationTraits(is_share=True)
_ENCODER = AggregationTraits(is_share=True, needs=("bert_score",), is_costly=True)
_TRAITS: dict[Any, AggregationTraits] = {
    f1_score: _SHARE,
    macro_f1_score: _SHARE,
    acc_all: _SHARE,
    rouge: _SHARE,
    bert_score: _ENCODER,
    kobert_score: _ENCODER,
    perplexity: AggregationTraits(ratio=lambda value: (-float(value), 1.0, True)),
    weighted_mean: AggregationTraits(ratio=lambda pair: (float(pair[0]), float(pair[1]), False)),
    weighted_perplexity: AggregationTraits(ratio=lambda pair: (-float(pair[0]), float(pair[1]), True)),
    bits_per_byte: AggregationTraits(
        ratio=lambda pair: (-float(pair[0]) / math.log(2), float(pair[1]), False)
    ),
}


def get_traits(function: Any) -> AggregationTraits:
    """Return the known properties of a function; none for an author's own."""
    if isinstance(function, Bleurt):
        return function.traits
    try:
        return _TRAITS.get(function, AggregationTraits())
    except TypeError:  # an unhashable object is not one of ours
        return AggregationTraits()


def packages_lacking(function: Any) -> tuple[str, ...]:
    """Return the packages that must be installed before a function can be called."""
    return tuple(package for package in get_traits(function).needs if find_spec(package) is None)


_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    mean, median, pop_stddev, sample_stddev, mean_stderr,
    f1_score, macro_f1_score, matthews_corrcoef, acc_all, metric_max_over_ground_truths, yesno,
    perplexity, weighted_mean, weighted_perplexity, bits_per_byte,
    normalize_answer, exact_match_score, f1_score_sentence, is_non_str_iterable,
    bleu, chrf, ter, rouge, bert_score, kobert_score,
)  # fmt: skip

AGGREGATIONS: dict[str, Any] = {function.__name__: function for function in _FUNCTIONS}
"""All names an author may import; the app creates `bleurt`, because it has the models."""
