"""ROUGE by rouge-score, the package that papers use."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, Literal

from assay.scoring.metrics.checks import Misfit, check_option, join_text, reference_texts, score_rows
from assay.scoring.metrics.list_metric import ListMetric
from assay.scoring.normalize import split_any_script

Words = Literal["ascii", "unicode"]

_ASCII_WORD = re.compile(r"[a-zA-Z0-9]")


class _UnicodeTokenizer:
    """Words of any script, with the interface that rouge-score requires."""

    def tokenize(self, text: str) -> list[str]:
        return split_any_script(text)


@lru_cache(maxsize=8)
def _scorer(kinds: tuple[str, ...], uses_stemmer: bool, words: Words) -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(
        list(kinds), use_stemmer=uses_stemmer, tokenizer=_UnicodeTokenizer() if words == "unicode" else None
    )


def rouge(
    prediction: str,
    references: Sequence[str],
    *,
    kinds: Sequence[str] = ("rouge1", "rouge2", "rougeL"),
    uses_stemmer: bool = False,
    words: Words = "ascii",
) -> dict[str, float]:
    """Return the F-measure of each kind, 0 to 1, against the best-matching reference.

    `rougeLsum` treats each line as a sentence. `ascii` words are rouge-score's own: lower-case a to z and
    digits, separated by everything else; stemming applies to them.
    """
    if not references:
        raise ValueError("expected at least one reference")
    scorer = _scorer(tuple(kinds), uses_stemmer, words)
    best = scorer.score_multi(list(references), prediction)
    return {kind: float(best[kind].fmeasure) for kind in kinds}


class Rouge(ListMetric):
    """ROUGE-1, ROUGE-2 and ROUGE-L: the mean F-measure in percent, with the Porter stemmer.

    rouge-score knows only a to z and digits: a text in another script has no words and would always score 0.
    Such a reference is an error; `words="unicode"` counts words of any script.
    """

    scale: ClassVar[float] = 100.0
    _KINDS: ClassVar[dict[str, str]] = {"ROUGE-1": "rouge1", "ROUGE-2": "rouge2", "ROUGE_L": "rougeL"}

    def __init__(self, *, words: Words = "ascii") -> None:
        check_option(self, "words", words, ("ascii", "unicode"))
        self.words: Words = words
        """Which characters form words."""

    def __call__(self, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
        """Return `ROUGE-1`, `ROUGE-2` and `ROUGE_L`."""
        rows = score_rows(self, predictions, references, self._score)
        scores = {name: [row[kind] for row in rows] for name, kind in self._KINDS.items()}
        self.last_score_lists = scores
        return {name: self.scale * sum(values) / len(values) for name, values in scores.items()}

    def _score(self, prediction: Any, reference: Any) -> dict[str, float]:
        text, targets = join_text("prediction", prediction), reference_texts(reference)
        if self.words == "ascii":
            _check_scripts(targets)
        return rouge(text, targets, uses_stemmer=True, words=self.words)


def has_ascii_words(text: str) -> bool:
    """Whether rouge-score's own tokenizer finds a word in a text."""
    return _ASCII_WORD.search(text) is not None


def _check_scripts(targets: list[str]) -> None:
    for target in targets:
        if not has_ascii_words(target) and split_any_script(target):
            raise Misfit(
                f"the reference {target[:40]!r} contains no words of a to z or digits, "
                "the only characters that ROUGE's own tokenizer knows",
                'use Rouge(words="unicode")',
            )
