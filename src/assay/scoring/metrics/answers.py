"""Em and F1: free answers against one or several references, as SQuAD, CoQA and QuAC count them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from assay.scoring.metrics.checks import check_option, join_text, reference_texts, score_rows
from assay.scoring.metrics.list_metric import ListMetric
from assay.scoring.metrics.words import (
    ARTICLES,
    WORDS_BY,
    bag_f1,
    is_number,
    squad_form,
)

Strategy = Literal["max", "leave_one_out"]
_STRATEGIES: tuple[Strategy, ...] = ("max", "leave_one_out")
_DROPPED = (*ARTICLES, "and")


def answer_form(text: str) -> str:
    """Return SQuAD's form of an answer without `and`, so that `salt and pepper` equals `salt pepper`.

    SQuAD itself keeps `and`. LLMBox drops it, and its published numbers depend on that.
    """
    return squad_form(text, dropped=_DROPPED)


def combine_references(scores: Sequence[float], strategy: Strategy = "max") -> float:
    """Return the combined score over several references.

    `max` takes the best. `leave_one_out` is CoQA's: the mean, over all ways to leave one reference out, of
    the best of the others, which is (best · (n - 1) + second best) / n. A single reference counts as it is.
    """
    if strategy == "max" or len(scores) == 1:
        return max(scores)
    best, second = sorted(scores, reverse=True)[:2]
    return (best * (len(scores) - 1) + second) / len(scores)


class Em(ListMetric):
    """The percentage of predictions that equal a reference after both are converted by `answer_form`.

    A row's reference is a text or a list of acceptable texts. The form drops `and`, as the original does.
    """

    scale: ClassVar[float] = 100.0

    def __init__(self, *, multiref_strategy: Strategy = "max") -> None:
        check_option(self, "multiref_strategy", multiref_strategy, _STRATEGIES)
        self.multiref_strategy: Strategy = multiref_strategy
        """How several references are combined."""

    def __call__(self, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
        """Return `EM`."""
        return self._mean("EM", score_rows(self, predictions, references, self._score))

    def _score(self, prediction: Any, reference: Any) -> float:
        answer = answer_form(join_text("prediction", prediction))
        equal = [float(answer == answer_form(text)) for text in reference_texts(reference)]
        return combine_references(equal, self.multiref_strategy)


class F1(ListMetric):
    """The mean F1 between the words of predictions and references, in percent.

    With `normalize_level="token"`, a word that is only an article or punctuation stays in the bag as an empty
    word, as in the original; `text` and `both` remove such words before the text is split.
    """

    scale: ClassVar[float] = 100.0

    def __init__(
        self,
        *,
        multiref_strategy: Strategy = "max",
        word_tokenize: Literal["nltk", "split", "regex", "unicode"] = "nltk",
        normalize_level: Literal["token", "text", "both"] = "both",
        align_bag: Literal["counter", "set"] = "counter",
        force_number_match: bool = False,
    ) -> None:
        check_option(self, "multiref_strategy", multiref_strategy, _STRATEGIES)
        check_option(self, "word_tokenize", word_tokenize, WORDS_BY)
        check_option(self, "normalize_level", normalize_level, ("token", "text", "both"))
        check_option(self, "align_bag", align_bag, ("counter", "set"))
        self.multiref_strategy: Strategy = multiref_strategy
        """How several references are combined."""
        self.word_tokenize = WORDS_BY[word_tokenize]
        """How words are split: `nltk` (Penn Treebank), `split` (white space), `regex` (space and hyphen),
        `unicode` (words of any script, each Chinese and Japanese character one)."""
        self.normalizes_text = normalize_level in ("text", "both")
        self.normalizes_words = normalize_level in ("token", "both")
        self.counts_repeats = align_bag == "counter"
        """Whether a repeated word counts as often as it occurs."""
        self.force_number_match = force_number_match
        """Whether a reference of only numbers, none of which the prediction contains, scores 0.

        This is LLMBox's definition, and it never changes a score: bags without shared words score 0 anyway.
        """

    def __call__(self, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
        """Return `F1`."""
        return self._mean("F1", score_rows(self, predictions, references, self._score))

    def _score(self, prediction: Any, reference: Any) -> float:
        got = self._words(join_text("prediction", prediction))
        by_reference = [self._compare(got, self._words(text)) for text in reference_texts(reference)]
        return combine_references(by_reference, self.multiref_strategy)

    def _words(self, text: str) -> list[str]:
        words = self.word_tokenize(answer_form(text) if self.normalizes_text else text)
        if self.normalizes_words:
            words = [answer_form(word) for word in words]
        return words if self.counts_repeats else sorted(set(words))

    def _compare(self, got: list[str], wanted: list[str]) -> float:
        if self.force_number_match and wanted and all(map(is_number, wanted)) and set(wanted).isdisjoint(got):
            return 0.0
        return bag_f1(got, wanted)


Spans = tuple[str, ...]
"""One acceptable answer: its spans; a number or a date is a single span."""


def get_answers(doc: Mapping[str, Any]) -> list[Spans]:
    """Return the acceptable answers of a DROP row without duplicates, the main one first.

    Reads `answer` (number, date, spans) and `validated_answers`, in which each of the three is a list.
    """
    validated = doc["validated_answers"]
    columns = (validated["number"], validated["date"], validated["spans"])
    others = [
        {"number": number, "date": date, "spans": spans} for number, date, spans in zip(*columns, strict=True)
    ]
    return list(dict.fromkeys(_spans(answer) for answer in [doc["answer"], *others]))


def _spans(answer: Mapping[str, Any]) -> Spans:
    if answer["number"] != "":
        return (str(answer["number"]),)
    if len(answer["spans"]):
        return tuple(answer["spans"])
    date = answer["date"]
    return (" ".join((date["day"], date["month"], date["year"])).strip(),)
