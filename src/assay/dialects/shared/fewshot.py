"""Solved examples for prompts. A draw depends only on (seed, task, sample); a sample never sees itself."""

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
    """The examples of one prompt, in prompt order."""

    samples: Sequence[Sample] = ()
    n_left_out: int = 0
    """Number of examples dropped because the prompt would be too long."""

    def at_most(self, n: int | None, *, drops_last: bool = False) -> Shots:
        """Return at most n examples: the nearest to the question, or with `drops_last` the furthest."""
        if n is None or len(self.samples) <= n:
            return self
        excess = len(self.samples) - n
        kept = self.samples[:-excess] if drops_last else self.samples[excess:]
        return Shots(kept, self.n_left_out + excess)


class ShotPool:
    """A pool of examples, and the policy for choosing them."""

    def __init__(
        self,
        pool: Iterable[Sample],
        n_shots: int,
        *,
        policy: ShotPolicy,
        seed: int,
        task: str,
        question: Callable[[Sample], str],
        options: Callable[[Sample], str] = lambda _: "",
        keep: Callable[[Iterable[Sample]], Sequence[Sample]] = list,
    ) -> None:
        """Store the pool.

        Samples ask the same question if they have the same `question` and the same `options`, ignoring case
        and spaces. `question` is called only for samples whose options a member has. `keep`: creates the list
        of possible examples, which may be on disk.
        """
        # Each member's question is stored as a number, because comparing numbers is faster than texts.
        self._question_hashes = array("Q")
        self._question = question
        self._options = options
        self._options_hashes = array("Q")
        self.members = keep(self._record_questions(pool))
        """The samples that can be examples."""
        self._in_order = sort_numbers(self._question_hashes)
        self._options_in_order = sort_numbers(self._options_hashes)
        self._n_shots = n_shots
        self._first = self.members[:n_shots]
        """The examples of most samples if they are not drawn."""
        self.policy = policy
        self._seed = seed
        self._task = task

    def __len__(self) -> int:
        return len(self.members)

    def has_same_question(self, sample: Sample) -> bool:
        """Return whether the pool contains this sample's question, which must be excluded."""
        return self._count_twins(self._find_number(sample)) > 0

    def n_left(self, sample: Sample) -> int:
        """Return the number of examples for a sample, excluding those with the same question."""
        return len(self.members) - self._count_twins(self._find_number(sample))

    def count_fewest_left(self) -> int:
        """Return the number of examples for the member with the fewest."""
        return len(self) - max((sum(1 for _ in alike) for _, alike in groupby(self._in_order)), default=0)

    def shots(self, sample: Sample) -> Sequence[Sample]:
        """Return the examples for a sample: never itself, and never a row with the same question."""
        own = self._find_number(sample)
        if self.policy == "first" and not self._count_twins(own):
            return self._first
        return [self.members[i] for i in self._pick(sample, own)]

    def pick_examples(self, sample: Sample) -> list[int]:
        """Return the positions of a sample's examples among the members."""
        return self._pick(sample, self._find_number(sample))

    def _pick(self, sample: Sample, own: int | None) -> list[int]:
        """Return the positions of the examples for a sample whose question has this number."""
        if not self._n_shots:
            return []
        # Draw enough extra examples to replace dropped duplicates.
        wanted = min(len(self.members), self._n_shots + self._count_twins(own))
        if self.policy == "first":
            chosen: Sequence[int] = range(wanted)
        else:
            chosen = make_random(self._seed, self._task, sample.id, "shots").sample(
                range(len(self.members)), wanted
            )
        return [i for i in chosen if self._question_hashes[i] != own][: self._n_shots]

    def _record_questions(self, pool: Iterable[Sample]) -> Iterator[Sample]:
        """Yield the samples that can be examples, and record their questions."""
        for sample in pool:
            if sample.is_graded:
                options = self._options(sample)
                self._options_hashes.append(_hash_text(options))
                self._question_hashes.append(self._number(sample, options))
                yield sample

    def _find_number(self, sample: Sample) -> int | None:
        """Return the number of a sample's question; None if no member has its options."""
        options = self._options(sample)
        if not _count(self._options_in_order, _hash_text(options)):
            return None
        return self._number(sample, options)

    def _number(self, sample: Sample, options: str) -> int:
        """Return a number that samples with the same question share, within this process."""
        return _hash_text(self._question(sample) + options)

    def _count_twins(self, number: int | None) -> int:
        """Return the number of members with this question."""
        return 0 if number is None else _count(self._in_order, number)


def _hash_text(text: str) -> int:
    return hash(normalize_question(text)) % _NUMBERS


def _count(in_order: Sequence[int], number: int) -> int:
    first = bisect_left(in_order, number)
    return bisect_right(in_order, number, first) - first


def normalize_question(text: str) -> str:
    """Return a question in a form that ignores case and spaces."""
    return " ".join(text.casefold().split())
