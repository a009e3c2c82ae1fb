"""From records of calls to what the page shows of a load, in memory that grows by some sixty bytes a call."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.bench import page_shapes as shapes
from assay.bench.page_data import (
    Amount,
    Bar,
    Distribution,
    FailureKind,
    Goodput,
    LoadView,
    PageData,
    PageHead,
    SendRate,
    Spread,
    Steps,
    Timeline,
    Window,
)
from assay.bench.page_shapes import Floats, LogCounts, Pool, TimeCounts, Values
from assay.bench.records import CallRecord
from assay.core.response import Failure

N_BUCKETS = 120
"""Stretches of time for each of which a rate is drawn; fewer for a few calls."""
N_STEPS = 1000
"""Steps of calls under way that are drawn."""
N_ROWS = 300
N_BARS = 1200
"""Conversations and calls that the timeline shows; beyond that they are drawn by lot."""
N_EXAMPLES = 3
N_KINDS = 30
N_MESSAGE = 400
"""Characters of a failure's message that are kept."""

_NO_STREAM = "The answers did not come in pieces, so when their first text came is not known."
_NO_GAPS = "No answer came in two pieces or more."
_NO_ANSWER = "No call was answered."


class LoadRecorder:
    """Takes the records of one load as they end and forgets them."""

    def __init__(self) -> None:
        """Begin without calls."""
        self._began, self._ended, self._due = array("d"), array("d"), array("d")
        self._first, self._last = array("d"), array("d")
        """When the first and last text came; not a number without a stream."""
        self._number, self._item = array("q"), array("q")
        """`_item` tells items apart: a hash of the id."""
        self._turn, self._is_failed = array("i"), array("b")
        self._n_input, self._n_output, self._n_pieces = array("q"), array("q"), array("q")
        self._gaps = LogCounts()
        self._tokens = TimeCounts()
        self._failures: dict[str, tuple[int, tuple[str, ...]]] = {}

    def add(self, record: CallRecord) -> None:
        """Take one call."""
        times = record.times
        text_at = np.asarray(times.text_at, dtype=np.float64)
        self._began.append(times.began)
        self._ended.append(times.ended)
        self._due.append(float("nan") if record.due is None else record.due)
        self._first.append(text_at[0] if text_at.size else float("nan"))
        self._last.append(text_at[-1] if text_at.size else float("nan"))
        self._number.append(record.number)
        self._item.append(hash(record.item))
        self._turn.append(record.turn)
        self._is_failed.append(record.failure is not None)
        self._n_input.append(record.n_input)
        self._n_output.append(record.n_output)
        self._n_pieces.append(text_at.size)
        if record.failure is not None:
            self._count_failure(record.failure)
            return
        self._gaps.add(np.diff(text_at))
        if text_at.size:
            self._tokens.add(text_at, (record.n_output or text_at.size) / text_at.size)
        elif record.n_output:
            self._tokens.add(np.array([times.ended]), float(record.n_output))

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
        *,
        spreads: Sequence[Spread] | None = None,
        amounts: Sequence[Amount] | None = None,
        goodput: Goodput | None = None,
        steady: Window | None = None,
        steady_note: str = "",
        notes: Sequence[str] = (),
    ) -> LoadView:
        """Return what the page shows of the load.

        `spreads` and `amounts` are the run's own summary; None: they are worked out from the same records.
        `steady` is on the clock of the records.
        """
        calls = _Calls(self)
        pools = calls.pools(self._gaps)
        own = tuple(shapes.spread(key, title, pool, absent) for key, title, pool, absent in pools)
        # A few calls make no rate of each hundredth of a second.
        n_buckets = min(max(calls.n // 5, N_BUCKETS // 10), N_BUCKETS)
        width = shapes.bucket_width(calls.duration, n_buckets)
        window = Window(steady.start - calls.start, steady.end - calls.start) if steady is not None else None
        return LoadView(
            name=name,
            duration_s=calls.duration,
            n_calls=calls.n,
            n_failed=int(calls.is_failed.sum()),
            spreads=own if spreads is None else tuple(spreads),
            amounts=calls.amounts() if amounts is None else tuple(amounts),
            distributions=_distributions(own, [pool for _, _, pool, _ in pools]),
            requests=shapes.rate(calls.ended[~calls.is_failed], calls.duration, width),
            tokens=self._tokens.per_second(calls.start, calls.duration, width)
            if self._tokens.total
            else None,
            concurrency=calls.concurrency(),
            timeline=calls.timeline(),
            goodput=goodput,
            steady=window,
            steady_note=steady_note,
            send_rate=calls.send_rate(width),
            failures=tuple(
                FailureKind(kind, n, examples)
                for kind, (n, examples) in sorted(
                    self._failures.items(), key=lambda one: (-one[1][0], one[0])
                )
            ),
            notes=tuple(notes),
        )


def _distributions(spreads: Sequence[Spread], pools: Sequence[Pool]) -> tuple[Distribution, ...]:
    return tuple(shapes.distribution(of, pool) for of, pool in zip(spreads, pools, strict=True) if pool.n)


class _Calls:
    """The arrays of a recorder, in the order in which calls began, with times from the load's beginning."""

    def __init__(self, recorder: LoadRecorder) -> None:
        self.n = len(recorder._began)
        began = np.array(recorder._began)
        order = np.lexsort((np.array(recorder._number), began))
        due = np.array(recorder._due)
        self.start = float(np.fmin(began, due).min()) if self.n else 0.0
        self.began: Floats = began[order] - self.start
        self.ended: Floats = np.array(recorder._ended)[order] - self.start
        self.due: Floats = due[order] - self.start
        self.first: Floats = np.array(recorder._first)[order] - self.start
        self.last: Floats = np.array(recorder._last)[order] - self.start
        self.number = np.array(recorder._number)[order]
        self.item = np.array(recorder._item)[order]
        self.turn = np.array(recorder._turn)[order]
        self.is_failed: NDArray[np.bool_] = np.array(recorder._is_failed, dtype=np.bool_)[order]
        self.n_input = np.array(recorder._n_input)[order]
        self.n_output = np.array(recorder._n_output)[order]
        self.n_pieces = np.array(recorder._n_pieces)[order]
        self.duration = float(self.ended.max()) if self.n else 0.0

    def pools(self, gaps: LogCounts) -> list[tuple[str, str, Pool, str]]:
        """Return name, title and values of each latency of answered calls, and why there may be none."""
        good = ~self.is_failed
        began, first = self.began[good], self.first[good]
        n_tokens = np.where(self.n_output[good] > 0, self.n_output[good], self.n_pieces[good])
        several = (n_tokens > 1) & ~np.isnan(first)
        per_token = (self.last[good] - first)[several] / (n_tokens[several] - 1)
        without = _NO_STREAM if good.any() else _NO_ANSWER
        gapless = (_NO_GAPS if not np.isnan(first).all() else _NO_STREAM) if good.any() else _NO_ANSWER
        return [
            ("TTFT", "Time to first token", Values((first - began)[~np.isnan(first)]), without),
            ("ITL", "Time between pieces of text", gaps, gapless),
            ("TPOT", "Time per output token after the first", Values(per_token), gapless),
            ("E2EL", "Whole call", Values(self.ended[good] - began), _NO_ANSWER),
        ]

    def amounts(self) -> tuple[Amount, ...]:
        """Return the throughputs of answered calls over the whole load."""
        good = ~self.is_failed
        seconds = self.duration or None
        n_input, n_output = int(self.n_input[good].sum()), int(self.n_output[good].sum())

        def per_second(name: str, n: int, unit: str) -> Amount:
            if n == 0 and good.any():
                return Amount(name, None, unit, "not counted by the server")
            return Amount(name, n / seconds if seconds else None, unit)

        return (
            per_second("Request throughput", int(good.sum()), "requests/s"),
            per_second("Input token throughput", n_input, "tokens/s"),
            per_second("Output token throughput", n_output, "tokens/s"),
            per_second("Total token throughput", n_input + n_output if n_output else 0, "tokens/s"),
        )

    def concurrency(self) -> Steps:
        """Return how many calls were under way, failed ones too."""
        if not self.n:
            return Steps((), (), 0.0, 0.0, 0)
        moments, place = np.unique(np.concatenate((self.began, self.ended)), return_inverse=True)
        changes = np.bincount(place[: self.n], minlength=moments.size)
        levels = np.cumsum(changes - np.bincount(place[self.n :], minlength=moments.size))
        mean = float((self.ended - self.began).sum()) / self.duration if self.duration else 0.0
        times, kept = shapes.thin_steps(moments, levels, N_STEPS)
        return Steps(
            tuple(times.tolist()), tuple(kept.tolist()), self.duration, mean, int(levels.max(initial=0))
        )

    def send_rate(self, width: float) -> SendRate | None:
        """Return how well the schedule was kept, where there was one."""
        scheduled = ~np.isnan(self.due)
        if not scheduled.any():
            return None
        due, began = self.due[scheduled], self.began[scheduled]
        late = np.maximum(began - due, 0.0)
        means, peaks = shapes.means_and_peaks(due, late, self.duration, width)
        return SendRate(
            due=shapes.rate(due, self.duration, width),
            sent=shapes.rate(began, self.duration, width),
            lateness=shapes.spread("Lateness", "Sent later than scheduled", Values(late)),
            late_mean=means,
            late_max=peaks,
        )

    def timeline(self) -> Timeline:
        """Return conversations drawn by lot, each with the same chance, with all their calls."""
        rows = self._conversations()
        chosen: list[list[int]] = []
        n_bars = 0
        # Always the same lot: the same records give the same page.
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
        """Return the places of the calls of each conversation.

        A load that goes round and round holds the same conversation several times, so a turn goes to the
        one of its item that waits for it longest.
        """
        rows: list[list[int]] = []
        waiting: dict[tuple[int, int], list[int]] = defaultdict(list)
        for call, (item, turn) in enumerate(zip(self.item.tolist(), self.turn.tolist(), strict=True)):
            places = waiting[item, turn]
            if turn and places:
                row = places.pop(0)
                rows[row].append(call)
            else:
                row = len(rows)
                rows.append([call])
            waiting[item, turn + 1].append(row)
        return rows


def page_data_from_records(
    records: Iterable[CallRecord],
    head: PageHead,
    *,
    name: str = "load",
    goodput: Goodput | None = None,
    steady: Window | None = None,
    steady_note: str = "",
) -> PageData:
    """Return a page of one load, from its records in any order."""
    recorder = LoadRecorder()
    for record in records:
        recorder.add(record)
    view = recorder.view(name, goodput=goodput, steady=steady, steady_note=steady_note)
    return PageData(head, (view,))
