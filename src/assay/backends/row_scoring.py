"""Two ways to compute rows, with one face: each by itself, or packed so that shared beginnings are read once.

The packed way is tried on a few rows when a model is loaded and taken only if it gives what the plain way
gives: a family whose attention cannot take a mask of our own is found out there and not in the scores.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from assay.backends import flex_lanes, shared_attention
from assay.backends.batching import Budget
from assay.backends.likelihood import Answers, Row, Rows, compute
from assay.backends.loaded import Loaded
from assay.backends.packed import Trunk, Trunks, compute_lanes, lane_padding
from assay.backends.prefix_tree import Lane, plan

Counters = dict[str, float]
"""`batches`, `forward_tokens` (computed, padding included), `padding_tokens` (computed for no request)."""
TRUNK_BYTES = 1 << 29
"""How much memory beginnings may hold."""
_FP32_TOLERANCE = 1e-3
_HALF_TOLERANCE = 0.1
_TIMES_NOISE = 8


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
        packed: list[Row] = []
        plain: list[Row] = []
        for row in rows:
            # A window shares nothing, and the mask of a packed row grows with the square of its length.
            is_packed = len(row.inputs) <= reach and not row.is_window
            (packed if is_packed else plain).append(row)
        yield from self._packed(packed)
        yield from self._plain.run(plain)

    def _packed(self, rows: Sequence[Row]) -> Iterator[list[Row]]:
        lane_tokens = min(self._lane_tokens, self._budget.tokens)
        # A GPU is sent the next batch before the answers of this one are read, so that it does not wait.
        ahead = 1 if self._loaded.device.type == "cuda" else 0
        under_way = _UnderWay(rows)
        for group in plan([row.inputs for row in rows], [row.runs for row in rows], lane_tokens=lane_tokens):
            began = time.perf_counter()
            known = self._trunks.n_read
            trunk = self._trunks.get(self._loaded, group.trunk, group.trunk_reads, rows)
            self._counters["forward_tokens"] += self._trunks.n_read - known
            for index in {row for _, _, row, _ in group.trunk_reads}:
                rows[index].seconds += (time.perf_counter() - began) / len(group.trunk_reads)
            yield _done(rows, {row for _, _, row, _ in group.trunk_reads})
            for batch in self._budget.batches(group.lanes, lambda lane: len(lane.ids)):
                self._budget.run(
                    batch,
                    lambda lanes, trunk=trunk: under_way.add(lanes, self._compute(trunk, lanes, rows)),  # type: ignore[misc]
                    under_way.give_up,
                )
                yield under_way.settled(leave=ahead)
        yield under_way.settled()

    def _compute(self, trunk: Trunk, lanes: list[Lane], rows: Sequence[Row]) -> Answers:
        answers = compute_lanes(self._loaded, trunk, lanes, rows)
        n_padding = lane_padding(self._loaded, lanes)
        self._counters["batches"] += 1
        self._counters["forward_tokens"] += sum(len(lane.ids) for lane in lanes) + n_padding
        self._counters["padding_tokens"] += n_padding
        return answers


class _UnderWay:
    """Batches of lanes whose answers have not been taken yet."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._batches: deque[tuple[Sequence[Lane], Answers]] = deque()
        self._settled_at = time.perf_counter()

    def add(self, lanes: Sequence[Lane], answers: Answers) -> None:
        """Take a batch that was sent off."""
        self._batches.append((lanes, answers))

    def give_up(self, lane: Lane) -> None:
        """Note that a lane does not fit into memory even alone."""
        for _, _, row, _ in lane.reads:
            _give_up(self._rows[row])
        self.add([lane], Answers())

    def settled(self, *, leave: int = 0) -> list[Row]:
        """Take the answers of all batches but the newest; return the rows that are now done."""
        touched: set[int] = set()
        while len(self._batches) > leave:
            lanes, answers = self._batches.popleft()
            answers.settle()
            now = time.perf_counter()
            reads = [row for lane in lanes for _, _, row, _ in lane.reads]
            for row in reads:
                self._rows[row].seconds += (now - self._settled_at) / len(reads)
            self._settled_at = now
            touched.update(reads)
        return _done(self._rows, touched)


def _done(rows: Sequence[Row], touched: set[int]) -> list[Row]:
    return [rows[index] for index in sorted(touched) if rows[index].is_done]


def _give_up(row: Row) -> None:
    row.failure = f"memory ran out on one sequence of {len(row.inputs):,} tokens alone"


class Trial(NamedTuple):
    """What came out when packed rows were tried on a model."""

    packs: bool
    """Whether some way gives what the plain way gives."""
    troubles: tuple[str, ...] = ()
    """Why the better ways do not, in words."""


def prepare_packing(loaded: Loaded) -> Trial:
    """Make a model ready for packed rows in the best way it takes."""
    if "position_ids" not in loaded.takes:
        return Trial(False, ("its forward takes no positions",))
    troubles = []
    if shared_attention.use(loaded.model):
        loaded.shares = True
        trouble = _packing_trouble(loaded)
        if trouble is None:
            return Trial(True)
        troubles.append(f"attention in two parts: {trouble}")
        loaded.shares = False
        shared_attention.leave(loaded.model)
    loaded.flex = flex_lanes.use(loaded.model)
    if loaded.flex is not None:
        trouble = _packing_trouble(loaded)
        if trouble is None:
            return Trial(True)
        troubles.append(f"flex attention: {trouble}")
        loaded.flex = None
        flex_lanes.leave(loaded.model)
    trouble = _packing_trouble(loaded)
    return Trial(trouble is None, (*troubles, *([trouble] if trouble else [])))


def _packing_trouble(loaded: Loaded) -> str | None:
    """Return how packed rows differ from plain ones; None when they do not."""
    import torch

    rows = _canary(loaded.vocab_size)
    if loaded.window is not None and loaded.window < max(len(row.inputs) for row in rows):
        return f"its attention looks back {loaded.window} tokens only"
    plain = _plainly(loaded, rows)
    budget = Budget(256)
    counters = dict.fromkeys(("batches", "forward_tokens", "padding_tokens"), 0.0)
    try:
        for _ in PackedScoring(loaded, budget, counters, Trunks(TRUNK_BYTES), lane_tokens=24).run(rows):
            pass
    except Exception as trouble:  # noqa: BLE001 (a model's own code may raise anything; the plain way is left)
        return f"it does not take a mask of our own ({type(trouble).__name__}: {trouble})".splitlines()[0]
    worst = _distance(plain, [row.logprobs for row in rows])
    tolerance = _FP32_TOLERANCE
    if loaded.model.dtype != torch.float32:
        # Half precision: as far apart as one row alone and the same row in a batch are, several times over.
        alone = [logprobs for row in rows for logprobs in _plainly(loaded, [row])]
        tolerance = max(_HALF_TOLERANCE, _TIMES_NOISE * _distance(plain, alone))
    if not math.isfinite(worst) or worst > tolerance:
        return f"packed rows differ from plain ones by {worst:.2g}"
    return None


def _plainly(loaded: Loaded, rows: Sequence[Row]) -> list[list[float]]:
    """Return the log-probabilities of rows computed plainly in one batch; leaves the rows as they were."""
    compute(loaded, rows)
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

    for question in range(3):
        context = (*ids(1, 40), *ids(2 + question, 9))
        for option in range(3):
            rows.continuation((*context, *ids(20, option), *ids(30 + option, 4)), len(context))
    return list(rows)
