"""The result of comparing runs, or methods of one run. `paired_runs` computes it."""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.core.score import Score

SIGNIFICANCE_LEVEL = 0.05
"""A difference is significant if its p-value is below this."""


class Fourfold(msgspec.Struct, frozen=True):
    """The 2 × 2 table of right and wrong answers of two sides."""

    both: int
    only_a: int
    only_b: int
    neither: int

    @property
    def n(self) -> int:
        """Return the number of pairs."""
        return self.both + self.only_a + self.only_b + self.neither


class PairedDifference(msgspec.Struct, frozen=True):
    """The difference of two paired columns: the second minus the first."""

    n: int
    """Pairs."""
    n_units: int
    """Independent units: clusters, and pairs without a cluster."""
    a: float | None
    b: float | None
    """Both values, over the pairs only."""
    difference: float | None
    """b - a; for perplexities b / a, where 1 means no difference."""
    low: float | None
    high: float | None
    stderr: float | None
    """Of the difference; for perplexities, of its logarithm."""
    p: float | None
    """The two-sided p-value."""
    test: Literal["mcnemar", "student"]
    """McNemar's exact test, or Student's t-test on the paired differences."""
    p_mid: float | None = None
    """McNemar's mid-p, which is less conservative than the exact test."""
    fourfold: Fourfold | None = None
    """For right and wrong answers: the 2 × 2 table."""
    smallest: float | None = None
    """The minimum detectable difference at 80 % power; for perplexities, a factor."""
    n_for_a_point: int | None = None
    """Pairs needed to detect a difference of 0.01 at that power; for perplexities, of 1 %."""


class Side(msgspec.Struct, frozen=True):
    """One side of a comparison."""

    name: str
    """The model's name; if that is the same on several sides, the method's or the folder's."""
    run: str
    """The run's id."""
    folder: str
    """The path of the run; on a page, the name that the page requests the run by."""
    model: str
    """The model's label, or its name without the address of a server."""
    method: str | None
    """The compared method; None: every method, each with the same method of the other sides."""
    usd: float | None = None
    """Cost of the run in US dollars; None: not known."""
    prompt: str | None = None
    """The name of the prompt, if it has one."""


class MetricComparison(msgspec.Struct, frozen=True):
    """One metric of one task, compared between two sides."""

    task: str
    """The first side's name of the task; for a mean over subsets, the name of the dataset."""
    method: str
    metric: str
    first: int
    second: int
    """Indexes of the sides."""
    result: PairedDifference
    """The second side minus the first."""
    is_headline: bool
    is_share: bool
    """Whether the value is shown in percent."""
    is_factor: bool
    """Whether the difference is the ratio of both values, as for perplexities."""
    higher_is_better: bool
    n_only_first: int = 0
    n_only_second: int = 0
    """Samples that the other side does not have."""
    n_failed: int = 0
    """Shared samples that failed on at least one side, and are omitted."""
    n_ungraded: int = 0
    """Shared samples without a reference answer or without this metric, and are omitted."""
    n_subsets: int = 0
    """Number of subsets averaged; 0 for a single task."""
    p_corrected: float | None = None
    """The p-value with Holm's correction over all pairs of sides; None for a single pair."""
    group: str | None = None
    """The part of the task that is compared; None: the whole task."""
    subsets: tuple[str, ...] = ()
    """The tasks averaged, if it is a mean over subsets."""

    @property
    def p(self) -> float | None:
        """Return the p-value that decides: the corrected one if there is one."""
        return self.result.p if self.p_corrected is None else self.p_corrected

    @property
    def is_real(self) -> bool:
        """Whether the difference is statistically significant."""
        return self.p is not None and self.p < SIGNIFICANCE_LEVEL

    @property
    def better(self) -> int | None:
        """Return the side with the better value; None if they are equal or unknown."""
        difference = self.result.difference
        none = 1.0 if self.is_factor else 0.0
        if difference is None or difference == none:
            return None
        return self.second if (difference > none) == self.higher_is_better else self.first


class RunComparison(msgspec.Struct, frozen=True):
    """All comparisons between the sides."""

    sides: tuple[Side, ...]
    metrics: tuple[MetricComparison, ...]
    """Means over subsets first, then by task, method and metric, for each pair of sides."""
    notes: tuple[str, ...]
    """Differences between the runs that make the comparison less fair."""

    @property
    def headlines(self) -> list[MetricComparison]:
        """Return the comparisons of headline metrics."""
        return [one for one in self.metrics if one.is_headline]


class Flip(msgspec.Struct, frozen=True):
    """A sample that one side has right and the other wrong."""

    sample_id: str
    question: str
    """The beginning of the question."""
    first: Score
    second: Score


class Flips(msgspec.Struct, frozen=True):
    """The first samples that only one of two sides has right."""

    task: str
    method: str
    metric: str
    sides: tuple[int, int]
    only_first: tuple[Flip, ...]
    """Samples that only the first side has right."""
    only_second: tuple[Flip, ...]
