"""Calls in columns, and the metrics of each single call.

All formulas for one call are defined here; docs/reference/serving-benchmark-metrics.md explains them.
"""

from __future__ import annotations

from array import array
from functools import cached_property
from math import nan
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay.bench.pool import Numbers
from assay.bench.records import CallRecord

Counts: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

# Few enough to process in about a millisecond: other streams are being timed meanwhile.
_CALLS_AT_ONCE = 256
_PIECES_AT_ONCE = 4_096


class CallColumns:
    """A batch of calls: every column has a value for each call, NaN if the call has none."""

    def __init__(self, gathered: CallBuffer) -> None:
        self.began: Numbers = np.array(gathered.began)
        self.ended: Numbers = np.array(gathered.ended)
        self.due: Numbers = np.array(gathered.due)
        self.n_input: Counts = np.array(gathered.n_input)
        self.n_output: Counts = np.array(gathered.n_output)
        self.n_pieces: Counts = np.array(gathered.n_pieces)
        self.is_ok: Flags = np.array(gathered.is_ok, dtype=np.bool_)
        self.text_at: Numbers = np.array(gathered.text_at)
        """Arrival times of chunks: those of the first call, then of the second, and so on."""
        self._ends = np.cumsum(self.n_pieces)

    def __len__(self) -> int:
        return len(self.began)

    @cached_property
    def is_timed(self) -> Flags:
        """Whether the arrival time of any text is known."""
        return self.n_pieces > 0

    @cached_property
    def first_text(self) -> Numbers:
        """When the first text arrived."""
        first = np.full(len(self), nan)
        first[self.is_timed] = self.text_at[(self._ends - self.n_pieces)[self.is_timed]]
        return first

    @cached_property
    def last_text(self) -> Numbers:
        """When the last text arrived."""
        last = np.full(len(self), nan)
        last[self.is_timed] = self.text_at[self._ends[self.is_timed] - 1]
        return last

    @cached_property
    def ttft(self) -> Numbers:
        """Time to the first text."""
        return self.first_text - self.began

    @cached_property
    def e2el(self) -> Numbers:
        """Time to the last text, or to the end of a response without text times. Never NaN."""
        return np.where(self.is_timed, self.last_text, self.ended) - self.began

    @cached_property
    def tpot(self) -> Numbers:
        """Time per token after the first, for responses of several tokens in more than one chunk."""
        seen = (self.n_output > 1) & (self.n_pieces > 1)
        tpot = np.full(len(self), nan)
        tpot[seen] = (self.last_text - self.first_text)[seen] / (self.n_output[seen] - 1)
        return tpot

    @cached_property
    def call_of_piece(self) -> Counts:
        """The index of the call of each chunk."""
        return np.repeat(np.arange(len(self)), self.n_pieces)

    @cached_property
    def gaps(self) -> tuple[Numbers, Counts]:
        """Times between consecutive chunks of a call, and the index of the call of each."""
        is_same = self.call_of_piece[1:] == self.call_of_piece[:-1]
        return np.diff(self.text_at)[is_same], self.call_of_piece[1:][is_same]

    @cached_property
    def longest_gap(self) -> Numbers:
        """The longest gap of each call; 0 for a single chunk, NaN without chunks."""
        longest = np.where(self.is_timed, 0.0, nan)
        gaps, of_call = self.gaps
        np.maximum.at(longest, of_call, gaps)
        return longest

    @cached_property
    def tokens_of_piece(self) -> Numbers:
        """The number of tokens of each chunk: the tokens of a call, divided equally among its chunks."""
        return (self.n_output / np.maximum(self.n_pieces, 1))[self.call_of_piece]


class CallBuffer:
    """Calls that are processed together later, so that adding one is cheap."""

    def __init__(self) -> None:
        self.began = array("d")
        self.ended = array("d")
        self.due = array("d")
        self.n_input = array("q")
        self.n_output = array("q")
        self.n_pieces = array("q")
        self.is_ok = array("b")
        self.text_at = array("d")

    def __len__(self) -> int:
        return len(self.began)

    @property
    def is_full(self) -> bool:
        """Whether it is time to process them."""
        return len(self.began) >= _CALLS_AT_ONCE or len(self.text_at) >= _PIECES_AT_ONCE

    def add(self, record: CallRecord) -> None:
        """Add one call."""
        times = record.times
        self.began.append(times.began)
        self.ended.append(times.ended)
        self.due.append(nan if record.due is None else record.due)
        self.n_input.append(record.n_input)
        self.n_output.append(record.n_output)
        self.n_pieces.append(len(times.text_at))
        self.is_ok.append(record.failure is None)
        self.text_at.extend(times.text_at)
