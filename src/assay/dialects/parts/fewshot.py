"""Solved examples for a prompt. A draw depends on (seed, task, sample) alone; a sample never sees itself."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from assay.core.ids import draw
from assay.core.sample import Sample

ShotPolicy: TypeAlias = Literal["first", "random"]
_NOBODYS = -1
"""The number of a question that no member asks."""


class Shots(NamedTuple):
    """The examples of one prompt, in the order in which they stand before the question."""

    shown: Sequence[Sample] = ()
    n_left_out: int = 0
    """Examples that belong here but are not shown, since the prompt would be too long."""

    def at_most(self, n: int | None, *, drops_last: bool = False) -> Shots:
        """Return n of them, whole: those nearest to the question, or with `drops_last` the furthest."""
        excess = 0 if n is None else max(0, len(self.shown) - n)
        if not excess:
            return self
        kept = self.shown[:-excess] if drops_last else self.shown[excess:]
        return Shots(kept, self.n_left_out + excess)


class ShotPool:
    """Where examples come from, and how they are chosen."""

    def __init__(
        self,
        pool: Sequence[Sample],
        n_shots: int,
        *,
        policy: ShotPolicy,
        seed: int,
        task: str,
        question: Callable[[Sample], str],
    ) -> None:
        self.members = [sample for sample in pool if sample.is_graded]
        """The samples that may be examples."""
        # Those that ask the same have the same number: comparing numbers reads no texts from all over memory.
        self._groups: dict[str, int] = {}
        keys = (question_key(question(sample)) for sample in self.members)
        self._group_of = array("l", (self._groups.setdefault(key, len(self._groups)) for key in keys))
        self._n_twins = Counter(self._group_of)
        self._known = dict(zip(map(id, self.members), self._group_of, strict=True))
        self._n_shots = n_shots
        self.policy = policy
        self._seed = seed
        self._task = task
        self._question = question

    def __len__(self) -> int:
        return len(self.members)

    def leaks(self, sample: Sample) -> bool:
        """Return whether the pool holds this sample's question, so that it has to be kept out."""
        return self._group(sample) != _NOBODYS

    def n_left(self, sample: Sample) -> int:
        """Return how many examples there are for a sample, once those that ask the same are kept out."""
        return len(self.members) - self._n_twins[self._group(sample)]

    def shots(self, sample: Sample) -> list[Sample]:
        """Return the examples for a sample: never itself, never a row that asks the same."""
        return [self.members[i] for i in self.picked(sample)]

    def picked(self, sample: Sample) -> list[int]:
        """Return where among the members the examples for a sample stand."""
        if not self._n_shots:
            return []
        own = self._group(sample)
        # So many more than needed that, after the twins are dropped, enough are left.
        wanted = min(len(self.members), self._n_shots + self._n_twins[own])
        if self.policy == "first":
            chosen: Sequence[int] = range(wanted)
        else:
            chosen = draw(self._seed, self._task, sample.id, "shots").sample(range(len(self.members)), wanted)
        return [i for i in chosen if self._group_of[i] != own][: self._n_shots]

    def _group(self, sample: Sample) -> int:
        """Return the number of the members that ask what this sample asks."""
        known = self._known.get(id(sample))
        return self._groups.get(question_key(self._question(sample)), _NOBODYS) if known is None else known


def question_key(text: str) -> str:
    """Return what two questions share when they ask the same: upper and lower case and spaces aside."""
    return " ".join(text.casefold().split())
