"""What the page of a benchmark shows, as plain numbers: no record of a call, no markup.

Times of a load are seconds from its beginning. Everything here is bounded, however many calls a load had, so
that a page stays small: series are thinned and values are counted in bins before they come here.
"""

from __future__ import annotations

import msgspec

from assay.bench.pool import Stats


class Latency(msgspec.Struct, frozen=True):
    """One quantity over the calls, or gaps between pieces, that have it."""

    name: str
    """Short name, such as `TTFT`."""
    title: str
    """The name in words."""
    stats: Stats | None
    """In seconds; None where nothing has it."""
    absent: str = ""
    """Why there are no values; empty where there are."""


class Amount(msgspec.Struct, frozen=True):
    """One number of a load, such as its request throughput."""

    name: str
    value: float | None
    """None: not known."""
    unit: str = ""
    note: str = ""
    """How it was counted, or why it is not known."""


class GoodputView(msgspec.Struct, frozen=True):
    """How many calls kept all limits."""

    limits: tuple[str, ...]
    """Each as a person writes it, such as `ttft <= 500 ms`."""
    n_kept: int
    n: int
    """All calls, failed ones too."""
    per_s: float | None
    """Calls that kept the limits, for each second of the load."""


class LoadNumbers(msgspec.Struct, frozen=True):
    """The tables of a load, or of its steady window."""

    latencies: tuple[Latency, ...]
    amounts: tuple[Amount, ...]
    goodput: GoodputView | None = None


class Histogram(msgspec.Struct, frozen=True):
    """Values counted in bins; bin i holds what is at least `edges[i]` and below `edges[i + 1]`."""

    edges: tuple[float, ...]
    counts: tuple[float, ...]
    """Not whole where the values were kept in finer bins that an edge cuts."""
    n_below: float = 0.0
    """Values below the first edge: those that a logarithmic axis has no place for."""
    is_log: bool = False


class Curve(msgspec.Struct, frozen=True):
    """Points of a line, in the order of their x."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]


class LatencyDistribution(msgspec.Struct, frozen=True):
    """How one quantity is spread."""

    name: str
    title: str
    stats: Stats
    histogram: Histogram
    cumulative: Curve
    """The share of values below each x, from 0 to 1."""


class Buckets(msgspec.Struct, frozen=True):
    """One number for each stretch of a load's time, from its beginning; all but the last are of one width."""

    width: float
    end: float
    """Where the last stretch ends: half a width to one and a half after the one before."""
    values: tuple[float, ...]


class ConcurrencySteps(msgspec.Struct, frozen=True):
    """Calls under way: from each time on, until the next, so many."""

    times: tuple[float, ...]
    levels: tuple[int, ...]
    end: float
    mean: float
    """Weighted by time, over the whole load."""
    peak: int


class TimeSpan(msgspec.Struct, frozen=True):
    """A stretch of time."""

    start: float
    end: float


class Bar(msgspec.Struct, frozen=True):
    """One call of the timeline."""

    row: int
    number: int
    """Which call of the load it is, in the order in which they were sent."""
    turn: int
    began: float
    first_text: float | None
    ended: float
    is_failed: bool = False


class Timeline(msgspec.Struct, frozen=True):
    """When calls began, brought text and ended: a row for each conversation, by when they began."""

    bars: tuple[Bar, ...]
    n_rows: int
    n_all_rows: int
    """Rows before some were drawn by lot."""
    n_all_calls: int


class SendRate(msgspec.Struct, frozen=True):
    """How well the load's schedule was kept."""

    due: Buckets
    """Calls that the schedule wanted sent, for each second."""
    sent: Buckets
    """Calls that were sent, for each second."""
    lateness: Stats
    late_mean: Buckets
    """Mean seconds by which the calls that were due in each stretch began late; 0 where none was due."""
    late_max: Buckets
    """The same for the latest of them."""


class FailureKind(msgspec.Struct, frozen=True):
    """Failed calls of one kind."""

    kind: str
    n: int
    examples: tuple[str, ...]
    """Different messages, the first that came."""


class LoadView(msgspec.Struct, frozen=True):
    """One load: all calls that were sent to the server in one go."""

    name: str
    """What tells it from other loads of the page, such as `concurrency 8`."""
    duration_s: float
    n_calls: int
    n_failed: int
    whole: LoadNumbers
    distributions: tuple[LatencyDistribution, ...]
    """Only of quantities that have values."""
    requests: Buckets
    """Calls that were answered, by when they ended, for each second."""
    output: Buckets | None
    """What came of answers for each second, by when it came; None where nothing is known of it."""
    output_unit: str
    """`tokens`, or `chunks` where the server counted no tokens."""
    concurrency: ConcurrencySteps
    timeline: Timeline
    steady: TimeSpan | None = None
    steady_note: str = ""
    """What is to be said of the steady window, or why there is none."""
    in_window: LoadNumbers | None = None
    """The same tables, of the steady window alone."""
    send_rate: SendRate | None = None
    """None where free places decided when calls were sent."""
    failures: tuple[FailureKind, ...] = ()
    notes: tuple[str, ...] = ()


class Rung(msgspec.Struct, frozen=True):
    """One load of a sweep, or one trial of a search."""

    level: float
    """Calls at a time, or calls a second: see `by`."""
    n_calls: int
    n_failed: int
    requests_per_s: float
    output_per_s: float | None
    """Tokens of answers a second; None where they were not counted."""
    concurrency: float
    """Mean calls under way."""
    latencies: tuple[Latency, ...] = ()
    broken: tuple[str, ...] = ()
    """Limits that it did not keep, with what was seen, such as `p99 ttft 612 ms > 500 ms`."""


class SweepView(msgspec.Struct, frozen=True):
    """The same load at rising levels."""

    by: str
    """`concurrency` or `rate`."""
    rungs: tuple[Rung, ...]
    note: str = ""
    """Why it ended where it did."""


class SearchView(msgspec.Struct, frozen=True):
    """Trials for the highest level that keeps given limits."""

    by: str
    """`concurrency` or `rate`."""
    limits: tuple[str, ...]
    trials: tuple[Rung, ...]
    """In the order in which they were made."""
    chosen: float | None
    """The highest level that kept the limits; None when none did."""
    note: str = ""


class PageHead(msgspec.Struct, frozen=True):
    """What was measured, and with what."""

    model: str
    address: str
    dataset: str
    load: str
    """The load in words, such as `64 calls at a time, 1,000 calls`."""
    date: str
    duration_s: float
    n_calls: int
    n_failed: int
    n_input: int | None
    """Tokens of all prompts; None where they were not counted."""
    n_output: int | None
    versions: tuple[tuple[str, str], ...] = ()
    """Programs and libraries that took part, with their versions."""
    settings: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader has to know before the numbers, such as that the run was ended early."""


class PageData(msgspec.Struct, frozen=True):
    """All that one page shows."""

    head: PageHead
    loads: tuple[LoadView, ...] = ()
    sweep: SweepView | None = None
    search: SearchView | None = None
