"""Solved examples for a prompt. A draw depends on (seed, task, sample) alone; a sample never sees itself."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Literal, NamedTuple, TypeAlias

from assay.core.ids import make_random
from assay.core.sample import Sample
from assay.dialects.shared.duplicate_numbers import sort_numbers

ShotPolicy: TypeAlias = Literal["first", "random"]
_NUMBERS = 1 << 64


class Shots(NamedTuple):
    """The examples of one prompt, in the order in which they stand before the question."""

    shown: Sequence[Sample] = ()
    n_left_out: int = 0
    """Examples that belong here but are not shown, since the prompt would be too long."""

    def at_most(self, n: int | None, *, drops_last: bool = False) -> Shots:
        """Return n of them, whole: those nearest to the question, or with `drops_last` the furthest."""
        if n is None or len(self.shown) <= n:
            return self
        excess = len(self.shown) - n
        kept = self.shown[:-excess] if drops_last else self.shown[excess:]
        return Shots(kept, self.n_left_out + excess)


class ShotPool:
    """Where examples come from, and how they are chosen."""

    def __init__(
        self,
        pool: Iterable[Sample],
        n_shots: int,
        *,
        policy: ShotPolicy,
        seed: int,
        task: str,
        question: Callable[[Sample], str],
        keep: Callable[[Iterable[Sample]], Sequence[Sample]] = list,
    ) -> None:
        """`keep`: makes the list of those that may be examples; one need not lie in memory."""
        # What a member asks is known by a number: comparing those reads no texts from all over memory.
        self._asked = array("Q")
        self._question = question
        self.members = keep(self._noted(pool))
        """The samples that may be examples."""
        self._in_order = sort_numbers(self._asked)
        self._n_shots = n_shots
        self.policy = policy
        self._seed = seed
        self._task = task

    def __len__(self) -> int:
        return len(self.members)

    def has_same_question(self, sample: Sample) -> bool:
        """Return whether the pool holds this sample's question, so that it has to be kept out."""
        return self._count_twins(self._number(sample)) > 0

    def n_left(self, sample: Sample) -> int:
        """Return how many examples there are for a sample, once those that ask the same are kept out."""
        return len(self.members) - self._count_twins(self._number(sample))

    def count_fewest_left(self) -> int:
        """Return how many examples there are for the member that has the fewest."""
        return len(self) - max((sum(1 for _ in alike) for _, alike in groupby(self._in_order)), default=0)

    def shots(self, sample: Sample) -> list[Sample]:
        """Return the examples for a sample: never itself, never a row that asks the same."""
        return [self.members[i] for i in self.picked(sample)]

    def picked(self, sample: Sample) -> list[int]:
        """Return where among the members the examples for a sample stand."""
        if not self._n_shots:
            return []
        own = self._number(sample)
        # So many more than needed that, after the twins are dropped, enough are left.
        wanted = min(len(self.members), self._n_shots + self._count_twins(own))
        if self.policy == "first":
            chosen: Sequence[int] = range(wanted)
        else:
            chosen = make_random(self._seed, self._task, sample.id, "shots").sample(
                range(len(self.members)), wanted
            )
        return [i for i in chosen if self._asked[i] != own][: self._n_shots]

    def _noted(self, pool: Iterable[Sample]) -> Iterator[Sample]:
        """Yield the samples that may be examples, and note what they ask."""
        for sample in pool:
            if sample.is_graded:
                self._asked.append(self._number(sample))
                yield sample

    def _number(self, sample: Sample) -> int:
        """Return a number that samples share when they ask the same, in this process."""
        return hash(normalize_question(self._question(sample))) % _NUMBERS

    def _count_twins(self, number: int) -> int:
        """Return how many members ask this."""
        first = bisect_left(self._in_order, number)
        return bisect_right(self._in_order, number, first) - first


def normalize_question(text: str) -> str:
    """Return what two questions share when they ask the same: upper and lower case and spaces aside."""
    return " ".join(text.casefold().split())
