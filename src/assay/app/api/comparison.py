"""Two results compared sample by sample."""

from __future__ import annotations

import math

from assay.app.api.estimates import CODE
from assay.app.api.result_html import render_comparison_html
from assay.app.compare import ComparisonWithFlips, compare
from assay.core.errors import Problem, UsageError, listing
from assay.results.comparison import Flips, MetricComparison
from assay.results.comparison_words import (
    describe_difference,
    format_compared_label,
    format_compared_method,
    format_side_letter,
    render_comparison,
)
from assay.results.read import StoredRun


class Difference:
    """The difference of a metric between two runs on the samples that both have: second minus first."""

    def __init__(self, compared: MetricComparison) -> None:
        self._compared = compared
        result = compared.result
        self.task = compared.task
        self.method = compared.method
        self.metric = compared.metric
        self.first, self.second = _or_nan(result.a), _or_nan(result.b)
        """Both values, as fractions, on the shared samples."""
        self.value = _or_nan(result.difference)
        """The second minus the first, as a fraction; for perplexities, their ratio."""
        self.low, self.high = _or_nan(result.low), _or_nan(result.high)
        """The 95 % interval of the difference; NaN if there is none."""
        self.p = _or_nan(compared.p)
        """The two-sided p-value."""
        self.n = result.n
        """Shared samples."""

    @property
    def is_significant(self) -> bool:
        """Whether the difference is statistically significant."""
        return self._compared.is_real

    @property
    def is_worse(self) -> bool:
        """Whether the second run is significantly worse than the first."""
        return self._compared.is_real and self._compared.better == self._compared.first

    def __repr__(self) -> str:
        label = f"{format_compared_label(self._compared)} {format_compared_method(self._compared)}"
        return f"{label}: {describe_difference(self._compared)}"


class Comparison:
    """The paired comparison of two runs. In a notebook it shows a table and the samples that changed."""

    def __init__(self, compared: ComparisonWithFlips) -> None:
        self._compared = compared
        self.notes = compared.comparison.notes
        """Differences between the runs that make the comparison less fair."""

    @classmethod
    def of(cls, first: StoredRun, second: StoredRun, metric: str | None, n_flips: int) -> Comparison:
        """Compare two stored runs."""
        return cls(compare([first, second], metric=metric, n_flips=n_flips))

    @property
    def differences(self) -> list[Difference]:
        """The differences of all tasks and methods."""
        return [Difference(one) for one in self._compared.comparison.headlines]

    @property
    def difference(self) -> Difference:
        """The difference of the only task and method."""
        every = self.differences
        if len(every) != 1:
            names = [f"{one.task} {one.method}" for one in every]
            what = f"the comparison has {len(every)} differences: {listing(names)}"
            raise UsageError(Problem(CODE, what, "choose one of comparison.differences"))
        return every[0]

    @property
    def flips(self) -> tuple[Flips, ...]:
        """The first samples that only one of the two runs has right."""
        return self._compared.flips

    def to_markdown(self) -> str:
        """Return the comparison as Markdown, to paste into an issue."""
        return render_comparison(self._compared.comparison)

    def __repr__(self) -> str:
        sides = self._compared.comparison.sides
        named = [f"{format_side_letter(at)}: {side.name}" for at, side in enumerate(sides)]
        lines = [*map(repr, self.differences), *(f"note: {note}" for note in self.notes)]
        return "\n".join([", ".join(named), *lines])

    def _repr_html_(self) -> str:
        return render_comparison_html(self._compared)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
