"""Keys and values of rows that are being generated: one more column each step; rows leave, and others join.

The ends of the rows are aligned, so that all continue at the same column. Masked padding precedes shorter
rows. Columns are allocated in advance, so a step writes into its column and copies nothing. Knows tensors
and their columns, but neither tokens nor the purpose of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.backends.hf.packed_forward import ReadRow, SharedPrefix

SPARE_COLUMNS = 64
"""How many columns are allocated at a time."""


class GrowingRows:
    """The cache that a model gets while rows are generated after a shared prefix.

    With `joins`, the prefix's keys and values precede each row's own, as any attention expects.
    """

    is_compileable = False

    def __init__(self, prefix: SharedPrefix, *, joins: bool, dtype: Any) -> None:
        self._prefix = prefix
        self._n_before = len(prefix.ids) if joins else 0
        self._dtype = dtype
        self._layers: list[tuple[Any, Any]] = []
        """For every layer a pair of [rows, heads, prefix if it joins + columns, size]."""
        self._begins: list[int] = []
        """The column of each row's first own token."""
        self._width = 0
        self._n_columns = 0
        self._mask: Any = None

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return len(self._begins)

    def join(self, rows: Sequence[ReadRow]) -> None:
        """Add rows after the existing ones."""
        self._rebuild(range(self.n_rows), rows)

    def select(self, rows: Sequence[int]) -> None:
        """Continue with some of the rows; columns that only other rows used are removed."""
        self._rebuild(rows, ())

    def next_column(self) -> tuple[Any, Any]:
        """Begin a step: return the position of each row's next token, and its attention mask."""
        import torch

        if self._width == self._n_columns:
            self._rebuild(range(self.n_rows), ())
        places = [len(self._prefix.ids) + self._width - begin for begin in self._begins]
        self._width += 1
        positions = torch.tensor(places, device=self._mask.device)[:, None]
        return positions, self._mask[..., : self._n_before + self._width]

    # --- called by the model ---

    def update(self, keys: Any, values: Any, layer_idx: int, *_: Any, **__: Any) -> tuple[Any, Any]:
        """Store a layer's keys and values of the newest column; return all that its attention reads."""
        all_keys, all_values = self._layers[layer_idx]
        end = self._n_before + self._width
        all_keys[:, :, end - 1 : end] = keys
        all_values[:, :, end - 1 : end] = values
        return all_keys[:, :, :end], all_values[:, :, :end]

    def get_seq_length(self, *_: Any, **__: Any) -> int:
        """Return how many tokens precede the next ones."""
        return len(self._prefix.ids) + max(self._width - 1, 0)

    # --- moving rows ---

    def _rebuild(self, kept: Sequence[int], joining: Sequence[ReadRow]) -> None:
        """Move rows to new columns: as many as the longest row needs, and some spare ones."""
        old_width = self._width
        lengths = [old_width - self._begins[row] for row in kept]
        lengths += [row.layers[0][0].shape[-2] for row in joining]
        self._width = max(lengths, default=0)
        self._n_columns = self._width + SPARE_COLUMNS
        self._begins = [self._width - length for length in lengths]
        if not lengths:
            self._layers = []
            return
        for layer in range(len(joining[0].layers if joining else self._layers)):
            # One layer at a time, so that only one is in memory twice.
            old = self._layers[layer] if layer < len(self._layers) else (None, None)
            own = [row.layers[layer] for row in joining]
            self._layers[layer : layer + 1] = [
                (
                    self._moved(old[0], kept, old_width, [keys for keys, _ in own], layer, 0),
                    self._moved(old[1], kept, old_width, [values for _, values in own], layer, 1),
                )
            ]
        self._mask = self._new_mask(self._layers[0][0].device)

    def _moved(
        self, old: Any, kept: Sequence[int], old_width: int, joining: Sequence[Any], layer: int, part: int
    ) -> Any:
        """Return the keys (part 0) or values (part 1) of a layer in their new columns."""
        like = joining[0] if old is None else old[0]
        heads, _, size = like.shape
        end = self._n_before + self._width
        new = like.new_zeros((self.n_rows, heads, self._n_before + self._n_columns, size))
        if self._n_before:
            new[:, :, : self._n_before] = self._prefix.layers[layer][part]
        if len(kept):
            width, old_end = min(old_width, self._width), self._n_before + old_width
            new[: len(kept), :, end - width : end] = old[list(kept), :, old_end - width : old_end]
        for index, own in enumerate(joining, start=len(kept)):
            new[index, :, end - own.shape[-2] : end] = own
        return new

    def _new_mask(self, device: Any) -> Any:
        """Return [rows, 1, 1, columns]: 0 for a row's present and future tokens, the minimum for padding."""
        import torch

        columns = torch.arange(-self._n_before, self._n_columns, device=device)
        begins = torch.tensor(self._begins, device=device)[:, None]
        mask = torch.zeros((self.n_rows, len(columns)), dtype=self._dtype, device=device)
        mask.masked_fill_((columns >= 0) & (columns < begins), torch.finfo(self._dtype).min)
        return mask[:, None, None, :]
