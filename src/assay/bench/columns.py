"""Calls by the thousand, in columns, and what the times of each single one say.

Every formula for one call is defined here, once; docs/reference/serving-benchmark-metrics.md explains them.
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

# Few enough to be worked out in about a millisecond: other streams are being timed at that moment.
_CALLS_AT_ONCE = 256
_PIECES_AT_ONCE = 4_096


class CallColumns:
    """Some calls: a value for each in every column; NaN where a call has none."""

    def __init__(self, gathered: CallBuffer) -> None:
        self.began: Numbers = np.array(gathered.began)
        self.ended: Numbers = np.array(gathered.ended)
        self.due: Numbers = np.array(gathered.due)
        self.n_input: Counts = np.array(gathered.n_input)
        self.n_output: Counts = np.array(gathered.n_output)
        self.n_pieces: Counts = np.array(gathered.n_pieces)
        self.is_ok: Flags = np.array(gathered.is_ok, dtype=np.bool_)
        self.text_at: Numbers = np.array(gathered.text_at)
        """When pieces came: those of the first call, of the second, and so on."""
        self._ends = np.cumsum(self.n_pieces)

    def __len__(self) -> int:
        return len(self.began)

    @cached_property
    def is_timed(self) -> Flags:
        """Whether it is known when a text came."""
        return self.n_pieces > 0

    @cached_property
    def first_text(self) -> Numbers:
        """When the first text came."""
        first = np.full(len(self), nan)
        first[self.is_timed] = self.text_at[(self._ends - self.n_pieces)[self.is_timed]]
        return first

    @cached_property
    def last_text(self) -> Numbers:
        """When the last text came."""
        last = np.full(len(self), nan)
        last[self.is_timed] = self.text_at[self._ends[self.is_timed] - 1]
        return last

    @cached_property
    def ttft(self) -> Numbers:
        """Time to the first text."""
        return self.first_text - self.began

    @cached_property
    def e2el(self) -> Numbers:
        """Time to the last text; to the end of a reply without times of its text. Never NaN."""
        return np.where(self.is_timed, self.last_text, self.ended) - self.began

    @cached_property
    def tpot(self) -> Numbers:
        """Time for each token after the first: where there are several, in more than one piece."""
        seen = (self.n_output > 1) & (self.n_pieces > 1)
        tpot = np.full(len(self), nan)
        tpot[seen] = (self.last_text - self.first_text)[seen] / (self.n_output[seen] - 1)
        return tpot

    @cached_property
    def call_of_piece(self) -> Counts:
        """Which call each piece is of."""
        return np.repeat(np.arange(len(self)), self.n_pieces)

    @cached_property
    def gaps(self) -> tuple[Numbers, Counts]:
        """Times from one piece of a call to its next, and which call each is of."""
        is_same = self.call_of_piece[1:] == self.call_of_piece[:-1]
        return np.diff(self.text_at)[is_same], self.call_of_piece[1:][is_same]

    @cached_property
    def longest_gap(self) -> Numbers:
        """The longest of a call's gaps; 0 for a single piece, NaN without any."""
        longest = np.where(self.is_timed, 0.0, nan)
        gaps, of_call = self.gaps
        np.maximum.at(longest, of_call, gaps)
        return longest

    @cached_property
    def tokens_of_piece(self) -> Numbers:
        """How many tokens each piece stands for: a call's tokens, shared alike among its pieces."""
        return (self.n_output / np.maximum(self.n_pieces, 1))[self.call_of_piece]


class CallBuffer:
    """Calls that wait to be worked out together, which makes taking one cheap."""

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
        """Whether it is time to work them out."""
        return len(self.began) >= _CALLS_AT_ONCE or len(self.text_at) >= _PIECES_AT_ONCE

    def add(self, record: CallRecord) -> None:
        """Take one call."""
        times = record.times
        self.began.append(times.began)
        self.ended.append(times.ended)
        self.due.append(nan if record.due is None else record.due)
        self.n_input.append(record.n_input)
        self.n_output.append(record.n_output)
        self.n_pieces.append(len(times.text_at))
        self.is_ok.append(record.failure is None)
        self.text_at.extend(times.text_at)
