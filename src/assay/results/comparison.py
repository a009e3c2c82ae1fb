"""What comes out when runs, or methods of one run, are set against each other. `paired_runs` makes it."""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.core.score import Score

SIGNIFICANCE_LEVEL = 0.05
"""A difference is called real where chance alone gives one as large less often than this."""


class Fourfold(msgspec.Struct, frozen=True):
    """Pairs of right and wrong answers, counted."""

    both: int
    only_a: int
    only_b: int
    neither: int

    @property
    def n(self) -> int:
        """Return all pairs."""
        return self.both + self.only_a + self.only_b + self.neither


class PairedDifference(msgspec.Struct, frozen=True):
    """What the second of two paired columns has over the first."""

    n: int
    """Pairs."""
    n_units: int
    """Independent pairs: clusters, and pairs that stand alone."""
    a: float | None
    b: float | None
    """Both values, over the pairs alone."""
    difference: float | None
    """b - a; of perplexities b / a, so that 1 is no difference."""
    low: float | None
    high: float | None
    stderr: float | None
    """Of the difference; of perplexities, of its logarithm."""
    p: float | None
    """How often chance alone gives a difference as large as this."""
    test: Literal["mcnemar", "student"]
    """McNemar's exact test, or Student's on the paired differences."""
    p_mid: float | None = None
    """McNemar's mid-p, which is less cautious than the exact test."""
    fourfold: Fourfold | None = None
    """Of right and wrong answers: how they fall together."""
    smallest: float | None = None
    """The smallest true difference that so many pairs show four times in five; of perplexities a factor."""
    n_for_a_point: int | None = None
    """Pairs that would show a true difference of 0.01 as often; of perplexities, of one in a hundred."""


class Side(msgspec.Struct, frozen=True):
    """One of the things that are compared."""

    name: str
    """The model's name; where that does not tell the sides apart, the method's or the folder's."""
    run: str
    """The run's id."""
    folder: str
    """Where it lies; for a page, the name by which it asks for the run."""
    model: str
    method: str | None
    """The method that is looked at; None: every method, each with the same one of the others."""


class MetricComparison(msgspec.Struct, frozen=True):
    """One metric of one task, of two sides."""

    task: str
    """As the first side names it; a dataset's name where its subsets are taken together."""
    method: str
    metric: str
    first: int
    second: int
    """Which of the sides."""
    result: PairedDifference
    """What the second has over the first."""
    is_headline: bool
    is_share: bool
    """Whether it is read in percent."""
    is_factor: bool
    """Whether the difference is the second's value over the first's, as of perplexities."""
    higher_is_better: bool
    n_only_first: int = 0
    n_only_second: int = 0
    """Samples that the other does not have."""
    n_failed: int = 0
    """Samples of both that failed in one of them at least: left out."""
    n_ungraded: int = 0
    """Samples of both without a right answer, or without this metric: left out."""
    n_subsets: int = 0
    """How many subsets of a dataset it is a mean over; 0: a task by itself."""
    p_corrected: float | None = None
    """Holm's p among all pairs of sides; None where there is one pair."""

    @property
    def p(self) -> float | None:
        """Return the p that decides."""
        return self.result.p if self.p_corrected is None else self.p_corrected

    @property
    def is_real(self) -> bool:
        """Whether chance alone would seldom give such a difference."""
        return self.p is not None and self.p < SIGNIFICANCE_LEVEL

    @property
    def better(self) -> int | None:
        """Return the side with the better value; None if they are equal, or nothing is known."""
        difference = self.result.difference
        none = 1.0 if self.is_factor else 0.0
        if difference is None or difference == none:
            return None
        return self.second if (difference > none) == self.higher_is_better else self.first


class RunComparison(msgspec.Struct, frozen=True):
    """All that was compared."""

    sides: tuple[Side, ...]
    metrics: tuple[MetricComparison, ...]
    """Means over subsets first, then by task, method and metric, for each pair of sides."""
    notes: tuple[str, ...]
    """What makes the comparison less than fair."""

    @property
    def headlines(self) -> list[MetricComparison]:
        """Return what the tasks are judged by."""
        return [one for one in self.metrics if one.is_headline]


class Flip(msgspec.Struct, frozen=True):
    """A sample that one side has right and the other wrong."""

    sample_id: str
    question: str
    """Its beginning."""
    first: Score
    second: Score


class Flips(msgspec.Struct, frozen=True):
    """The first samples that two sides of a metric tell apart."""

    task: str
    method: str
    metric: str
    sides: tuple[int, int]
    only_first: tuple[Flip, ...]
    """That the first alone has right."""
    only_second: tuple[Flip, ...]
