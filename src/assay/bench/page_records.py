"""Convert the calls of a load to the data of the page; `Measures` computes the metrics."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import nan

import numpy as np

from assay.bench import page_shapes as shapes
from assay.bench.goodput import RequestLimit
from assay.bench.measures import Measures
from assay.bench.page_data import (
    Bar,
    Buckets,
    ConcurrencySteps,
    FailureKind,
    LatencyDistribution,
    LoadView,
    SendRate,
    Timeline,
    TimeSpan,
)
from assay.bench.page_summary import build_latencies, build_load_numbers, describe_steady_window
from assay.bench.pool import Numbers, Stats
from assay.bench.records import CallRecord
from assay.bench.steady import NoSteadyWindow, SteadyWindow, find_steady_window
from assay.bench.summary import BenchSummary
from assay.core.response import Failure

N_BUCKETS = 120
"""Maximum number of intervals of a rate chart; fewer for a few calls."""
N_ROWS = 300
N_BARS = 1200
"""Maximum conversations and calls in the timeline; more are sampled."""
N_EXAMPLES = 3
N_KINDS = 30
N_MESSAGE = 400
"""Maximum characters of a failure message."""


class PageRecorder:
    """Collects the calls of one load as they end, in about fifty bytes each."""

    def __init__(self) -> None:
        """Start without calls."""
        self._began, self._ended, self._due, self._first = array("d"), array("d"), array("d"), array("d")
        """`_due` and `_first` (the arrival of the first text) are NaN if there is none."""
        self._number, self._item = array("q"), array("q")
        """`_item` identifies items by a hash of the id."""
        self._turn, self._is_failed = array("i"), array("b")
        self._failures: dict[str, tuple[int, tuple[str, ...]]] = {}

    def add(self, record: CallRecord) -> None:
        """Add one call."""
        times = record.times
        self._began.append(times.began)
        self._ended.append(times.ended)
        self._due.append(nan if record.due is None else record.due)
        self._first.append(times.text_at[0] if times.text_at else nan)
        self._number.append(record.number)
        self._item.append(hash(record.item))
        self._turn.append(record.turn)
        self._is_failed.append(record.failure is not None)
        if record.failure is not None:
            self._count_failure(record.failure)

    def _count_failure(self, failure: Failure) -> None:
        kind = failure.kind if failure.kind in self._failures or len(self._failures) < N_KINDS else "other"
        n, examples = self._failures.get(kind, (0, ()))
        message = failure.message if len(failure.message) <= N_MESSAGE else failure.message[:N_MESSAGE] + "…"
        if message not in examples and len(examples) < N_EXAMPLES:
            examples = (*examples, message)
        self._failures[kind] = n + 1, examples

    def view(
        self,
        name: str,
        measures: Measures,
        *,
        steady: SteadyWindow | NoSteadyWindow | None = None,
        in_window: BenchSummary | None = None,
        notes: Sequence[str] = (),
    ) -> LoadView:
        """Return the data of the load for the page.

        `measures` has the same calls, without a window. `in_window` is the summary of the steady window.
        """
        summary = measures.summary()
        calls = _CallTable(self)
        # A few calls are not enough for a rate per hundredth of a second.
        n_buckets = min(max(calls.n // 5, N_BUCKETS // 10), N_BUCKETS)
        width = shapes.bucket_width(calls.duration, n_buckets)
        in_pieces = summary.output_tokens is None
        return LoadView(
            name=name,
            duration_s=calls.duration,
            n_calls=calls.n,
            n_failed=summary.n_failed,
            whole=build_load_numbers(summary),
            distributions=_distributions(measures, summary),
            requests=shapes.compute_rate(calls.ended[~calls.is_failed], calls.duration, width),
            output=calls.output(measures, width, in_pieces=in_pieces),
            output_unit="chunks" if in_pieces else "tokens",
            concurrency=_concurrency(summary, calls.duration),
            timeline=calls.timeline(),
            steady=calls.window(steady),
            steady_note=describe_steady_window(steady),
            in_window=None if in_window is None else build_load_numbers(in_window),
            send_rate=calls.send_rate(width, summary.metrics.get("late")),
            failures=tuple(
                FailureKind(kind, n, examples)
                for kind, (n, examples) in sorted(
                    self._failures.items(), key=lambda one: (-one[1][0], one[0])
                )
            ),
            notes=(*notes, *summary.notes),
        )


def _distributions(measures: Measures, summary: BenchSummary) -> tuple[LatencyDistribution, ...]:
    found = []
    for key, latency in build_latencies(summary).items():
        if latency.stats is not None:
            pool = measures.pool(key)
            binned = shapes.build_histogram(pool)
            curve = shapes.build_cumulative_curve(pool, binned)
            found.append(LatencyDistribution(latency.name, latency.title, latency.stats, binned, curve))
    return tuple(found)


def _concurrency(summary: BenchSummary, duration: float) -> ConcurrencySteps:
    seen = summary.concurrency
    if seen is None:
        return ConcurrencySteps((), (), duration, 0.0, 0)
    times, levels = zip(*seen.steps, strict=True)
    return ConcurrencySteps(times, levels, duration, seen.mean, seen.max)


class _CallTable:
    """The columns of a recorder, sorted by start, with times relative to the first start."""

    def __init__(self, recorder: PageRecorder) -> None:
        began = np.array(recorder._began)
        order = np.lexsort((np.array(recorder._number), began))
        self.n = len(began)
        self.start = float(began.min()) if self.n else 0.0
        self.began: Numbers = began[order] - self.start
        self.ended: Numbers = np.array(recorder._ended)[order] - self.start
        self.due: Numbers = np.array(recorder._due)[order] - self.start
        self.first: Numbers = np.array(recorder._first)[order] - self.start
        self.number = np.array(recorder._number)[order]
        self.item = np.array(recorder._item)[order]
        self.turn = np.array(recorder._turn)[order]
        self.is_failed = np.array(recorder._is_failed, dtype=np.bool_)[order]
        self.duration = float(self.ended.max()) if self.n else 0.0

    def window(self, steady: SteadyWindow | NoSteadyWindow | None) -> TimeSpan | None:
        """Return the steady window relative to the start of the load."""
        if not isinstance(steady, SteadyWindow):
            return None
        return TimeSpan(steady.start - self.start, steady.end - self.start)

    def output(self, measures: Measures, width: float, *, in_pieces: bool) -> Buckets | None:
        """Return tokens or chunks over time; None if there were none."""
        edges = shapes.bucket_edges(self.duration, width)
        moments = edges + self.start
        # What is counted in the stretches of the very first and last moment belongs to the load.
        moments[0], moments[-1] = -np.inf, np.inf
        counted = measures.output_before(moments, in_pieces=in_pieces)
        return shapes.compute_rates_from_counts(counted, edges, width) if counted[-1] else None

    def send_rate(self, width: float, lateness: Stats | None) -> SendRate | None:
        """Return how well the load followed its schedule; None without a schedule."""
        if lateness is None:
            return None
        scheduled = ~np.isnan(self.due)
        began, due = self.began[scheduled], self.due[scheduled]
        late = np.maximum(began - due, 0.0)
        # The first call may itself have been late; its due time is then before the start of the load.
        due = np.clip(due, 0.0, self.duration)
        means, peaks = shapes.compute_means_and_peaks(due, late, self.duration, width)
        return SendRate(
            due=shapes.compute_rate(due, self.duration, width),
            sent=shapes.compute_rate(began, self.duration, width),
            lateness=lateness,
            late_mean=means,
            late_max=peaks,
        )

    def timeline(self) -> Timeline:
        """Return a random sample of conversations, each equally likely, with all their calls."""
        rows = self._conversations()
        chosen: list[list[int]] = []
        n_bars = 0
        # Always the same sample: equal calls give an equal page.
        for place in np.random.default_rng(0).permutation(len(rows))[:N_ROWS].tolist():
            if chosen and n_bars + len(rows[place]) > N_BARS:
                break
            chosen.append(rows[place][:N_BARS])
            n_bars += len(chosen[-1])
        chosen.sort()
        bars = tuple(self._bar(row, call) for row, calls in enumerate(chosen) for call in calls)
        return Timeline(bars, len(chosen), len(rows), self.n)

    def _bar(self, row: int, call: int) -> Bar:
        first = float(self.first[call])
        return Bar(
            row,
            number=int(self.number[call]),
            turn=int(self.turn[call]),
            began=float(self.began[call]),
            first_text=None if np.isnan(first) else first,
            ended=float(self.ended[call]),
            is_failed=bool(self.is_failed[call]),
        )

    def _conversations(self) -> list[list[int]]:
        """Return the positions of the calls of each conversation.

        A load that repeats its items contains the same conversation several times, so a turn belongs to the
        one of its item that has waited for it longest.
        """
        rows: list[list[int]] = []
        waiting: dict[tuple[int, int], list[int]] = defaultdict(list)
        for call, (item, turn) in enumerate(zip(self.item.tolist(), self.turn.tolist(), strict=True)):
            places = waiting[item, turn]
            if places:
                row = places.pop(0)
                rows[row].append(call)
            else:
                row = len(rows)
                rows.append([call])
            waiting[item, turn + 1].append(row)
        return rows


def build_load_view(
    records: Iterable[CallRecord],
    name: str = "load",
    *,
    limits: Sequence[RequestLimit] = (),
    level: int | None = None,
    in_window: BenchSummary | None = None,
) -> LoadView:
    """Return the data of a load for the page, from its calls in any order.

    `level` is the intended number of concurrent calls, `in_window` the summary of the steady window.
    """
    recorder, measures = PageRecorder(), Measures(limits)
    for record in records:
        recorder.add(record)
        measures.add(record)
    steady = find_steady_window(measures.build_concurrency_curve(), level=level)
    return recorder.view(name, measures, steady=steady, in_window=in_window)
