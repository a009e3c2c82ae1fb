"""Examples with which the model is most certain: the set with the lowest entropy over labels.

After Wu et al. 2023, "Self-Adaptive In-Context Learning". The sets are drawn from the nearest train rows; the
description of the answer is shortest for the distribution over labels with the lowest entropy. The right
label is not used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, ClassVar, NamedTuple

from numpy.random import RandomState

from assay.core.ids import make_random
from assay.dialects.openicl.retrievers.corpus import Corpus, Trial
from assay.dialects.openicl.retrievers.drawn import draw_in_turn
from assay.dialects.openicl.retrievers.nearest import CandidateRetriever, EncodedCorpus
from assay.dialects.openicl.retrievers.retriever import AtLeastOne, PickedRows


class Decision(NamedTuple):
    """The chosen examples of a row."""

    shots: tuple[int, ...]
    entropy: float | None
    """The entropy over labels in nats; None if the model answered for no set of the row."""
    n_tried: int
    """Number of distinct sets that the model answered for."""


class MDLRetriever(CandidateRetriever, frozen=True, kw_only=True):
    """Chooses, among the nearest examples and several random sets of near ones, the set of lowest entropy."""

    select_time: AtLeastOne = 5
    """Number of sets to try."""
    ce_model_name: str | None = None
    """No effect: the model under test is used."""
    ice_template: Any = None
    """The template of an example in trials."""
    prompt_template: Any = None
    """The template of the question in trials; None: like an example."""
    labels: tuple[Any, ...] | None = None
    """The labels to compare; None: those of the dataset."""

    needs_model: ClassVar[bool] = True

    def decide(self, corpus: Corpus, *, is_faithful: bool = False) -> list[Decision]:
        """Return the examples of every test row, with the model's entropy.

        If the model answers for no set of a row, for example because all are too long, use the nearest.
        """
        if corpus.losses is None:
            raise ValueError("MDLRetriever needs the model: the corpus needs losses")
        sets = self._original_sets(corpus) if is_faithful else self._sets(corpus)
        trials = [Trial(row, shots) for row, tried in enumerate(sets) for shots in dict.fromkeys(tried)]
        found = zip(trials, corpus.losses(trials, self._labels(corpus)), strict=True)
        return [
            _decision([(trial.shots, losses) for trial, losses in group])
            for _, group in groupby(found, key=lambda one: one[0].row)
        ]

    def check(self, corpus: Corpus, *, is_faithful: bool = False) -> None:
        """Raise if there are too few rows to choose from, or no labels to compare."""
        super().check(corpus, is_faithful=is_faithful)
        if self.count and len(labels := self._labels(corpus)) < 2:
            raise corpus.lacks(
                f"MDLRetriever compares labels, but there are {len(labels)}",
                "write labels=[...] in the retriever, or use per-label templates",
            )

    def _labels(self, corpus: Corpus) -> Sequence[Any]:
        return corpus.labels if self.labels is None else self.labels

    def _pick_rows(self, corpus: Corpus) -> PickedRows:
        return [one.shots for one in self.decide(corpus)]

    def _pick_originals(self, corpus: Corpus) -> PickedRows:
        return [one.shots for one in self.decide(corpus, is_faithful=True)]

    def _sets(self, corpus: Corpus) -> Iterator[list[tuple[int, ...]]]:
        encoded = EncodedCorpus(corpus)
        for row, sample_id in enumerate(corpus.sample_ids):
            near = encoded.find_nearest_others(row, self.candidate_num)
            generator = make_random(corpus.seed, corpus.task, sample_id, f"mdl {self.seed}")
            size = min(self.ice_num, len(near))
            drawn = [tuple(generator.sample(near, size)) for _ in range(self.select_time - 1)]
            yield [near[:size], *drawn]

    def _original_sets(self, corpus: Corpus) -> Iterator[list[tuple[int, ...]]]:
        n_near = min(self.candidate_num, len(corpus.train))

        def one(generator: RandomState) -> list[list[int]]:
            times = range(self.select_time - 1)
            return [generator.choice(n_near, self.ice_num, replace=False).tolist() for _ in times]

        encoded = EncodedCorpus(corpus)
        for row, places in enumerate(draw_in_turn(corpus, self.seed, one)):
            near = encoded.find_originals(row, n_near)
            yield [near[: self.ice_num], *(tuple(near[at] for at in chosen) for chosen in places)]


def compute_entropy(losses: Sequence[float]) -> float:
    """Return the entropy over labels in nats, given their losses; probabilities are normalised to 1."""
    least = min(losses)
    weights = [math.exp(least - loss) for loss in losses]
    total = math.fsum(weights)
    shares = (share for weight in weights if (share := weight / total) > 0)
    return math.fsum(-share * math.log(share) for share in shares)


def _decision(tried: Sequence[tuple[tuple[int, ...], Sequence[float] | None]]) -> Decision:
    known = [(compute_entropy(losses), shots) for shots, losses in tried if losses is not None]
    if not known:
        return Decision(tried[0][0], None, 0)
    least, shots = min(known, key=lambda one: one[0])
    return Decision(shots, least, len(known))
