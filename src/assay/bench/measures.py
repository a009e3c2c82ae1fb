"""Add up request timings as requests finish. docs/reference/serving-benchmark-metrics.md defines each number.

No record is kept in memory: only two times of each call, and the contents of `Pool` and `CountsOverTime`.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf

import numpy as np

from assay.bench.columns import CallBuffer, CallColumns, Flags
from assay.bench.concurrent_requests import ConcurrencyCurve
from assay.bench.goodput import Goodput, RequestLimit, check_request_limits
from assay.bench.over_time import CountsOverTime
from assay.bench.pool import EXACT_UP_TO, RELATIVE_ERROR, Numbers, Pool, Unit
from assay.bench.records import CallRecord
from assay.bench.steady import SteadyWindow
from assay.bench.summary import (
    METRICS,
    BenchSummary,
    Concurrency,
    FailureCount,
    OverTime,
    Throughput,
)
from assay.core.rounding import format_seconds

_UNITS: dict[str, Unit] = {"input_tokens": "tokens", "output_tokens": "tokens", "output_rate": "tokens/s"}
_BUCKETS_AT_MOST = 240
_SENT, _SUCCEEDED, _FAILED, _TOKENS, _PIECES = range(5)


class Measures:
    """Collects calls in any order; `summary` may be called at any time.

    With a window, the metrics cover this part of the load. `find_steady_window` finds it after the whole
    load was added. So calls are added twice, to two objects: as they end, and again from where they are
    stored.
    """

    def __init__(self, limits: Sequence[RequestLimit] = (), *, window: SteadyWindow | None = None) -> None:
        self._limits = tuple(limits)
        self._window = window
        self._waiting = CallBuffer()
        self._began = array("d")
        self._ended = array("d")
        self._pools = {name: Pool() for name in METRICS}
        self._over_time = CountsOverTime(5)
        self._failures: Counter[str] = Counter()
        self._examples: dict[str, str] = {}
        self._first_began = inf
        self._last_ended = -inf
        self._n_calls = self._n_succeeded = 0
        self._n_through = self._n_good_through = 0.0
        self._n_input_uncounted = self._n_output_uncounted = self._n_untimed = 0
        self._counts_input = self._counts_output = False
        self._input_tokens = self._output_tokens = 0.0
        self._output_pieces = 0
        self._n_good = self._n_unknown = 0

    def add(self, record: CallRecord) -> None:
        """Add one finished call."""
        began, failure = record.times.began, record.failure
        self._began.append(began)
        self._ended.append(record.times.ended)
        self._waiting.add(record)
        if failure is not None and (self._window is None or self._window.start <= began < self._window.end):
            self._failures[failure.kind] += 1
            self._examples.setdefault(failure.kind, failure.message)
        if self._waiting.is_full:
            self._process_waiting()

    def pool(self, metric: str) -> Pool:
        """Return all values of a metric (`METRICS`)."""
        self._process_waiting()
        return self._pools[metric]

    def output_before(self, moments: Numbers, *, in_pieces: bool) -> Numbers:
        """Return how many output tokens, or chunks of text, arrived before each moment."""
        self._process_waiting()
        return self._over_time.count_before(_PIECES if in_pieces else _TOKENS, moments)

    def build_concurrency_curve(self) -> ConcurrencyCurve:
        """Return the number of concurrent calls over time."""
        return ConcurrencyCurve(np.array(self._began), np.array(self._ended))

    def summary(self) -> BenchSummary:
        """Return the metrics of the calls added so far."""
        self._process_waiting()
        duration = self._duration()
        all_stats = {name: pool.stats(_UNITS.get(name, "s")) for name, pool in self._pools.items()}
        metrics = {name: stats for name, stats in all_stats.items() if stats is not None}
        return BenchSummary(
            window=self._window,
            n_calls=self._n_calls,
            n_succeeded=self._n_succeeded,
            n_failed=self._n_calls - self._n_succeeded,
            failures=tuple(
                FailureCount(kind, n, self._examples[kind]) for kind, n in self._failures.most_common()
            ),
            duration_s=duration,
            metrics=metrics,
            input_tokens=round(self._input_tokens) if self._counts_input else None,
            output_tokens=round(self._output_tokens) if self._counts_output else None,
            output_pieces=self._output_pieces,
            n_input_uncounted=self._n_input_uncounted,
            n_output_uncounted=self._n_output_uncounted,
            n_untimed=self._n_untimed,
            throughput=self._throughput(duration),
            goodput=self._goodput(duration),
            concurrency=self._concurrency(),
            over_time=self._buckets(),
            notes=tuple(self._notes()),
        )

    def _process_waiting(self) -> None:
        """Process the calls in the buffer."""
        if not len(self._waiting):
            return
        calls = CallColumns(self._waiting)
        self._waiting = CallBuffer()
        is_mine = self._select_began_inside(calls.began)
        is_used = is_mine & calls.is_ok
        breaks_none, is_good = check_request_limits(calls, self._limits)
        self._n_good += _count_true(is_used & is_good)
        self._n_unknown += _count_true(is_used & breaks_none & ~is_good)
        self._add_calls(calls, is_mine, is_used)
        self._add_throughput(calls, is_good)
        if self._window is None:
            self._add_over_time(calls)

    def _select_began_inside(self, began: Numbers) -> Flags:
        if self._window is None:
            return np.ones(len(began), dtype=np.bool_)
        return (began >= self._window.start) & (began < self._window.end)

    def _select_inside(self, moments: Numbers) -> Flags:
        """Return what arrived in the window, its end included: the end of a call may end the window."""
        if self._window is None:
            return np.ones(len(moments), dtype=np.bool_)
        return (moments > self._window.start) & (moments <= self._window.end)

    def _share_inside(self, calls: CallColumns) -> Numbers:
        """Return the fraction of each call's time that is in the window.

        Counted by their ends, synchronous calls (equal lengths, all clients started at once) would
        be missing except for one: the window ends when the first of the last ones does.
        """
        took = calls.ended - calls.began
        if self._window is None:
            return np.ones(len(took))
        inside = np.minimum(calls.ended, self._window.end) - np.maximum(calls.began, self._window.start)
        at_once = self._select_inside(calls.ended).astype(np.float64)
        shares: Numbers = np.divide(np.maximum(inside, 0.0), took, out=at_once, where=took > 0)
        return shares

    def _add_calls(self, calls: CallColumns, is_mine: Flags, is_used: Flags) -> None:
        """Add the metrics of successful calls that started in the window."""
        gaps, of_call = calls.gaps
        is_counted = is_used & (calls.n_output > 0)
        has_rate = is_counted & (calls.e2el > 0)
        pools = self._pools
        pools["ttft"].add(calls.ttft[is_used & calls.is_timed])
        pools["itl"].add(gaps[is_used[of_call]])
        pools["tpot"].add(calls.tpot[is_used & ~np.isnan(calls.tpot)])
        pools["e2el"].add(calls.e2el[is_used])
        pools["late"].add((calls.began - calls.due)[is_mine & ~np.isnan(calls.due)])
        pools["input_tokens"].add(calls.n_input[is_used & (calls.n_input > 0)])
        pools["output_tokens"].add(calls.n_output[is_counted])
        pools["output_rate"].add(calls.n_output[has_rate] / calls.e2el[has_rate])
        self._n_calls += _count_true(is_mine)
        self._n_succeeded += _count_true(is_used)
        self._n_input_uncounted += _count_true(is_used & (calls.n_input == 0))
        self._n_output_uncounted += _count_true(is_used & (calls.n_output == 0))
        self._n_untimed += _count_true(is_used & ~calls.is_timed)
        if is_used.any():
            self._first_began = min(self._first_began, float(calls.began[is_used].min()))
            self._last_ended = max(self._last_ended, float(calls.ended[is_used].max()))

    def _add_throughput(self, calls: CallColumns, is_good: Flags) -> None:
        """Count calls by their fraction in the window, and tokens by their own times."""
        is_through = calls.is_ok & self._select_inside(calls.ended)
        through = np.where(calls.is_ok, self._share_inside(calls), 0.0)
        is_read = calls.is_ok & self._select_inside(np.where(calls.is_timed, calls.first_text, calls.ended))
        is_written = calls.is_ok[calls.call_of_piece] & self._select_inside(calls.text_at)
        self._counts_input |= bool((calls.is_ok & (calls.n_input > 0)).any())
        self._counts_output |= bool((calls.is_ok & (calls.n_output > 0)).any())
        self._n_through += float(through.sum())
        self._n_good_through += float(through[is_good].sum())
        self._input_tokens += float(calls.n_input[is_read].sum())
        self._output_pieces += _count_true(is_written)
        self._output_tokens += float(calls.tokens_of_piece[is_written].sum())
        # Without text times, the tokens of a response arrived when it ended.
        self._output_tokens += float(calls.n_output[is_through & ~calls.is_timed].sum())

    def _add_over_time(self, calls: CallColumns) -> None:
        is_ok, is_ok_piece = calls.is_ok, calls.is_ok[calls.call_of_piece]
        is_whole = is_ok & ~calls.is_timed
        self._over_time.add(_SENT, calls.began)
        self._over_time.add(_SUCCEEDED, calls.ended[is_ok])
        self._over_time.add(_FAILED, calls.ended[~is_ok])
        self._over_time.add(_TOKENS, calls.ended[is_whole], calls.n_output[is_whole].astype(np.float64))
        self._over_time.add(_TOKENS, calls.text_at[is_ok_piece], calls.tokens_of_piece[is_ok_piece])
        self._over_time.add(_PIECES, calls.text_at[is_ok_piece])

    def _duration(self) -> float:
        if self._window is not None:
            return self._window.seconds
        return max(0.0, self._last_ended - self._first_began) if self._n_succeeded else 0.0

    def _throughput(self, duration: float) -> Throughput:
        if not duration:
            return Throughput()
        read = self._input_tokens / duration if self._counts_input else None
        written = self._output_tokens / duration if self._counts_output else None
        return Throughput(
            self._n_through / duration,
            read,
            written,
            None if read is None or written is None else read + written,
            self._output_pieces / duration if self._output_pieces else None,
        )

    def _goodput(self, duration: float) -> Goodput | None:
        if not self._limits:
            return None
        share = self._n_good / self._n_calls if self._n_calls else None
        per_s = self._n_good_through / duration if duration else None
        return Goodput(self._limits, self._n_good, self._n_unknown, share, per_s)

    def _concurrency(self) -> Concurrency | None:
        under_way = self.build_concurrency_curve()
        if not under_way.n_calls or under_way.start == under_way.end:
            return None
        if self._window is not None:
            start, end = self._window.start, self._window.end
            return Concurrency(under_way.mean(start, end), under_way.peak(start, end))
        start, end = under_way.start, under_way.end
        return Concurrency(under_way.mean(start, end), under_way.peak(start, end), tuple(under_way.steps()))

    def _buckets(self) -> OverTime | None:
        if self._window is not None or not self._began:
            return None
        start, width, rows = self._over_time.buckets(_BUCKETS_AT_MOST)
        sent, succeeded, failed, pieces = (
            tuple(round(count) for count in rows[row]) for row in (_SENT, _SUCCEEDED, _FAILED, _PIECES)
        )
        start_s = start - min(self._began)
        return OverTime(start_s, width, sent, succeeded, failed, tuple(rows[_TOKENS]), pieces)

    def _iter_window_notes(self, window: SteadyWindow) -> Iterator[str]:
        """Yield notes on the reliability of the window; notes on responses belong to the whole load."""
        if not self._n_succeeded:
            yield "no request that started in the steady window succeeded, so it has no latencies"
        slowest = self._pools["e2el"].percentile(100)
        if slowest is not None and slowest > window.seconds / 3:
            yield (
                f"the steady window of {format_seconds(window.seconds)} is shorter than three times its "
                f"longest request ({format_seconds(slowest)}): too few consecutive requests for reliable "
                "numbers"
            )

    def _notes(self) -> Iterator[str]:
        if self._window is not None:
            yield from self._iter_window_notes(self._window)
            return
        requests = f"of {self._n_succeeded:,} successful requests"
        if self._n_calls and not self._n_succeeded:
            yield "no request succeeded: there is nothing to measure"
        for n, kind in ((self._n_input_uncounted, "input"), (self._n_output_uncounted, "output")):
            if n:
                yield f"the server did not count {kind} tokens in {n:,} {requests}; the numbers exclude them"
        if self._n_untimed:
            yield f"{self._n_untimed:,} {requests} without a stream or without text: no TTFT, ITL and TPOT"
        if self._n_unknown:
            yield f"{self._n_unknown:,} {requests} not counted as good: a limited metric is not known"
        for name, pool in self._pools.items():
            if not pool.is_exact:
                yield f"{name} has over {EXACT_UP_TO:,} values: percentiles are within {RELATIVE_ERROR:.1%}"


def _count_true(flags: Flags) -> int:
    return int(np.count_nonzero(flags))
