"""The data of the page of a benchmark: the contract with its script, `results/pages/assets/bench_*.js`.

Times of a load are seconds from its start. The size of the data does not grow with the number of calls, so
a page stays small: series are thinned and values are counted in bins beforehand.
"""

from __future__ import annotations

import msgspec

from assay.bench.pool import Stats


class Latency(msgspec.Struct, frozen=True):
    """One metric over the calls, or gaps between chunks, that have it."""

    name: str
    """Short name, such as `TTFT`."""
    title: str
    """The name in words."""
    stats: Stats | None
    """In seconds; None without values."""
    absent: str = ""
    """Why there are no values; empty if there are."""


class Amount(msgspec.Struct, frozen=True):
    """One number of a load, such as its request throughput."""

    name: str
    value: float | None
    """None: not known."""
    unit: str = ""
    note: str = ""
    """How it was counted, or why it is not known."""


class GoodputView(msgspec.Struct, frozen=True):
    """The number of calls that met all limits."""

    limits: tuple[str, ...]
    """As text, such as `ttft <= 500 ms`."""
    n_kept: int
    n: int
    """All calls, including failed ones."""
    per_s: float | None
    """Calls that met the limits, per second of the load."""


class LoadNumbers(msgspec.Struct, frozen=True):
    """The tables of a load, or of its steady window."""

    latencies: tuple[Latency, ...]
    amounts: tuple[Amount, ...]
    goodput: GoodputView | None = None


class Histogram(msgspec.Struct, frozen=True):
    """Values counted in bins; bin i contains values of at least `edges[i]` and below `edges[i + 1]`."""

    edges: tuple[float, ...]
    counts: tuple[float, ...]
    """Not integers if the values were kept in finer bins that an edge cuts."""
    n_below: float = 0.0
    """Values below the first edge of a logarithmic axis."""
    is_log: bool = False


class Curve(msgspec.Struct, frozen=True):
    """Points of a line, in the order of their x."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]


class LatencyDistribution(msgspec.Struct, frozen=True):
    """The distribution of one metric."""

    name: str
    title: str
    stats: Stats
    histogram: Histogram
    cumulative: Curve
    """The fraction of values below each x."""


class Buckets(msgspec.Struct, frozen=True):
    """One number for each interval of a load, from its start; all but the last have the same width."""

    width: float
    end: float
    """The end of the last interval, which is half to one and a half widths long."""
    values: tuple[float, ...]


class ConcurrencySteps(msgspec.Struct, frozen=True):
    """The number of concurrent requests from each time until the next."""

    times: tuple[float, ...]
    levels: tuple[int, ...]
    end: float
    mean: float
    """Weighted by time, over the whole load."""
    peak: int


class TimeSpan(msgspec.Struct, frozen=True):
    """A time interval."""

    start: float
    end: float


class Bar(msgspec.Struct, frozen=True):
    """One call of the timeline."""

    row: int
    number: int
    """Its position in sending order."""
    turn: int
    began: float
    first_text: float | None
    ended: float
    is_failed: bool = False


class Timeline(msgspec.Struct, frozen=True):
    """Start, first text and end of calls: one row per conversation, ordered by start."""

    bars: tuple[Bar, ...]
    n_rows: int
    n_all_rows: int
    """Rows before sampling."""
    n_all_calls: int


class SendRate(msgspec.Struct, frozen=True):
    """How well the load followed its schedule."""

    due: Buckets
    """Scheduled calls per second."""
    sent: Buckets
    """Sent calls per second."""
    lateness: Stats
    late_mean: Buckets
    """Mean lateness in seconds of the calls due in each interval; 0 without calls."""
    late_max: Buckets
    """The maximum lateness."""


class FailureKind(msgspec.Struct, frozen=True):
    """Failed calls of one kind."""

    kind: str
    n: int
    examples: tuple[str, ...]
    """The first different messages."""


class LoadView(msgspec.Struct, frozen=True):
    """One load: all calls of one trial or of the whole run."""

    name: str
    """Its heading on the page, such as `concurrency 8`."""
    duration_s: float
    n_calls: int
    n_failed: int
    whole: LoadNumbers
    distributions: tuple[LatencyDistribution, ...]
    """Only of metrics that have values."""
    requests: Buckets
    """Successful calls per second, by their end."""
    output: Buckets | None
    """Output per second, by arrival; None if not known."""
    output_unit: str
    """`tokens`, or `chunks` if the server counted no tokens."""
    concurrency: ConcurrencySteps
    timeline: Timeline
    steady: TimeSpan | None = None
    steady_note: str = ""
    """A sentence about the steady window, or why there is none."""
    in_window: LoadNumbers | None = None
    """The same tables for the steady window."""
    send_rate: SendRate | None = None
    """None for closed loads, which have no schedule."""
    failures: tuple[FailureKind, ...] = ()
    notes: tuple[str, ...] = ()


class Rung(msgspec.Struct, frozen=True):
    """One load of a sweep, or one trial of a search."""

    level: float
    """Concurrent requests, or requests per second: see `by`."""
    n_calls: int
    n_failed: int
    requests_per_s: float
    output_per_s: float | None
    """Output tokens per second; None if they were not counted."""
    concurrency: float
    """Mean number of concurrent requests."""
    latencies: tuple[Latency, ...] = ()
    broken: tuple[str, ...] = ()
    """Limits that it did not meet, with the measured values, such as `p99 ttft < 500ms: measured 612ms`."""


class SweepView(msgspec.Struct, frozen=True):
    """The same load at rising levels."""

    by: str
    """`concurrency` or `rate`."""
    rungs: tuple[Rung, ...]
    note: str = ""
    """Why it ended."""


class SearchView(msgspec.Struct, frozen=True):
    """Trials for the highest level that meets given limits."""

    by: str
    """`concurrency` or `rate`."""
    limits: tuple[str, ...]
    trials: tuple[Rung, ...]
    """In the order in which they ran."""
    chosen: float | None
    """The highest level that met the limits; None if there is none."""
    note: str = ""


class PageHead(msgspec.Struct, frozen=True):
    """What was measured, and with what."""

    model: str
    address: str
    dataset: str
    load: str
    """A description of the load."""
    date: str
    duration_s: float
    n_calls: int
    n_failed: int
    n_input: int | None
    """Tokens of all prompts; None if they were not counted."""
    n_output: int | None
    versions: tuple[tuple[str, str], ...] = ()
    """Programs and libraries, with their versions."""
    settings: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    """What to know before reading the numbers, such as that the run was stopped early."""


class PageData(msgspec.Struct, frozen=True):
    """The data of one page."""

    head: PageHead
    loads: tuple[LoadView, ...] = ()
    n_earlier_loads: int = 0
    """Loads before these, of which the page has no details."""
    sweep: SweepView | None = None
    search: SearchView | None = None
