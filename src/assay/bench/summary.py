"""The numbers of a load in summary.json. docs/reference/serving-benchmark-metrics.md defines each number."""

from __future__ import annotations

import msgspec

from assay.bench.goodput import Goodput
from assay.bench.pool import Stats
from assay.bench.steady import SteadyWindow

METRICS = ("ttft", "itl", "tpot", "e2el", "late", "input_tokens", "output_tokens", "output_rate")
"""The names in `BenchSummary.metrics`, in the order in which tables have them."""


class FailureCount(msgspec.Struct, frozen=True):
    """The number of failed calls of one kind."""

    kind: str
    n: int
    example: str
    """The message of the first one."""


class Throughput(msgspec.Struct, frozen=True):
    """Throughput per second; None if it was not counted, or nothing succeeded."""

    requests_per_s: float | None = None
    input_tokens_per_s: float | None = None
    output_tokens_per_s: float | None = None
    total_tokens_per_s: float | None = None
    output_pieces_per_s: float | None = None
    """Chunks of text, each of one or more tokens: for servers that count no tokens."""


class Concurrency(msgspec.Struct, frozen=True):
    """The number of concurrent calls, including failed ones."""

    mean: float
    """Weighted by time."""
    max: int
    steps: tuple[tuple[float, int], ...] = ()
    """Seconds from the first call, and the number from then on; at most 2,000. Only for the whole run."""


class OverTime(msgspec.Struct, frozen=True):
    """Counts in buckets of equal width, at most 240."""

    start_s: float
    """Start of the first bucket, in seconds from the first call: 0, or a little before."""
    width_s: float
    sent: tuple[int, ...]
    succeeded: tuple[int, ...]
    failed: tuple[int, ...]
    """By the end of the calls."""
    output_tokens: tuple[float, ...]
    """The tokens of a response are divided equally among its chunks, and count when each arrived."""
    output_pieces: tuple[int, ...]


class BenchSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The metrics of a load, or of its steady window. Times are in seconds."""

    window: SteadyWindow | None
    """The steady window; None: the whole run."""
    n_calls: int
    """Calls that ended; in a steady window, those that started in it."""
    n_succeeded: int
    n_failed: int
    failures: tuple[FailureCount, ...]
    """By kind, the most frequent first."""
    duration_s: float
    """From the first start to the last end of successful calls, or the duration of the window."""
    metrics: dict[str, Stats]
    """By name (`METRICS`), without metrics that have no value. Of successful calls; `late` of all calls."""
    input_tokens: int | None
    output_tokens: int | None
    """As counted by the server; None if it counted in no response."""
    output_pieces: int
    """Chunks of text that arrived."""
    n_input_uncounted: int
    n_output_uncounted: int
    """Successful calls whose tokens the server did not count; token counts exclude them."""
    n_untimed: int
    """Successful calls without text times: no stream, or an empty response."""
    throughput: Throughput
    goodput: Goodput | None
    """None without limits."""
    concurrency: Concurrency | None
    """None if the calls took no time."""
    over_time: OverTime | None
    """Only for the whole run."""
    notes: tuple[str, ...]
    """What to know when reading the numbers."""

    def value(self, metric: str, stat: str | None = None) -> float | None:
        """Return one number by name; None if it has no value.

        With a `stat` (`mean`, `p99`, ...) it is one of a metric in `METRICS`. Without, it is a field of
        `Throughput`, or the fraction of calls that `failed` or that met the limits (`goodput`). Other names
        raise KeyError.
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
