"""BLEU, chrF and TER by sacrebleu, the package that papers use.

A prediction may have several references, and rows may have different numbers of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, get_args

from assay.scoring.metrics.checks import check_option, join_text, reference_texts, score_rows
from assay.scoring.metrics.corpus_counts import CorpusCounts
from assay.scoring.metrics.list_metric import ListMetric

Tokenizer = Literal["intl", "13a", "zh", "char"]

References = Sequence[Sequence[str]]
"""The references of each prediction."""


def bleu_counts(*, tokenize: str = "13a") -> CorpusCounts:
    """Return the counts for corpus BLEU, 0 to 100: n-grams over all rows, not a mean over rows."""
    from sacrebleu.metrics import BLEU

    return CorpusCounts(BLEU(tokenize=tokenize))


def chrf_counts(*, word_order: int = 0) -> CorpusCounts:
    """Return the counts for corpus chrF, 0 to 100; chrF++ with `word_order` 2."""
    from sacrebleu.metrics import CHRF

    return CorpusCounts(CHRF(word_order=word_order))


def corpus_bleu(predictions: Sequence[str], references: References, *, tokenize: str = "13a") -> float:
    """Return corpus BLEU, 0 to 100."""
    return add_rows(bleu_counts(tokenize=tokenize), predictions, references).value()


def sentence_bleu(prediction: str, references: Sequence[str], *, tokenize: str = "13a") -> float:
    """Return BLEU of one sentence, 0 to 100: smoothed, with only the orders it is long enough for."""
    from sacrebleu.metrics import BLEU

    return float(BLEU(tokenize=tokenize, effective_order=True).sentence_score(prediction, references).score)


def chrf(predictions: Sequence[str], references: References, *, word_order: int = 0) -> float:
    """Return corpus chrF, 0 to 100; chrF++ with `word_order` 2."""
    return add_rows(chrf_counts(word_order=word_order), predictions, references).value()


def ter(predictions: Sequence[str], references: References) -> float:
    """Return the corpus translation edit rate in percent; lower is better, and it can exceed 100."""
    from sacrebleu.metrics import TER

    return add_rows(CorpusCounts(TER()), predictions, references).value()


def add_rows(counts: CorpusCounts, predictions: Sequence[str], references: References) -> CorpusCounts:
    """Add the rows of whole lists to counts, and return the counts."""
    if len(predictions) != len(references):
        raise ValueError(f"{len(predictions)} predictions but references for {len(references)}")
    if not predictions or not all(references):
        raise ValueError("expected at least one prediction, and a reference for each")
    for prediction, several in zip(predictions, references, strict=True):
        counts.add(prediction, several)
    return counts


class Bleu(ListMetric):
    """BLEU by sacrebleu: the mean over sentences, and corpus BLEU.

    Papers report corpus BLEU. A row's reference is a text or a list of texts. The `intl` tokenizer splits
    words at spaces and punctuation, which leaves whole clauses of Chinese and Japanese; use `zh` or `char`
    there.
    """

    scale: ClassVar[float] = 100.0

    def __init__(self, *, tokenize: Tokenizer = "intl") -> None:
        check_option(self, "tokenize", tokenize, get_args(Tokenizer))
        self.tokenize: Tokenizer = tokenize
        """sacrebleu's tokenizer."""

    def __call__(self, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
        """Return `Sentence_BLEU` and `Corpus_BLEU`."""
        rows = score_rows(self, predictions, references, _read_row)
        texts, targets = [text for text, _ in rows], [target for _, target in rows]
        corpus = add_rows(bleu_counts(tokenize=self.tokenize), texts, targets)
        if interval := corpus.interval():
            self.last_intervals["Corpus_BLEU"] = interval
        sentences = [
            sentence_bleu(text, target, tokenize=self.tokenize) / self.scale for text, target in rows
        ]
        return {
            **self._mean("Sentence_BLEU", sentences),
            "Corpus_BLEU": corpus.value(),
        }


def _read_row(prediction: Any, reference: Any) -> tuple[str, list[str]]:
    return join_text("prediction", prediction), reference_texts(reference)
