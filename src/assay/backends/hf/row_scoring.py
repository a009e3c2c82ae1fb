"""Two ways to compute rows behind one interface: each separately, or packed, with shared prefixes read once.

When a model is loaded, the packed way is tried on a few rows and used only if its results equal those of the
plain way: so a family whose attention does not support a custom mask is detected before scoring.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from assay.backends.hf import shared_attention
from assay.backends.hf.batching import Budget
from assay.backends.hf.device_timing import DeviceSpan
from assay.backends.hf.fused_pieces import FusedPieces
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
from assay.core.time_profile import measuring

PREFIX_CACHE_BYTES = 1 << 29
"""Maximum memory for shared prefixes."""
_FP32_TOLERANCE = 1e-3
_HALF_TOLERANCE = 0.1
_TIMES_NOISE = 8
_CANARY_LANE = 24


class RowPlan(NamedTuple):
    """How to compute some rows."""

    packed: Sequence[Row]
    groups: Sequence[Group]
    """The packed rows as lanes after shared prefixes."""
    lane_tokens: int
    """Maximum size of a lane."""
    plain: Sequence[Row]
    """Rows to compute separately."""


class RowScoring(Protocol):
    """Computes rows."""

    def plan(self, rows: Sequence[Row]) -> RowPlan:
        """Return how to compute rows; may be called on another thread while other rows are computed."""

    def run(self, rows: Sequence[Row], plan: RowPlan | None = None) -> Iterator[list[Row]]:
        """Compute rows batch by batch, as planned before or now; after each, yield the finished rows.

        Some may still be in progress at the end; the next call or `rest` returns them.
        """

    def drain(self) -> list[Row]:
        """Return the rows that are still in progress."""


class PlainScoring:
    """Every row separately, in padded batches of similar length."""

    def __init__(self, loaded: LoadedModel, budget: Budget, counters: Counters) -> None:
        self._loaded = loaded
        self._budget = budget
        self._counters = counters

    def plan(self, rows: Sequence[Row]) -> RowPlan:
        """Return a plan that computes every row separately."""
        return RowPlan((), (), 0, rows)

    def run(self, rows: Sequence[Row], plan: RowPlan | None = None) -> Iterator[list[Row]]:
        """Compute rows batch by batch."""
        for batch in self._budget.batches(rows, lambda row: len(row.inputs)):
            with measuring("device"):
                self._budget.run(batch, self._compute, _mark_out_of_memory)
            yield batch

    def drain(self) -> list[Row]:
        """Return no rows: no batch is left in progress."""
        return []

    def _compute(self, rows: list[Row]) -> None:
        began = time.perf_counter()
        compute_rows(self._loaded, rows)
        seconds = time.perf_counter() - began
        self._counters.time_device(seconds)
        for row in rows:
            row.seconds += seconds / len(rows)
        n_tokens = sum(len(row.inputs) for row in rows)
        self._counters.count_batch(n_tokens, len(rows) * max(len(row.inputs) for row in rows) - n_tokens)


class PackedScoring:
    """Shared prefixes once: rows form a tree, which is split into lanes after shared prefixes."""

    def __init__(
        self,
        loaded: LoadedModel,
        budget: Budget,
        counters: Counters,
        prefixes: SharedPrefixCache,
        lane_tokens: int,
        least_saving: int = LEAST_SAVING,
    ) -> None:
        self._loaded = loaded
        self._budget = budget
        self._counters = counters
        self._lane_tokens = lane_tokens
        self._least_saving = least_saving
        self._prefixes = prefixes
        self._plain = PlainScoring(loaded, budget, counters)
        self._pending = _PendingBatches()
        # A GPU gets the next batch before the results of this one are read, so that it does not wait. It
        # computes the last one while the next rows are planned.
        self._n_ahead = 1 if loaded.device.type == "cuda" else 0

    def plan(self, rows: Sequence[Row]) -> RowPlan:
        """Return the lanes of rows after their shared prefixes."""
        # Within its window, sliding attention sees everything; beyond it, only the model knows what it sees.
        reach = self._loaded.window or max((len(row.inputs) for row in rows), default=0)
        packed: list[Row] = []
        plain: list[Row] = []
        for row in rows:
            # A window shares no prefix, and the mask of a packed row grows with the square of its length.
            is_packed = len(row.inputs) <= reach and not row.is_window
            (packed if is_packed else plain).append(row)
        lane_tokens = min(self._lane_tokens, self._budget.tokens)
        sequences, reads = [row.inputs for row in packed], [row.runs for row in packed]
        with measuring("plan"):
            groups = plan_lanes(sequences, reads, lane_tokens=lane_tokens, least_saving=self._least_saving)
            return RowPlan(packed, list(groups), lane_tokens, plain)

    def run(self, rows: Sequence[Row], plan: RowPlan | None = None) -> Iterator[list[Row]]:
        """Compute rows lane by lane."""
        # Memory may have run out since rows were planned; then lanes are smaller.
        if plan is None or plan.lane_tokens > self._budget.tokens:
            plan = self.plan(rows)
        yield from self._score_packed(plan)
        yield from self._plain.run(plan.plain)

    def drain(self) -> list[Row]:
        """Wait for the batches in progress."""
        return self._settle_batches(leave=0)

    def _score_packed(self, plan: RowPlan) -> Iterator[list[Row]]:
        rows = plan.packed
        for group in plan.groups:
            with measuring("device"):
                prefix = self._prefix(group, rows)
            yield _select_done(rows[row] for _, _, row, _ in group.prefix_reads)
            for batch in self._budget.batches(group.lanes, lambda lane: len(lane.ids), even=True):
                with measuring("device"):
                    self._budget.run(batch, partial(self._send, prefix, rows), partial(self._give_up, rows))
                yield self._settle_batches(leave=self._n_ahead)

    def _settle_batches(self, *, leave: int) -> list[Row]:
        with measuring("device"):
            rows, seconds = self._pending.settle_batches(leave=leave)
        self._counters.time_device(seconds)
        return rows

    def _prefix(self, group: Group, rows: Sequence[Row]) -> SharedPrefix:
        began, known = time.perf_counter(), self._prefixes.n_read
        span = DeviceSpan(self._loaded.device)
        prefix = self._prefixes.get(self._loaded, group.prefix, group.prefix_reads, rows)
        span.end()
        seconds = time.perf_counter() - began
        if self._prefixes.n_read > known:
            self._counters.forward_tokens += self._prefixes.n_read - known
            # A GPU may only begin to compute it: how long it took is known later.
            self._pending.add((), PendingLogprobs(span=span), began)
        for _, _, row, _ in group.prefix_reads:
            rows[row].seconds += seconds / len(group.prefix_reads)
        return prefix

    def _send(self, prefix: SharedPrefix, rows: Sequence[Row], lanes: list[Lane]) -> None:
        began = time.perf_counter()
        answers = compute_lanes(self._loaded, prefix, lanes, rows)
        self._counters.count_batch(
            sum(len(lane.ids) for lane in lanes), count_lane_padding(self._loaded, lanes)
        )
        self._pending.add(_list_read_rows(lanes, rows), answers, began)

    def _give_up(self, rows: Sequence[Row], lane: Lane) -> None:
        touched = _list_read_rows([lane], rows)
        for row in touched:
            _mark_out_of_memory(row)
        self._pending.add(touched, PendingLogprobs(), time.perf_counter())


class _PendingBatches:
    """Batches whose results have not been read yet."""

    def __init__(self) -> None:
        self._batches: deque[tuple[Sequence[Row], PendingLogprobs, float]] = deque()
        self._settled_at = 0.0

    def add(self, rows: Sequence[Row], answers: PendingLogprobs, began: float) -> None:
        """Add a batch that was sent to the device, with a row for each of its runs of reads.

        `began`: when sending began; a CPU does all the work in this time, a GPU only begins.
        """
        self._batches.append((rows, answers, began))

    def settle_batches(self, *, leave: int) -> tuple[list[Row], float]:
        """Read the results of all batches except the newest `leave`.

        Return the rows that are finished, and how long the device computed.
        """
        touched: list[Row] = []
        device_seconds = 0.0
        while len(self._batches) > leave:
            rows, answers, began = self._batches.popleft()
            device_seconds += answers.settle()
            now = time.perf_counter()
            # It was computed after the previous batch, or after sending began.
            for row in rows:
                row.seconds += (now - max(self._settled_at, began)) / len(rows)
            self._settled_at = now
            touched += rows
        return _select_done(touched), device_seconds


def _list_read_rows(lanes: Sequence[Lane], rows: Sequence[Row]) -> list[Row]:
    return [rows[row] for lane in lanes for _, _, row, _ in lane.reads]


def _select_done(touched: Iterable[Row]) -> list[Row]:
    """Return the finished rows, each once."""
    return [row for row in dict.fromkeys(touched) if row.is_done]


def _mark_out_of_memory(row: Row) -> None:
    row.failure = Failure("memory", f"memory ran out on a single sequence of {len(row.inputs):,} tokens")


class Trial(NamedTuple):
    """The result of a trial of packed rows on a model."""

    packs: bool
    """Whether a packed way gives the same results as the plain way."""
    troubles: tuple[str, ...] = ()
    """Why the faster ways do not, in words."""
    how: str = "separately"
    """How sequences are computed instead, in words."""


def prepare_packing(loaded: LoadedModel) -> Trial:
    """Prepare a model for packed rows in the fastest way that works."""
    if "position_ids" not in loaded.takes:
        return Trial(False, ("its forward has no argument position_ids",))
    troubles: list[str] = []
    for name, how, use in (
        ("merged operations: ", "in the fastest way", _enable_pieces),
        ("two-part attention: ", "with the model's own norms and projections", _enable_shared),
        ("", "with a dense mask", _enable_dense_mask),
    ):
        try:
            if not use(loaded):
                continue
            trouble = _find_packing_problem(loaded)
        except Exception as error:  # noqa: BLE001 (kernels and a model's own code may raise anything)
            trouble = f"{type(error).__name__}: {error}".splitlines()[0]
        if trouble is None:
            return Trial(True, tuple(troubles), how)
        troubles.append(f"{name}{trouble}")
        loaded.shares, loaded.pieces = False, None
    return Trial(False, tuple(troubles))


def _enable_pieces(loaded: LoadedModel) -> bool:
    """Use the faster forms of the model's parts too, on a GPU."""
    if not loaded.has_kernels or not _enable_shared(loaded):
        return False
    loaded.pieces = FusedPieces(loaded.model, merges=not loaded.is_passed)
    return True


def _enable_shared(loaded: LoadedModel) -> bool:
    is_on = loaded.model.config._attn_implementation == shared_attention.NAME
    loaded.shares = is_on or shared_attention.enable_shared_attention(loaded.model)
    return loaded.shares


def _enable_dense_mask(loaded: LoadedModel) -> bool:
    """Leave the model its own attention, with an explicit mask."""
    if loaded.model.config._attn_implementation == shared_attention.NAME:
        loaded.model.set_attn_implementation("sdpa")
    return True


def _find_packing_problem(loaded: LoadedModel) -> str | None:
    """Return how packed rows differ from plain ones; None if they do not."""
    import torch

    rows = _canary(loaded.vocab_size)
    if loaded.window is not None and loaded.window < max(len(row.inputs) for row in rows):
        return f"its attention looks back only {loaded.window} tokens"
    plain = _compute_plainly(loaded, rows)
    budget = Budget(256)
    # With few tokens, a shared prefix must pay off at the smallest saving: otherwise nothing would be tried.
    scoring = PackedScoring(
        loaded, budget, Counters(), SharedPrefixCache(PREFIX_CACHE_BYTES), _CANARY_LANE, least_saving=1
    )
    try:
        for _ in scoring.run(rows):
            pass
        scoring.drain()
    except Exception as trouble:  # noqa: BLE001 (a model's own code may raise anything; the plain way remains)
        what = "a kernel failed" if loaded.shares else "it does not support a custom mask"
        return f"{what} ({type(trouble).__name__}: {trouble})".splitlines()[0]
    worst = _distance(plain, [row.logprobs for row in rows])
    tolerance = _FP32_TOLERANCE
    if loaded.model.dtype != torch.float32:
        # Half precision: several times the difference between a row alone and the same row in a batch.
        alone = [logprobs for row in rows for logprobs in _compute_plainly(loaded, [row])]
        tolerance = max(_HALF_TOLERANCE, _TIMES_NOISE * _distance(plain, alone))
    if not math.isfinite(worst) or worst > tolerance:
        return f"packed rows differ from plain ones by {worst:.2g}"
    return None


def _compute_plainly(loaded: LoadedModel, rows: Sequence[Row]) -> list[list[float]]:
    """Return the log-probabilities of rows computed plainly in one batch; restores the rows."""
    compute_rows(loaded, rows)
    logprobs = [list(row.logprobs) for row in rows]
    for row in rows:
        row.logprobs, row.is_top = [], []
    return logprobs


def _distance(some: Sequence[Sequence[float]], others: Sequence[Sequence[float]]) -> float:
    """Return the largest difference; infinity if a number is not finite, which `max` would ignore."""
    differences = [
        abs(a - b) for one, other in zip(some, others, strict=True) for a, b in zip(one, other, strict=True)
    ]
    return max(differences) if all(map(math.isfinite, differences)) else math.inf


def _canary(vocab_size: int) -> list[Row]:
    """Return a few rows that share a prefix, questions and the beginnings of options."""
    rows = Rows()

    def ids(seed: int, n: int) -> tuple[int, ...]:
        return tuple((seed * 7919 + at * 104_729) % (vocab_size - 1) + 1 for at in range(n))

    # As few as show every kind of sharing, because every model start waits for them: two lanes after a shared
    # prefix, options that begin alike in each, and a row that is read inside the prefix.
    prefix = ids(1, 20)
    rows.continuation((*prefix, *ids(9, 3)), 12)
    for question in range(2):
        context = (*prefix, *ids(2 + question, 6))
        for option in range(3):
            rows.continuation((*context, *ids(20, option), *ids(30 + option, 4)), len(context))
    return list(rows)
