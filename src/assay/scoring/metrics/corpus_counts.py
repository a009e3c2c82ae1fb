"""Running counts for corpus BLEU, chrF and TER, added up row by row.

The value is exact for any number of rows. Its interval is exact for up to ten thousand rows, using
sacrebleu's own resampling. Beyond that, rows are not kept; sums of the counts and of their products give the
interval that infinitely many draws would approach.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

from assay.scoring.statistics import LEVEL, normal_quantile

MAX_DRAWN = 10_000
"""The maximum number of rows with a resampled interval."""
_AT_A_TIME = 64
"""The number of rows buffered before they are added up, if rows are not kept."""
_N_DRAWS = 1000
_SEED = 12345
"""The seed that sacrebleu uses."""
_NUDGE = 1e-3
"""The relative step by which a sum is changed to measure how the value responds."""


class CorpusCounts:
    """The counts of a corpus for one of sacrebleu's metrics."""

    def __init__(self, metric: Any) -> None:
        self._metric = metric
        self._rows: list[Sequence[float]] = []
        """The rows that are kept or buffered."""
        self._room = MAX_DRAWN
        self._moments: _Moments | None = None
        self.n = 0
        """The number of rows."""

    def add(self, prediction: str, references: Sequence[str]) -> None:
        """Add a row."""
        self.take(self.of(prediction, references))

    def of(self, prediction: str, references: Sequence[str]) -> Sequence[float]:
        """Return the counts of a row without adding them."""
        (counts,) = self._metric._extract_corpus_statistics([prediction], [[one] for one in references])
        found: Sequence[float] = counts
        return found

    def take(self, counts: Sequence[float]) -> None:
        """Add the counts of a row."""
        self._rows.append(counts)
        self.n += 1
        if len(self._rows) > self._room:
            self.drop_rows()

    @property
    def has_rows(self) -> bool:
        """Whether the rows are kept, so that the interval can be resampled."""
        return self._moments is None

    def drop_rows(self) -> None:
        """Stop keeping rows; keep only their sums."""
        if self._moments is None:
            self._moments = _Moments()
            self._room = _AT_A_TIME
        self._moments.add(self._rows)
        self._rows = []

    def value(self) -> float:
        """Return the corpus value, computed as sacrebleu does."""
        if self._moments is None:
            return self._of(_sums(self._rows))
        self.drop_rows()
        return self._of(self._moments.sums)

    def interval(self) -> tuple[float, float] | None:
        """Return the value's 95 % interval; None for one row."""
        if self.n < 2:
            return None
        if self._moments is None:
            return self._draw_interval()
        self.drop_rows()
        return self._estimate_interval(self._moments)

    def _of(self, sums: Sequence[float]) -> float:
        return float(self._metric._compute_score_from_stats(sums).score)

    def _draw_interval(self) -> tuple[float, float]:
        import numpy as np

        # sacrebleu's own draws, one at a time: all at once, as it does them, need 40 kB for each row.
        rows = np.array(self._rows, dtype="float32")
        draw = np.random.default_rng(_SEED)
        # As Python's floats: sacrebleu gives float32 for most draws and a float for one without any match,
        # and `statistics.mean` takes one kind alone, which is why its `estimate_ci` is not called here.
        drawn = sorted(self._of(rows[draw.choice(len(rows), size=len(rows))].sum(0)) for _ in range(_N_DRAWS))
        middle = statistics.fmean(drawn)
        half = (drawn[-1 - _N_DRAWS // 40] - drawn[_N_DRAWS // 40]) / 2
        return max(0.0, middle - half), middle + half

    def _estimate_interval(self, moments: _Moments) -> tuple[float, float]:
        """Return the interval by the delta method, from the covariance of the sums."""
        sums = [float(one) for one in moments.sums]
        slopes = [self._slope(sums, at) for at in range(len(sums))]
        spread = sum(
            one * other * moments.covariance(at, other_at)
            for at, one in enumerate(slopes)
            for other_at, other in enumerate(slopes)
        )
        half = normal_quantile(LEVEL) * math.sqrt(max(0.0, self.n * spread))
        value = self._of(sums)
        return max(0.0, value - half), value + half

    def _slope(self, sums: Sequence[float], at: int) -> float:
        """Return how much the value changes with one of the sums."""
        if not sums[at]:
            # Zero in every row: it does not vary.
            return 0.0
        # BLEU requires whole-number lengths.
        step = max(1.0, round(sums[at] * _NUDGE)) if sums[at] >= 2 else sums[at] / 2
        above, below = list(sums), list(sums)
        above[at] += step
        below[at] -= step
        return (self._of(above) - self._of(below)) / (2 * step)


class _Moments:
    """Sums of counts and of their products."""

    def __init__(self) -> None:
        self._n = 0
        self.sums: list[float] = []
        self._products: Any = 0.0

    def add(self, rows: Sequence[Sequence[float]]) -> None:
        import numpy as np

        if not rows:
            return
        counts = np.array(rows, dtype="float64")
        self.sums = _sums([self.sums, *rows] if self.sums else rows)
        self._products = self._products + counts.T @ counts
        self._n += len(rows)

    def covariance(self, at: int, other_at: int) -> float:
        """Return the covariance of two counts over rows."""
        expected = self.sums[at] * self.sums[other_at] / self._n
        return (float(self._products[at][other_at]) - expected) / (self._n - 1)


def _sums(rows: Sequence[Sequence[float]]) -> list[float]:
    """Add up rows as Python integers, which are exact at any size."""
    return [sum(column) for column in zip(*rows, strict=True)]
