"""Long texts against targets: ROUGE and BLEU, in English and in Chinese."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar

from assay.core.difference import Difference
from assay.scoring.metrics.checks import Misfit, missing_requirement, score_rows
from assay.scoring.metrics.rouge import Words, has_ascii_words, rouge
from assay.scoring.metrics.rouge_sets import compute_set_rouge
from assay.scoring.metrics.translation import add_rows, bleu_counts, sentence_bleu
from assay.scoring.normalize import split_any_script
from assay.scoring.originals.opencompass.evaluators.evaluator import (
    EvaluatedRow,
    Processor,
    RowEvaluator,
    gold_text,
    gold_texts,
    to_text,
)
from assay.scoring.originals.opencompass.postprocess import POSTPROCESSORS
from assay.scoring.originals.opencompass.postprocess.answers import split_chinese_words


class _MultiValueEvaluator(RowEvaluator):
    """The means over rows of several values."""

    correct_by = None

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return the means."""
        rows = score_rows(self, self.prepare_predictions(predictions), references, self.values)
        scores = {name: [row[name] for row in rows] for name in rows[0]}
        self.last_score_lists = scores
        return {name: self.scale * sum(values) / len(values) for name, values in scores.items()}

    def values(self, prediction: Any, row: EvaluatedRow) -> dict[str, float]:
        """Return the values of an answer by name, from 0 to 1."""
        raise NotImplementedError(f"{type(self).__name__} must define values(prediction, row)")


class RougeEvaluator(_MultiValueEvaluator):
    """ROUGE-1, -2, -L and -Lsum by rouge-score, without its stemmer."""

    difference: ClassVar[Difference[object] | None] = Difference(
        "the value is the median of 1,000 means over randomly drawn rows (with `faithful`, the "
        "mean, which is close); a text in a non-Latin script has no words and scores 0; only the "
        "last of several runs counts",
        "the value is the mean; for a target in another script, words of that script count; the "
        "mean of all runs counts",
    )
    _KINDS: ClassVar[tuple[str, ...]] = ("rouge1", "rouge2", "rougeL", "rougeLsum")

    def values(self, prediction: Any, row: EvaluatedRow) -> dict[str, float]:
        """Return the F-measure of each kind, against the best-matching target."""
        golds = gold_texts(row)
        is_ascii = self.is_faithful or any(map(has_ascii_words, golds)) or not any(map(_has_words, golds))
        words: Words = "ascii" if is_ascii else "unicode"
        return rouge(to_text(prediction), golds, kinds=self._KINDS, words=words)


def _has_words(text: str) -> bool:
    return bool(split_any_script(text))


class JiebaRougeEvaluator(_MultiValueEvaluator):
    """ROUGE-1, -2 and -L over sets of words split by jieba, after `general`."""

    difference: ClassVar[Difference[object] | None] = Difference(
        "both texts end at their first ASCII full stop, comma or line break; a target without "
        "words is 0; only the last of several runs counts",
        "the same with whole numbers; a row whose target has no words fails; the mean of all runs counts",
    )
    _ORDERS: ClassVar[dict[str, str]] = {"rouge1": "1", "rouge2": "2", "rougeL": "l"}

    def __init__(self, *, is_faithful: bool = False) -> None:
        super().__init__(is_faithful=is_faithful)
        if find_spec("jieba") is None:
            raise missing_requirement(self, "the package jieba, to split Chinese words", "pip install jieba")

    def values(self, prediction: Any, row: EvaluatedRow) -> dict[str, float]:
        """Return the F-measure of each kind."""
        got, wanted = self._words(to_text(prediction)), self._words(gold_text(row))
        if not wanted and not self.is_faithful:
            raise Misfit(f"the target {row.gold!r:.60} has no words", "provide a text, or remove the row")
        if not got or not wanted:
            return dict.fromkeys(self._ORDERS, 0.0)
        return {
            name: compute_set_rouge(got, wanted, n_gram=order, tokenizer="none")
            for name, order in self._ORDERS.items()
        }

    def _words(self, text: str) -> str:
        return split_chinese_words(POSTPROCESSORS["general"](text, self.is_faithful) or "").strip()


class BleuEvaluator(RowEvaluator):
    """Corpus BLEU by sacrebleu; a row's own value is the BLEU of its sentence."""

    difference: ClassVar[Difference[object] | None] = Difference(
        "only the last of several runs counts", "the mean of all runs counts"
    )
    metric = "score"
    correct_by = None
    corpus_values: ClassVar[Collection[str]] = ("score",)
    _tokenize: ClassVar[str] = "13a"

    def __init__(self, *, pred_postprocessor: Processor | None = None, is_faithful: bool = False) -> None:
        super().__init__(pred_postprocessor=pred_postprocessor, is_faithful=is_faithful)

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return `score`."""
        rows = score_rows(self, self.prepare_predictions(predictions), references, _texts)
        texts, golds = [text for text, _ in rows], [gold for _, gold in rows]
        self.last_intervals.clear()
        corpus = add_rows(bleu_counts(tokenize=self._tokenize), texts, golds)
        if interval := corpus.interval():
            self.last_intervals["score"] = interval
        self.last_score_lists = {
            "score": [sentence_bleu(text, gold, tokenize=self._tokenize) / self.scale for text, gold in rows]
        }
        return {"score": corpus.value()}


class BleuFloresEvaluator(BleuEvaluator):
    """The same over the pieces of FLORES-200's tokenizer, which covers all of its languages."""

    _tokenize: ClassVar[str] = "flores200"

    def __init__(self, *, is_faithful: bool = False) -> None:
        super().__init__(is_faithful=is_faithful)
        if find_spec("sentencepiece") is None:
            raise missing_requirement(
                self,
                "the package sentencepiece, and the network once: sacrebleu downloads FLORES-200's tokenizer",
                "pip install sentencepiece",
            )


def _texts(prediction: Any, row: EvaluatedRow) -> tuple[str, list[str]]:
    return to_text(prediction), gold_texts(row)
