"""BLEU, chrF and TER, all by sacrebleu, whose numbers are the ones papers compare.

One prediction may have several references, and rows need not have equally many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, get_args

from assay.scoring.metrics.checks import check_option, each_row, joined_text, reference_texts
from assay.scoring.metrics.list_metric import ListMetric

_N_BOOTSTRAP = 1000
_SEED = 12345
"""The one that sacrebleu draws by."""

Tokenizer = Literal["intl", "13a", "zh", "char"]

References = Sequence[Sequence[str]]
"""For each prediction its references."""


def corpus_bleu(predictions: Sequence[str], references: References, *, tokenize: str = "13a") -> float:
    """Return BLEU over a corpus, 0 to 100: sums of n-gram counts over all rows, not a mean over rows."""
    from sacrebleu.metrics import BLEU

    return _corpus_score(BLEU(tokenize=tokenize), predictions, references)


def sentence_bleu(prediction: str, references: Sequence[str], *, tokenize: str = "13a") -> float:
    """Return BLEU of one sentence, 0 to 100: only orders that it is long enough for, smoothed."""
    from sacrebleu.metrics import BLEU

    return float(BLEU(tokenize=tokenize, effective_order=True).sentence_score(prediction, references).score)


def bleu_up_to(order: int, prediction: str, references: Sequence[str]) -> float:
    """Return BLEU of one sentence from n-grams of 1 to `order` words, 0 to 100, not smoothed.

    0 when any order has no match, so also for a sentence of fewer than `order` words.
    """
    from sacrebleu.metrics import BLEU

    metric = BLEU(max_ngram_order=order, smooth_method="none", effective_order=False)
    return _corpus_score(metric, [prediction], [references])


def chrf(predictions: Sequence[str], references: References, *, word_order: int = 0) -> float:
    """Return chrF over a corpus, 0 to 100; chrF++ with `word_order` 2."""
    from sacrebleu.metrics import CHRF

    return _corpus_score(CHRF(word_order=word_order), predictions, references)


def ter(predictions: Sequence[str], references: References) -> float:
    """Return the translation edit rate over a corpus in percent; lower is better, and 100 is no bound."""
    from sacrebleu.metrics import TER

    return _corpus_score(TER(), predictions, references)


def corpus_bleu_interval(
    predictions: Sequence[str], references: References, *, tokenize: str = "13a"
) -> tuple[float, float]:
    """Return the 95 % interval of a corpus's BLEU by sacrebleu: rows drawn again, by a fixed seed."""
    from sacrebleu.metrics import BLEU

    return _corpus_interval(BLEU(tokenize=tokenize), predictions, references)


def chrf_interval(predictions: Sequence[str], references: References) -> tuple[float, float]:
    """Return the same of a corpus's chrF."""
    from sacrebleu.metrics import CHRF

    return _corpus_interval(CHRF(), predictions, references)


def _corpus_interval(metric: Any, predictions: Sequence[str], references: References) -> tuple[float, float]:
    import numpy as np

    # sacrebleu's own draws, one after the other: all at once, as it has them, are 40 kB for each row.
    counts = metric._extract_corpus_statistics(list(predictions), _streams(references))
    score: Any = metric._aggregate_and_compute(counts)
    rows = np.array(counts, dtype="float32")
    draw = np.random.default_rng(_SEED)
    score.estimate_ci(
        [
            metric._compute_score_from_stats(rows[draw.choice(len(rows), size=len(rows))].sum(0))
            for _ in range(_N_BOOTSTRAP)
        ]
    )
    return float(score._mean - score._ci), float(score._mean + score._ci)


def _corpus_score(metric: Any, predictions: Sequence[str], references: References) -> float:
    if len(predictions) != len(references):
        raise ValueError(f"{len(predictions)} predictions but references for {len(references)}")
    if not predictions or not all(references):
        raise ValueError("expected at least one prediction, and a reference for each")
    return float(metric.corpus_score(list(predictions), _streams(references)).score)


def _streams(references: References) -> list[list[str | None]]:
    """Turn references as sacrebleu wants them: one of each row in a stream, None where a row has no more."""
    return [
        [row[index] if index < len(row) else None for row in references]
        for index in range(max(map(len, references)))
    ]


class Bleu(ListMetric):
    """BLEU by sacrebleu: the mean over sentences, and the corpus's own.

    Papers report the corpus's. A row's reference is a text, or a list of several. The `intl` tokenizer parts
    words at spaces and marks; of Chinese and Japanese it makes whole clauses, so use `zh` or `char` there.
    """

    scale: ClassVar[float] = 100.0

    def __init__(self, *, tokenize: Tokenizer = "intl") -> None:
        check_option(self, "tokenize", tokenize, get_args(Tokenizer))
        self.tokenize: Tokenizer = tokenize
        """By what sacrebleu parts words."""

    def __call__(self, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
        """Return `Sentence_BLEU` and `Corpus_BLEU`."""
        rows = each_row(self, predictions, references, _text_and_references)
        texts, targets = [text for text, _ in rows], [target for _, target in rows]
        if len(rows) > 1:
            self.last_intervals["Corpus_BLEU"] = corpus_bleu_interval(texts, targets, tokenize=self.tokenize)
        sentences = [
            sentence_bleu(text, target, tokenize=self.tokenize) / self.scale for text, target in rows
        ]
        return {
            **self._mean("Sentence_BLEU", sentences),
            "Corpus_BLEU": corpus_bleu(texts, targets, tokenize=self.tokenize),
        }


def _text_and_references(prediction: Any, reference: Any) -> tuple[str, list[str]]:
    return joined_text("prediction", prediction), reference_texts(reference)
