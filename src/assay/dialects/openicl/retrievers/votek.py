"""One set of examples for all rows, spread over the train split: rows that are neighbours of many others.

After Su et al. 2022, "Selective Annotation Makes Language Models Better Few-Shot Learners". Every train row
votes for its k nearest rows. Rows are chosen by votes, except those whose voters all voted for one earlier
row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from assay.core.ids import rank
from assay.dialects.openicl.retrievers.corpus import Corpus
from assay.dialects.openicl.retrievers.nearest import EncodedCorpus, EncodingRetriever
from assay.dialects.openicl.retrievers.retriever import AtLeastOne, PickedRows, pick_others
from assay.dialects.shared.similarity import compute_similarity


class VotekRetriever(EncodingRetriever, frozen=True, kw_only=True):
    """Examples by votes; for a row that is one of them, the next row replaces it."""

    votek_k: AtLeastOne = 3
    """Number of neighbours that a row votes for."""

    def _pick_rows(self, corpus: Corpus) -> PickedRows:
        encoded = EncodedCorpus(corpus)
        ballots = [encoded.find_neighbours(at, self.votek_k) for at in range(len(corpus.train))]
        spare = max((len(own) for own in corpus.same.values()), default=0)
        ranked = list(islice(_rank_rows(ballots, corpus), self.ice_num + spare))
        return [pick_others(corpus, row, ranked, self.ice_num) for row in range(len(corpus.test))]

    def _pick_originals(self, corpus: Corpus) -> PickedRows:
        train = EncodedCorpus(corpus).train
        ballots = []
        for at in range(len(train)):
            # The original assumes that the last is the row itself, which is wrong for duplicated rows.
            near = np.argsort(compute_similarity(train, train[at])).tolist()[-self.votek_k - 1 : -1]
            ballots.append([one for one in near if one != at])
        return [tuple(islice(_rank_rows(ballots, corpus), self.ice_num))] * len(corpus.test)


def _rank_rows(ballots: Sequence[Sequence[int]], corpus: Corpus) -> Iterator[int]:
    """Yield all train rows: first the elected ones, then the others in drawn order."""
    taken = set()
    for one in elect_rows(ballots):
        taken.add(one)
        yield one
    others = (one for one in range(len(ballots)) if one not in taken)
    yield from sorted(others, key=lambda one: rank(corpus.seed, corpus.task, "votek", str(one)))


def elect_rows(ballots: Sequence[Sequence[int]]) -> Iterator[int]:
    """Yield the rows with voters of their own, by number of votes; of equals, the first one voted for.

    A ballot contains the votes of one voter.
    """
    voters: dict[int, set[int]] = {}
    for voter, ballot in enumerate(ballots):
        for one in ballot:
            voters.setdefault(one, set()).add(voter)
    by_votes = sorted(voters, key=lambda one: -len(voters[one]))
    for place, one in enumerate(by_votes):
        if not any(voters[one] <= voters[before] for before in by_votes[:place]):
            yield one
