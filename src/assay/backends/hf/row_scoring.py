"""Two ways to compute rows, with one face: each by itself, or packed so that shared beginnings are read once.

The packed way is tried on a few rows when a model is loaded and taken only if it gives what the plain way
gives: a family whose attention cannot take a mask of our own is found out there and not in the scores.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from assay.backends.hf import flex_attention, shared_attention
from assay.backends.hf.batching import Budget
from assay.backends.hf.likelihood import PendingLogprobs, Row, Rows, compute_rows
from assay.backends.hf.loaded_model import LoadedModel
from assay.backends.hf.packed_forward import (
    SharedPrefix,
    SharedPrefixCache,
    compute_lanes,
    count_lane_padding,
)
from assay.backends.hf.prefix_tree import LEAST_SAVING, Group, Lane, plan_lanes
from assay.backends.hf.work_counters import Counters
from assay.core.response import Failure

PREFIX_CACHE_BYTES = 1 << 29
"""How much memory beginnings may hold."""
_FP32_TOLERANCE = 1e-3
_HALF_TOLERANCE = 0.1
_TIMES_NOISE = 8
_CANARY_LANE = 24


class RowScoring(Protocol):
    """Fills in rows."""

    def run(self, rows: Sequence[Row]) -> Iterator[list[Row]]:
        """Compute rows batch by batch; after each, yield rows that are now done.

        Some may be left under way when it ends; they come with the next call, or with `rest`.
        """

    def rest(self) -> list[Row]:
        """Return the rows that were left under way."""


class PlainScoring:
    """Every row by itself, in padded batches of similar length."""

    def __init__(self, loaded: LoadedModel, budget: Budget, counters: Counters) -> None:
        self._loaded = loaded
        self._budget = budget
        self._counters = counters

    def run(self, rows: Sequence[Row]) -> Iterator[list[Row]]:
        """Compute rows batch by batch."""
        for batch in self._budget.batches(rows, lambda row: len(row.inputs)):
            self._budget.run(batch, self._compute, _mark_out_of_memory)
            yield batch

    def rest(self) -> list[Row]:
        """Return nothing: no batch is left behind."""
        return []

    def _compute(self, rows: list[Row]) -> None:
        began = time.perf_counter()
        compute_rows(self._loaded, rows)
        seconds = time.perf_counter() - began
        for row in rows:
            row.seconds += seconds / len(rows)
        n_tokens = sum(len(row.inputs) for row in rows)
        self._counters.count_batch(n_tokens, len(rows) * max(len(row.inputs) for row in rows) - n_tokens)


class PackedScoring:
    """Shared beginnings once: rows form a tree, cut into lanes behind trunks."""

    def __init__(
        self,
        loaded: LoadedModel,
        budget: Budget,
        counters: Counters,
        trunks: SharedPrefixCache,
        lane_tokens: int,
        least_saving: int = LEAST_SAVING,
    ) -> None:
        self._loaded = loaded
        self._budget = budget
        self._counters = counters
        self._lane_tokens = lane_tokens
        self._least_saving = least_saving
        self._trunks = trunks
        self._plain = PlainScoring(loaded, budget, counters)
        self._under_way = _PendingBatches()
        # A GPU is sent the next batch before the answers of this one are read, so that it does not wait; it
        # works on the last one while the next rows are being planned.
        self._n_ahead = 1 if loaded.device.type == "cuda" else 0

    def run(self, rows: Sequence[Row]) -> Iterator[list[Row]]:
        """Compute rows lane by lane."""
        # Within its window a sliding attention sees all; beyond, only the model itself knows what it sees.
        reach = self._loaded.window or max((len(row.inputs) for row in rows), default=0)
        packed: list[Row] = []
        plain: list[Row] = []
        for row in rows:
            # A window shares nothing, and the mask of a packed row grows with the square of its length.
            is_packed = len(row.inputs) <= reach and not row.is_window
            (packed if is_packed else plain).append(row)
        yield from self._packed(packed)
        yield from self._plain.run(plain)

    def rest(self) -> list[Row]:
        """Wait for the batches that are still under way."""
        return self._under_way.settle_batches(leave=0)

    def _packed(self, rows: Sequence[Row]) -> Iterator[list[Row]]:
        lane_tokens = min(self._lane_tokens, self._budget.tokens)
        sequences, reads = [row.inputs for row in rows], [row.runs for row in rows]
        for group in plan_lanes(sequences, reads, lane_tokens=lane_tokens, least_saving=self._least_saving):
            trunk = self._trunk(group, rows)
            yield _select_done(rows[row] for _, _, row, _ in group.trunk_reads)
            for batch in self._budget.batches(group.lanes, lambda lane: len(lane.ids), even=True):
                self._budget.run(batch, partial(self._send, trunk, rows), partial(self._give_up, rows))
                yield self._under_way.settle_batches(leave=self._n_ahead)

    def _trunk(self, group: Group, rows: Sequence[Row]) -> SharedPrefix:
        began, known = time.perf_counter(), self._trunks.n_read
        trunk = self._trunks.get(self._loaded, group.trunk, group.trunk_reads, rows)
        self._counters.forward_tokens += self._trunks.n_read - known
        for _, _, row, _ in group.trunk_reads:
            rows[row].seconds += (time.perf_counter() - began) / len(group.trunk_reads)
        return trunk

    def _send(self, trunk: SharedPrefix, rows: Sequence[Row], lanes: list[Lane]) -> None:
        began = time.perf_counter()
        answers = compute_lanes(self._loaded, trunk, lanes, rows)
        self._counters.count_batch(
            sum(len(lane.ids) for lane in lanes), count_lane_padding(self._loaded, lanes)
        )
        self._under_way.add(_list_read_rows(lanes, rows), answers, began)

    def _give_up(self, rows: Sequence[Row], lane: Lane) -> None:
        touched = _list_read_rows([lane], rows)
        for row in touched:
            _mark_out_of_memory(row)
        self._under_way.add(touched, PendingLogprobs(), time.perf_counter())


class _PendingBatches:
    """Batches whose answers have not been taken yet."""

    def __init__(self) -> None:
        self._batches: deque[tuple[Sequence[Row], PendingLogprobs, float]] = deque()
        self._settled_at = 0.0

    def add(self, rows: Sequence[Row], answers: PendingLogprobs, began: float) -> None:
        """Take a batch that was sent off, with a row for each of its runs of reads.

        `began`: when sending began; a CPU does the whole work in it, a GPU only begins.
        """
        self._batches.append((rows, answers, began))

    def settle_batches(self, *, leave: int) -> list[Row]:
        """Take the answers of all batches but the newest few; return the rows that are now done."""
        touched: list[Row] = []
        while len(self._batches) > leave:
            rows, answers, began = self._batches.popleft()
            answers.settle()
            now = time.perf_counter()
            # It was computed after the one before it, or once sending it began.
            for row in rows:
                row.seconds += (now - max(self._settled_at, began)) / len(rows)
            self._settled_at = now
            touched += rows
        return _select_done(touched)


def _list_read_rows(lanes: Sequence[Lane], rows: Sequence[Row]) -> list[Row]:
    return [rows[row] for lane in lanes for _, _, row, _ in lane.reads]


def _select_done(touched: Iterable[Row]) -> list[Row]:
    """Return those rows that are done, each once."""
    return [row for row in dict.fromkeys(touched) if row.is_done]


def _mark_out_of_memory(row: Row) -> None:
    row.failure = Failure("memory", f"memory ran out on one sequence of {len(row.inputs):,} tokens alone")


class Trial(NamedTuple):
    """What came out when packed rows were tried on a model."""

    packs: bool
    """Whether some way gives what the plain way gives."""
    troubles: tuple[str, ...] = ()
    """Why the better ways do not, in words."""


def prepare_packing(loaded: LoadedModel) -> Trial:
    """Make a model ready for packed rows in the best way it takes."""
    if "position_ids" not in loaded.takes:
        return Trial(False, ("its forward takes no positions",))
    troubles: list[str] = []
    for name, use in (
        ("attention in two parts: ", _enable_shared),
        ("flex attention: ", _enable_flex),
        ("", _enable_dense_mask),
    ):
        if use(loaded):
            trouble = _find_packing_problem(loaded)
            if trouble is None:
                return Trial(True, tuple(troubles))
            troubles.append(f"{name}{trouble}")
            loaded.shares, loaded.flex = False, None
    return Trial(False, tuple(troubles))


def _enable_shared(loaded: LoadedModel) -> bool:
    loaded.shares = shared_attention.enable_shared_attention(loaded.model)
    return loaded.shares


def _enable_flex(loaded: LoadedModel) -> bool:
    loaded.flex = flex_attention.enable_flex_attention(loaded.model)
    return loaded.flex is not None


def _enable_dense_mask(loaded: LoadedModel) -> bool:
    """Leave the model to the attention it came with, which any mask is handed to."""
    if loaded.model.config._attn_implementation in (shared_attention.NAME, flex_attention.NAME):
        loaded.model.set_attn_implementation("sdpa")
    return True


def _find_packing_problem(loaded: LoadedModel) -> str | None:
    """Return how packed rows differ from plain ones; None when they do not."""
    import torch

    rows = _canary(loaded.vocab_size)
    if loaded.window is not None and loaded.window < max(len(row.inputs) for row in rows):
        return f"its attention looks back {loaded.window} tokens only"
    plain = _compute_plainly(loaded, rows)
    budget = Budget(256)
    # Few tokens, so the least saving is worth a trunk here: what is to be tried must not be planned away.
    scoring = PackedScoring(
        loaded, budget, Counters(), SharedPrefixCache(PREFIX_CACHE_BYTES), _CANARY_LANE, least_saving=1
    )
    try:
        for _ in scoring.run(rows):
            pass
        scoring.rest()
    except Exception as trouble:  # noqa: BLE001 (a model's own code may raise anything; the plain way is left)
        return f"it does not take a mask of our own ({type(trouble).__name__}: {trouble})".splitlines()[0]
    worst = _distance(plain, [row.logprobs for row in rows])
    tolerance = _FP32_TOLERANCE
    if loaded.model.dtype != torch.float32:
        # Half precision: as far apart as one row alone and the same row in a batch are, several times over.
        alone = [logprobs for row in rows for logprobs in _compute_plainly(loaded, [row])]
        tolerance = max(_HALF_TOLERANCE, _TIMES_NOISE * _distance(plain, alone))
    if not math.isfinite(worst) or worst > tolerance:
        return f"packed rows differ from plain ones by {worst:.2g}"
    return None


def _compute_plainly(loaded: LoadedModel, rows: Sequence[Row]) -> list[list[float]]:
    """Return the log-probabilities of rows computed plainly in one batch; leaves the rows as they were."""
    compute_rows(loaded, rows)
    found = [list(row.logprobs) for row in rows]
    for row in rows:
        row.logprobs, row.is_top = [], []
    return found


def _distance(some: Sequence[Sequence[float]], others: Sequence[Sequence[float]]) -> float:
    return max(
        abs(a - b) for one, other in zip(some, others, strict=True) for a, b in zip(one, other, strict=True)
    )


def _canary(vocab_size: int) -> list[Row]:
    """Return a few rows that share a trunk, questions and the beginnings of options."""
    rows = Rows()

    def ids(seed: int, n: int) -> tuple[int, ...]:
        return tuple((seed * 7919 + at * 104_729) % (vocab_size - 1) + 1 for at in range(n))

    # As few as show every kind of sharing, since every start of a model waits for them: two lanes behind a
    # trunk, options that begin alike in each, and a row that is read inside the trunk.
    trunk = ids(1, 20)
    rows.continuation((*trunk, *ids(9, 3)), 12)
    for question in range(2):
        context = (*trunk, *ids(2 + question, 6))
        for option in range(3):
            rows.continuation((*context, *ids(20, option), *ids(30 + option, 4)), len(context))
    return list(rows)
