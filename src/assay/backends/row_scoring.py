"""Two ways to compute rows, with one face: each by itself, or packed so that shared beginnings are read once.

The packed way is tried on a few rows when a model is loaded and taken only if it gives what the plain way
gives: a family whose attention cannot take a mask of our own is found out there and not in the scores.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import Protocol

from assay.backends import shared_attention
from assay.backends.batching import Budget
from assay.backends.likelihood import Row, Rows, compute
from assay.backends.loading import Loaded
from assay.backends.packed import Trunk, Trunks, compute_lanes, padding
from assay.backends.prefix_tree import Lane, plan

Counters = dict[str, float]
"""`batches`, `forward_tokens` (computed, padding included), `padding_tokens` (computed for no request)."""
TRUNK_BYTES = 1 << 29
"""How much memory beginnings may hold."""
_FP32_TOLERANCE = 1e-3
_HALF_TOLERANCE = 0.1


class RowScoring(Protocol):
    """Fills in rows."""

    def run(self, rows: Sequence[Row]) -> Iterator[list[Row]]:
        """Compute rows batch by batch; after each, yield the rows that are now done."""


class PlainScoring:
    """Every row by itself, in padded batches of similar length."""

    def __init__(self, loaded: Loaded, budget: Budget, counters: Counters) -> None:
        self._loaded = loaded
        self._budget = budget
        self._counters = counters

    def run(self, rows: Sequence[Row]) -> Iterator[list[Row]]:
        """Compute rows batch by batch."""
        for batch in self._budget.batches(rows, lambda row: len(row.inputs)):
            self._budget.run(batch, self._compute, _give_up)
            yield batch

    def _compute(self, rows: list[Row]) -> None:
        began = time.perf_counter()
        compute(self._loaded, rows)
        seconds = time.perf_counter() - began
        for row in rows:
            row.seconds += seconds / len(rows)
        n_computed = len(rows) * max(len(row.inputs) for row in rows)
        self._counters["batches"] += 1
        self._counters["forward_tokens"] += n_computed
        self._counters["padding_tokens"] += n_computed - sum(len(row.inputs) for row in rows)


class PackedScoring:
    """Shared beginnings once: rows form a tree, cut into lanes behind trunks."""

    def __init__(
        self, loaded: Loaded, budget: Budget, counters: Counters, trunks: Trunks, lane_tokens: int
    ) -> None:
        self._loaded = loaded
        self._budget = budget
        self._counters = counters
        self._lane_tokens = lane_tokens
        self._trunks = trunks
        self._plain = PlainScoring(loaded, budget, counters)

    def run(self, rows: Sequence[Row]) -> Iterator[list[Row]]:
        """Compute rows lane by lane."""
        # Within its window a sliding attention sees all; beyond, only the model itself knows what it sees.
        reach = self._loaded.window or max((len(row.inputs) for row in rows), default=0)
        yield from self._packed([row for row in rows if len(row.inputs) <= reach])
        yield from self._plain.run([row for row in rows if len(row.inputs) > reach])

    def _packed(self, rows: Sequence[Row]) -> Iterator[list[Row]]:
        positions = [[at for at, _ in row.reads] for row in rows]
        lane_tokens = min(self._lane_tokens, self._budget.tokens)
        for group in plan([row.inputs for row in rows], positions, lane_tokens=lane_tokens):
            began = time.perf_counter()
            known = self._trunks.n_read
            trunk = self._trunks.get(self._loaded, group.trunk, group.trunk_reads, rows)
            self._counters["forward_tokens"] += self._trunks.n_read - known
            for index in {row for _, row, _ in group.trunk_reads}:
                rows[index].seconds += (time.perf_counter() - began) / len(group.trunk_reads)
            yield _done(rows, {row for _, row, _ in group.trunk_reads})
            for batch in self._budget.batches(group.lanes, lambda lane: len(lane.ids)):
                self._budget.run(
                    batch,
                    lambda lanes, trunk=trunk: self._compute(trunk, lanes, rows),  # type: ignore[misc]
                    lambda lane: _give_up_lane(lane, rows),
                )
                yield _done(rows, {row for lane in batch for _, row, _ in lane.reads})

    def _compute(self, trunk: Trunk, lanes: list[Lane], rows: Sequence[Row]) -> None:
        began = time.perf_counter()
        compute_lanes(self._loaded, trunk, lanes, rows)
        seconds = time.perf_counter() - began
        reads = [row for lane in lanes for _, row, _ in lane.reads]
        for row in reads:
            rows[row].seconds += seconds / len(reads)
        lengths = [len(lane.ids) for lane in lanes]
        n_padding = padding(self._loaded, lengths)
        self._counters["batches"] += 1
        self._counters["forward_tokens"] += sum(lengths) + n_padding
        self._counters["padding_tokens"] += n_padding


def _done(rows: Sequence[Row], touched: set[int]) -> list[Row]:
    return [rows[index] for index in sorted(touched) if rows[index].is_done]


def _give_up(row: Row) -> None:
    row.failure = f"memory ran out on one sequence of {len(row.inputs):,} tokens alone"


def _give_up_lane(lane: Lane, rows: Sequence[Row]) -> None:
    for _, row, _ in lane.reads:
        _give_up(rows[row])


def prepare_packing(loaded: Loaded) -> str | None:
    """Make a model ready for packed rows in the best way it takes; return why none works, if so."""
    if "position_ids" not in loaded.takes:
        return "its forward takes no positions"
    if shared_attention.use(loaded.model):
        loaded.shares = True
        if _packing_trouble(loaded) is None:
            return None
        loaded.shares = False
        shared_attention.leave(loaded.model)
    return _packing_trouble(loaded)


def _packing_trouble(loaded: Loaded) -> str | None:
    """Return how packed rows differ from plain ones; None when they do not."""
    import torch

    rows = _canary(loaded.vocab_size)
    if loaded.window is not None and loaded.window < max(len(row.inputs) for row in rows):
        return f"its attention looks back {loaded.window} tokens only"
    compute(loaded, rows)
    plain = [(list(row.logprobs), list(row.is_top)) for row in rows]
    for row in rows:
        row.logprobs, row.is_top = [], []
    budget = Budget(256)
    counters = dict.fromkeys(("batches", "forward_tokens", "padding_tokens"), 0.0)
    try:
        for _ in PackedScoring(loaded, budget, counters, Trunks(TRUNK_BYTES), lane_tokens=24).run(rows):
            pass
    except Exception as trouble:  # noqa: BLE001 (a model's own code may raise anything; the plain way is left)
        return f"it does not take a mask of our own ({type(trouble).__name__}: {trouble})".splitlines()[0]
    tolerance = _FP32_TOLERANCE if loaded.model.dtype == torch.float32 else _HALF_TOLERANCE
    worst = max(
        abs(one - other)
        for row, (logprobs, _) in zip(rows, plain, strict=True)
        for one, other in zip(row.logprobs, logprobs, strict=True)
    )
    if not math.isfinite(worst) or worst > tolerance:
        return f"packed rows differ from plain ones by {worst:.2g}"
    return None


def _canary(vocab_size: int) -> list[Row]:
    """Return a few rows that share a trunk, questions and the beginnings of options."""
    rows = Rows()

    def ids(seed: int, n: int) -> tuple[int, ...]:
        return tuple((seed * 7919 + at * 104_729) % (vocab_size - 1) + 1 for at in range(n))

    for question in range(3):
        context = (*ids(1, 40), *ids(2 + question, 9))
        for option in range(3):
            rows.continuation((*context, *ids(20, option), *ids(30 + option, 4)), len(context))
    return list(rows)
