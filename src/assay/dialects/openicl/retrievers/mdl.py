"""Examples that make the model sure of an answer: of several sets the one with the least entropy over labels.

After Wu et al. 2023, "Self-Adaptive In-Context Learning". The sets are drawn from the nearest train rows; the
answer is described shortest where the distribution over labels has the least entropy. Which label is right
plays no part.
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
    """What was found out about a row."""

    shots: tuple[int, ...]
    entropy: float | None
    """Of the labels after these examples, in nats; None where the model answered for no set of the row."""
    n_tried: int
    """Different sets that the model answered for."""


class MDLRetriever(CandidateRetriever, frozen=True, kw_only=True):
    """Of the nearest examples and several random sets of near ones, the set that leaves the least doubt."""

    select_time: AtLeastOne = 5
    """How many sets are tried."""
    ce_model_name: str | None = None
    """Without effect: the model under test is asked."""
    ice_template: Any = None
    """How an example looks when sets are tried."""
    prompt_template: Any = None
    """How the question looks then; None: as an example."""
    labels: tuple[Any, ...] | None = None
    """The answers to choose between; None: those of the dataset."""

    needs_model: ClassVar[bool] = True

    def decide(self, corpus: Corpus, *, is_faithful: bool = False) -> list[Decision]:
        """Return the examples of every test row, and how sure the model is with them.

        A row for which the model answers nothing, as when every set is too long for it, has its nearest.
        """
        if corpus.losses is None:
            raise ValueError("MDLRetriever asks the model: the corpus needs losses")
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
                f"MDLRetriever compares labels, and there are {len(labels)}",
                "write labels=[...] into the retriever, or a template for each label",
            )

    def _labels(self, corpus: Corpus) -> Sequence[Any]:
        return corpus.labels if self.labels is None else self.labels

    def _picked(self, corpus: Corpus) -> PickedRows:
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
    """Return the entropy over labels in nats, given the loss of each; their probabilities add up to 1."""
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
