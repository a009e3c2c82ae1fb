"""Keys and values of rows that are being generated: a slot for each row, a column for each of its tokens.

Rows occupy the first slots. Each continues at its own column, and columns after it are masked; so rows leave
and join without moving the others. A step computes only with tensors that stay where they are, and waits for
nothing from the host: it can be recorded and replayed (see step_graphs). Knows tensors and their columns, but
neither what the tokens mean nor the purpose of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from assay.backends.hf.likelihood import send_to_device
from assay.backends.hf.packed_forward import ReadRows, SharedPrefix

LEAST_COLUMNS = 128
"""Columns are allocated in at least this many."""
MASK_ALIGNMENT = 8


class StepShape(NamedTuple):
    """How much of the cache a step computes with."""

    slots: int
    columns: int


class SlotCache:
    """The cache that a model gets while rows are generated after a shared prefix.

    With `joins`, the prefix's keys and values precede each row's own, as any attention expects. With
    `rounds`, a step covers a few more slots and columns than it needs, so that few different shapes occur.
    """

    is_compileable = False

    def __init__(
        self,
        prefix: SharedPrefix,
        *,
        joins: bool,
        rounds: bool,
        dtype: Any,
        device: Any,
        expected: StepShape | None = None,
    ) -> None:
        """`expected`: how much to allocate at first, so that memory does not move later."""
        self._prefix = prefix
        self._expected = expected or StepShape(0, 0)
        self._n_before = len(prefix.ids) if joins else 0
        self._rounds = rounds
        self._dtype = dtype
        self._device = device
        self._layers: list[tuple[Any, Any]] = []
        """For every layer a pair of [slots, heads, prefix if it joins + columns, size]."""
        self._lengths: list[int] = []
        """How many own tokens each row has."""
        self._shape = self._capacity = StepShape(0, 0)
        self._has_moved = False
        """Whether memory was moved since the last step."""
        # On the device, one number for each slot:
        self._tokens: Any = None
        """The next token to read."""
        self._columns: Any = None
        """The column of the next token."""
        self._is_taken: Any = None
        """1 for a slot with a row, 0 for a free one."""
        self._next_columns: Any = None
        """The columns in which a step writes, as indices into a layer."""

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return len(self._lengths)

    def join(self, rows: ReadRows) -> None:
        """Add rows in the slots after the existing ones."""
        import torch

        old, width = self.n_rows, max(rows.lengths)
        self._lengths += rows.lengths
        self._reserve(StepShape(self.n_rows, max(self._lengths) + 1), rows.layers)
        lengths = send_to_device(torch.tensor(rows.lengths), self._device)
        after_end = torch.arange(width, device=self._device) >= lengths[:, None]
        for whole, new in zip(self._layers, rows.layers, strict=True):
            for slots, own in zip(whole, new, strict=True):
                mine = slots[old : self.n_rows, :, self._n_before :]
                # Masked columns count as zero times their value: an infinite number left there would be NaN.
                mine.zero_()
                mine[:, :, :width] = own[:, :, :width].masked_fill(after_end[:, None, :, None], 0)
        self._columns[old : self.n_rows] = lengths
        self._mark_slots()

    def select(self, rows: Sequence[int]) -> None:
        """Continue with some of the rows, in this order; those that keep their number do not move."""
        import torch

        moves = [(to, row) for to, row in enumerate(rows) if to != row]
        self._lengths = [self._lengths[row] for row in rows]
        if moves:
            to, row = send_to_device(torch.tensor(moves).t().contiguous(), self._device)
            for part in (*(part for layer in self._layers for part in layer), self._columns):
                part[to] = part[row]
        if self._layers:
            self._mark_slots()

    def begin_step(self, tokens: Any) -> tuple[StepShape, bool]:
        """Set the next token of each row; return what the step covers.

        Also return whether memory was moved since the last step, by this one or by rows that joined.
        """
        needed = StepShape(self.n_rows, max(self._lengths) + 1)
        self._reserve(needed, self._layers)
        has_moved, self._has_moved = self._has_moved, False
        self._shape = _round_up(needed) if self._rounds else needed
        self._lengths = [length + 1 for length in self._lengths]
        self._tokens[: self.n_rows] = tokens
        return self._shape, has_moved

    # --- during a step: only work on the device, with tensors that stay where they are ---

    def feed(self) -> dict[str, Any]:
        """Return the model's inputs for a step."""
        import torch

        slots, columns = self._shape
        next_columns = self._columns[:slots]
        self._next_columns = (next_columns + self._n_before)[:, None, None, None]
        at = torch.arange(-self._n_before, columns, device=self._device)
        # torch's attention on a GPU reads a mask whose rows begin at multiples of `MASK_ALIGNMENT` numbers.
        width = -(-len(at) // MASK_ALIGNMENT) * MASK_ALIGNMENT
        mask = torch.zeros((slots, width), dtype=self._dtype, device=self._device)[:, : len(at)]
        mask.masked_fill_(at > next_columns[:, None], torch.finfo(self._dtype).min)
        return {
            "input_ids": self._tokens[:slots, None],
            "attention_mask": mask[:, None, None, :],
            "position_ids": (next_columns + len(self._prefix.ids))[:, None],
            "past_key_values": self,
            "use_cache": False,
        }

    def count_columns(self) -> Any:
        """Return how many columns each slot has, with that of the next token."""
        return self._columns[: self._shape.slots] + 1

    def update(self, keys: Any, values: Any, layer_idx: int, *_: Any, **__: Any) -> tuple[Any, Any]:
        """Store a layer's keys and values of the newest tokens; return all that its attention reads."""
        slots, columns = self._shape
        stored = []
        for whole, new in zip(self._layers[layer_idx], (keys, values), strict=True):
            used = whole[:slots, :, : self._n_before + columns]
            used.scatter_(2, self._next_columns.expand_as(new), new)
            stored.append(used)
        return stored[0], stored[1]

    def get_seq_length(self, *_: Any, **__: Any) -> int:
        """Return how many tokens precede the next ones, at most."""
        return len(self._prefix.ids) + self._shape.columns - 1

    def end_step(self) -> None:
        """Advance each row by a column; free slots stay where they are."""
        slots = self._shape.slots
        self._columns[:slots] += self._is_taken[:slots]

    # --- memory ---

    def _reserve(self, needed: StepShape, like: Sequence[tuple[Any, Any]]) -> None:
        """Allocate more slots and columns if needed."""
        import torch

        old = self._capacity
        if needed.slots <= old.slots and needed.columns <= old.columns:
            return
        self._has_moved = True
        self._capacity = _round_up(StepShape(*map(max, needed, old, self._expected)))
        for layer, parts in enumerate(like):
            # One layer at a time, so that only one is in memory twice.
            before = self._layers[layer] if layer < len(self._layers) else (None, None)
            self._layers[layer : layer + 1] = [
                (
                    self._enlarge(before[0], parts[0], layer, 0),
                    self._enlarge(before[1], parts[1], layer, 1),
                )
            ]
        for name in ("_tokens", "_columns", "_is_taken"):
            new = torch.zeros(self._capacity.slots, dtype=torch.long, device=self._device)
            if old.slots:
                new[: old.slots] = getattr(self, name)
            setattr(self, name, new)

    def _enlarge(self, old: Any, like: Any, layer: int, part: int) -> Any:
        """Return the keys (part 0) or values (part 1) of a layer in larger memory."""
        _, heads, _, size = like.shape
        slots, columns = self._capacity
        new = like.new_zeros((slots, heads, self._n_before + columns, size))
        if self._n_before:
            new[:, :, : self._n_before] = self._prefix.layers[layer][part]
        if old is not None:
            new[: old.shape[0], :, : old.shape[2]] = old
        return new

    def _mark_slots(self) -> None:
        """Mark the slots of rows; free ones start from their first column."""
        self._is_taken[: self.n_rows] = 1
        self._is_taken[self.n_rows :] = 0
        self._columns[self.n_rows :] = 0


def _round_up(shape: StepShape) -> StepShape:
    return StepShape(round_up_size(shape.slots, 1), round_up_size(shape.columns, LEAST_COLUMNS))


def round_up_size(size: int, least: int) -> int:
    """Return the next size that is a power of two, or halfway between two, times the least one."""
    power = least
    while 2 * power <= size:
        power *= 2
    return next(one for one in (power, power * 3 // 2, 2 * power) if one >= size)
