"""Metrics with the formulas and names of AISBench 3.1.20260630, for comparing runs with it.

It times every event of a stream, also those without text, rounds seconds to four digits, and reports 0 if
there is no value. docs/reference/serving-benchmark-metrics.md lists the differences from Assay's own numbers.
"""

from __future__ import annotations

import csv
import io
import json
from array import array
from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from assay.bench.pool import Pool, Stats
from assay.bench.records import CallRecord

_WAVE = 0.02
"""Share of the batch that may be missing while the stage lasts."""
_RECOVERY_S = 0.001


class StableStage(msgspec.Struct, frozen=True):
    """Start and end of the stage, in seconds on the clock of the calls, and the calls that count."""

    start: float
    end: float
    members: frozenset[int]
    """Positions among the successful calls, in the order in which they were added."""


def count_full_starts(began: Sequence[float], ended: Sequence[float], batch_size: int) -> int:
    """Return how often a call filled the batch."""
    return len(_Moments(began, ended).full_starts(batch_size))


def find_stable_stage(began: Sequence[float], ended: Sequence[float], batch_size: int) -> StableStage | None:
    """Return the stable stage of successful calls; None if the batch was not full twice."""
    moments = _Moments(began, ended)
    full = moments.full_starts(batch_size)
    if len(full) < 2:
        return None
    low = int(batch_size * (1 - _WAVE))
    opened = int(full[1])
    closed = moments.find_close(opened, low)
    places = np.arange(len(moments.at))
    # Until the third full batch, only calls that fill the batch count; then all calls at a nearly full batch.
    is_nearly_full = moments.level >= low
    is_nearly_full[: full[2] if len(full) > 2 else None] = False
    is_full = (moments.level == batch_size) & (places >= opened)
    is_member = moments.is_start & (is_full | is_nearly_full) & (places < closed)
    members = frozenset(moments.call[is_member].tolist())
    return StableStage(float(moments.at[opened]), float(moments.at[closed]), members)


class _Moments:
    """Start and end times of calls, sorted."""

    def __init__(self, began: Sequence[float], ended: Sequence[float]) -> None:
        at = np.column_stack([np.array(began), np.array(ended)]).ravel()
        order = np.argsort(at, kind="stable")
        self.at = at[order]
        self.is_start = order % 2 == 0
        self.call: NDArray[np.int64] = order // 2
        self.level = np.cumsum(np.where(self.is_start, 1, -1))
        """Concurrent calls after each moment."""

    def full_starts(self, batch_size: int) -> NDArray[np.int64]:
        """Return the moments at which a call fills the batch."""
        return np.flatnonzero(self.is_start & (self.level == batch_size))

    def find_close(self, opened: int, low: int) -> int:
        """Return the index of the moment that closes a stage."""
        last = int(np.flatnonzero(self.is_start)[-1]) + 1
        falls = np.flatnonzero(~self.is_start[:last] & (self.level[:last] < low))
        for fall in falls[falls > opened]:
            if not self._is_recovered(fall, low):
                return int(fall)
        return last

    def _is_recovered(self, fall: int, low: int) -> bool:
        """Return whether a call that starts soon afterwards restores the level."""
        until = int(np.searchsorted(self.at, self.at[fall] + 2 * _RECOVERY_S, side="right"))
        soon = slice(fall + 1, until)
        is_soon = self.at[soon] - self.at[fall] <= _RECOVERY_S
        return bool((is_soon & self.is_start[soon] & (self.level[soon] >= low)).any())


STATS = ("Average", "Min", "Max", "Median", "P75", "P90", "P99")
"""The default statistics of a table; P1 to P99 are also available."""
PARAMETERS = (
    "E2EL",
    "TTFT",
    "TPOT",
    "ITL",
    "InputTokens",
    "OutputTokens",
    "OutputTokenThroughput",
)
_MILLISECONDS = ("E2EL", "TTFT", "TPOT", "ITL")
_FIELDS = {"Average": "mean", "Min": "min", "Max": "max", "Median": "p50"}
_RATES = ("OutputTokenThroughput",)


class NoResult(msgspec.Struct, frozen=True):
    """Why there is no result."""

    reason: str


class ProfileTable(msgspec.Struct, frozen=True):
    """A table as the original prints it."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def draw(self) -> str:
        """Return the table for a terminal, with the original's borders."""
        columns = list(zip(*self.rows, strict=True))
        widths = [
            max(len(heading) + 2, *map(len, cells)) + 2
            for heading, cells in zip(self.headings, columns, strict=True)
        ]
        is_centered = [all(cell.isdecimal() for cell in cells) for cells in columns]

        def rule(left: str, line: str, cross: str, right: str) -> str:
            return left + cross.join(line * width for width in widths) + right

        def cells(row: tuple[str, ...]) -> str:
            padded = (
                f"{cell:^{width}}" if is_middle else f" {cell}".ljust(width)
                for cell, width, is_middle in zip(row, widths, is_centered, strict=True)
            )
            return "│" + "│".join(padded) + "│"

        between = "\n" + rule("├", "─", "┼", "┤") + "\n"
        return "\n".join(
            [
                rule("╒", "═", "╤", "╕"),
                cells(self.headings),
                rule("╞", "═", "╪", "╡"),
                between.join(cells(row) for row in self.rows),
                rule("╘", "═", "╧", "╛"),
            ]
        )


class ProfileResult(msgspec.Struct, frozen=True):
    """The numbers of a stage, under their original names and with their units."""

    stage: str
    """`total` or `stable`."""
    parameters: Mapping[str, Mapping[str, str | float]]
    """By metric and statistic; times and rates are texts with a unit, numbers of tokens and `N` numbers."""
    common: Mapping[str, str | float]
    stats: tuple[str, ...] = STATS

    def tables(self) -> tuple[ProfileTable, ProfileTable]:
        """Return the two tables that the original prints."""
        parameters = ProfileTable(
            ("Performance Parameters", "Stage", *self.stats, "N"),
            tuple(
                (name, self.stage, *(str(value) for value in values.values()))
                for name, values in self.parameters.items()
            ),
        )
        common = ProfileTable(
            ("Common Metric", "Stage", "Value"),
            tuple((name, self.stage, str(value)) for name, value in self.common.items()),
        )
        return parameters, common

    def csv(self) -> str:
        """Return the text of `<dataset>.csv`: the table of parameters."""
        table, _ = self.tables()
        text = io.StringIO(newline="")
        csv.writer(text).writerows([table.headings, *table.rows])
        return text.getvalue()

    def json(self) -> str:
        """Return the text of `<dataset>.json`: the common metrics."""
        stages = {name: {self.stage: value} for name, value in self.common.items()}
        return json.dumps(stages, indent=4, ensure_ascii=False)


class AISBenchProfile:
    """Collect calls in any order and compute AISBench's metrics.

    With a stage, the metrics cover its members. `stable_stage` finds it after all calls were added,
    so calls are added twice in the same order, to two objects.
    """

    def __init__(
        self, batch_size: int, *, stage: StableStage | None = None, stats: tuple[str, ...] = STATS
    ) -> None:
        self._batch_size = batch_size
        self._stats = stats
        self._stage = stage
        self._pools = {name: Pool() for name in PARAMETERS}
        self._began = array("d")
        self._ended = array("d")
        self._n_calls = self._n_succeeded = self._n_decoded = 0
        self._n_input = self._n_output = 0

    def add(self, record: CallRecord) -> None:
        """Add one finished call."""
        times = record.times
        is_ok = record.failure is None
        if is_ok:
            # Only successful calls, in the stage or not: the original's concurrency ignores failed calls.
            self._began.append(times.began)
            self._ended.append(times.event_at[-1] if times.event_at else times.ended)
        if self._stage is not None and not self._is_inside(self._stage, times.began, is_ok=is_ok):
            return
        self._n_calls += 1
        if is_ok:
            self._add_success(record)

    def _is_inside(self, stage: StableStage, began: float, *, is_ok: bool) -> bool:
        if is_ok:
            return len(self._began) - 1 in stage.members
        return stage.start <= began <= stage.end

    def _add_success(self, record: CallRecord) -> None:
        times, n_input, n_output = record.times, record.n_input, record.n_output
        e2el = self._ended[-1] - times.began
        # Without a stream the response is one event: the original still reports a TTFT.
        ttft = times.event_at[0] - times.began if times.event_at else e2el
        tpot = (e2el - ttft) / (n_output - 1) if n_output > 1 else 0.0
        self._n_succeeded += 1
        # The original reads its clock for each event. Here, events of one read share a time.
        self._n_decoded += len(times.event_at) > 1
        self._n_input += n_input
        self._n_output += n_output
        self._pools["ITL"].add(np.diff(np.array(times.event_at)))
        for name, value in (
            ("E2EL", e2el),
            ("TTFT", ttft),
            ("TPOT", tpot),
            ("InputTokens", n_input),
            ("OutputTokens", n_output),
            ("OutputTokenThroughput", n_output / e2el if e2el > 0 else 0.0),
        ):
            self._pools[name].add((value,))

    def stable_stage(self) -> StableStage | NoResult:
        """Return the stage in which the batch stays full, or why there is none."""
        stage = find_stable_stage(self._began, self._ended, self._batch_size)
        if stage is None:
            n_full = count_full_starts(self._began, self._ended, self._batch_size)
            return NoResult(
                f"no stable stage: {self._batch_size:,} successful requests ran at the same time "
                f"{('at no point', 'only once')[n_full]}"
            )
        return stage if stage.end > stage.start else NoResult("no stable stage: its duration is zero")

    def result(self) -> ProfileResult | NoResult:
        """Return the metrics, or why there are none."""
        if not self._n_succeeded:
            return NoResult("no request succeeded")
        is_stable = self._stage is not None
        seconds = (
            self._stage.end - self._stage.start
            if self._stage is not None
            else max(self._ended) - min(self._began)
        )
        if seconds <= 0:
            return NoResult("the successful requests took no time")
        name = "stable" if is_stable else "total"
        return ProfileResult(name, self._parameters(), self._common(seconds), self._stats)

    def _parameters(self) -> dict[str, dict[str, str | float]]:
        """Return the rows, without those whose times are all 0."""
        absent = {name for name in ("TTFT", "TPOT") if not self._pools[name].total}
        found = {name: self._pools[name].stats("s") for name in PARAMETERS if name not in absent}
        return {name: self._row(name, stats) for name, stats in found.items() if stats is not None}

    def _row(self, name: str, stats: Stats) -> dict[str, str | float]:
        show: Callable[[float], str | float] = _round_value
        if name in _MILLISECONDS:
            show = _milliseconds
        elif name in _RATES:
            show = _format_token_rate
        n = self._n_decoded if name in ("TPOT", "ITL") else self._n_succeeded
        return {**{stat: show(self._stat(name, stats, stat)) for stat in self._stats}, "N": n}

    def _stat(self, name: str, stats: Stats, stat: str) -> float:
        if stat in _FIELDS:
            return float(getattr(stats, _FIELDS[stat]))
        return self._pools[name].percentile(float(stat.removeprefix("P"))) or 0.0

    def _common(self, seconds: float) -> dict[str, str | float]:
        concurrency = _round_value(self._pools["E2EL"].total / seconds)
        waited_s = self._pools["TTFT"].total
        prefill: dict[str, str | float] = {}
        if self._n_input and waited_s > 0:
            prefill["Prefill Token Throughput"] = _format_token_rate(self._n_input / waited_s)
        return {
            "Benchmark Duration": f"{_round_value(1000 * seconds)} ms",
            "Total Requests": self._n_calls,
            "Failed Requests": self._n_calls - self._n_succeeded,
            "Success Requests": self._n_succeeded,
            "Concurrency": concurrency if self._stage is None else min(concurrency, self._batch_size),
            "Max Concurrency": self._batch_size,
            "Request Throughput": f"{_round_value(self._n_succeeded / seconds)} req/s",
            "Total Input Tokens": self._n_input,
            **prefill,
            "Total Generated Tokens": self._n_output,
            "Input Token Throughput": _format_token_rate(self._n_input / seconds),
            "Output Token Throughput": _format_token_rate(self._n_output / seconds),
            "Total Token Throughput": _format_token_rate((self._n_input + self._n_output) / seconds),
        }


def _round_value(value: float) -> float:
    return round(float(value), 4)


def _milliseconds(seconds: float) -> str:
    # Rounded twice, as the original does: statistics have a resolution of 0.1 ms.
    return f"{_round_value(1000 * _round_value(seconds))} ms"


def _format_token_rate(rate: float) -> str:
    return f"{_round_value(rate)} token/s"
