"""The numbers of a load in summary.json. docs/reference/serving-benchmark-metrics.md defines each number."""

from __future__ import annotations

import msgspec

from assay.bench.goodput import Goodput
from assay.bench.pool import Stats
from assay.bench.steady import SteadyWindow

METRICS = ("ttft", "itl", "tpot", "e2el", "late", "input_tokens", "output_tokens", "output_rate")
"""The names in `BenchSummary.metrics`, in the order in which tables have them."""


class FailureCount(msgspec.Struct, frozen=True):
    """How many calls failed in one way."""

    kind: str
    n: int
    example: str
    """What the first of them said."""


class Throughput(msgspec.Struct, frozen=True):
    """What went through in a second; None where it was not counted, or nothing succeeded."""

    requests_per_s: float | None = None
    input_tokens_per_s: float | None = None
    output_tokens_per_s: float | None = None
    total_tokens_per_s: float | None = None
    output_pieces_per_s: float | None = None
    """Pieces of text, each of one token or more: what is left to say where the server counts no tokens."""


class Concurrency(msgspec.Struct, frozen=True):
    """How many calls were under way, also those that failed."""

    mean: float
    """Each moment counts alike."""
    max: int
    steps: tuple[tuple[float, int], ...] = ()
    """Seconds from the first call, and the number from then on; at most 2,000. Of the whole run alone."""


class OverTime(msgspec.Struct, frozen=True):
    """Counts in buckets of equal width, at most 240."""

    start_s: float
    """Where the first bucket begins, in seconds from the first call: 0, or a little before."""
    width_s: float
    sent: tuple[int, ...]
    succeeded: tuple[int, ...]
    failed: tuple[int, ...]
    """When calls ended."""
    output_tokens: tuple[float, ...]
    """A reply's tokens are shared alike among its pieces, and count when each of them came."""
    output_pieces: tuple[int, ...]


class BenchSummary(msgspec.Struct, frozen=True, kw_only=True):
    """All that is said of a load, or of its steady window. Times are in seconds."""

    window: SteadyWindow | None
    """The steady window that this is about; None: the whole run."""
    n_calls: int
    """Calls that ended; in a steady window, those that began in it."""
    n_succeeded: int
    n_failed: int
    failures: tuple[FailureCount, ...]
    """By kind, the most frequent first."""
    duration_s: float
    """From the first beginning to the last end of calls that succeeded, or the window's length."""
    metrics: dict[str, Stats]
    """By name (`METRICS`); what has no value is not there. Of calls that succeeded, but `late` of all."""
    input_tokens: int | None
    output_tokens: int | None
    """As the server counted; None when it did not count in any reply."""
    output_pieces: int
    """Pieces of text that came."""
    n_input_uncounted: int
    n_output_uncounted: int
    """Succeeded calls whose tokens the server did not count: they are in no number of tokens."""
    n_untimed: int
    """Succeeded calls without the time of any text: no stream, or an empty answer."""
    throughput: Throughput
    goodput: Goodput | None
    """None without limits."""
    concurrency: Concurrency | None
    """None where no call took any time."""
    over_time: OverTime | None
    """Of the whole run alone."""
    notes: tuple[str, ...]
    """What a person should know when reading the numbers."""

    def value(self, metric: str, stat: str | None = None) -> float | None:
        """Return one number by name; None where there is none.

        With a `stat` (`mean`, `p99`, ...) it is one of a metric in `METRICS`. Without, it is a field of
        `Throughput`, or the share of calls that `failed`, or that kept the limits (`goodput`). Any other name
        is a KeyError.
        """
        if stat is not None:
            if metric not in METRICS or stat not in Stats.__struct_fields__[1:]:
                raise KeyError(f"{stat} {metric}")
            stats = self.metrics.get(metric)
            return None if stats is None else float(getattr(stats, stat))
        if metric == "failed":
            return self.n_failed / self.n_calls if self.n_calls else None
        if metric == "goodput":
            return self.goodput.share if self.goodput else None
        if metric not in Throughput.__struct_fields__:
            raise KeyError(metric)
        rate: float | None = getattr(self.throughput, metric)
        return rate
