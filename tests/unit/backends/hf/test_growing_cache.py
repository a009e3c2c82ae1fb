"""Rows that grow, leave and join, against plain lists of columns."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from assay.backends.hf import growing_cache
from assay.backends.hf.growing_cache import GrowingRows
from assay.backends.hf.packed_forward import ReadRow, SharedPrefix

LAYERS, HEADS, SIZE = 2, 3, 4


class Oracle:
    """For each row, its own columns as they came."""

    def __init__(self, n_prefix: int) -> None:
        self.n_prefix = n_prefix
        self.rows: list[list[tuple[Any, Any]]] = []
        """[row][layer] = (keys, values), each [heads, tokens, size]."""

    def step(self, new: list[tuple[Any, Any]]) -> None:
        for index, row in enumerate(self.rows):
            for layer, (keys, values) in enumerate(new):
                old_keys, old_values = row[layer]
                row[layer] = (
                    torch.cat([old_keys, keys[index]], dim=1),
                    torch.cat([old_values, values[index]], dim=1),
                )


def pair(*shape: int) -> tuple[Any, Any]:
    return torch.rand(shape), torch.rand(shape)


@pytest.mark.parametrize("joins", [True, False])
@given(data=st.data(), n_prefix=st.sampled_from([0, 5]))
def test_each_row_keeps_its_own_columns(joins: bool, data: st.DataObject, n_prefix: int) -> None:
    prefix = SharedPrefix(
        tuple(range(n_prefix)), [pair(1, HEADS, n_prefix, SIZE) for _ in range(LAYERS)] if n_prefix else []
    )
    rows, oracle = GrowingRows(prefix, joins=joins, dtype=torch.float32), Oracle(n_prefix)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growing_cache, "SPARE_COLUMNS", data.draw(st.integers(1, 3)))
        for what in data.draw(st.lists(st.sampled_from("jjssssx"), max_size=20)):
            if what == "j":
                lengths = data.draw(st.lists(st.integers(1, 7), min_size=1, max_size=3))
                new = [[pair(HEADS, length, SIZE) for _ in range(LAYERS)] for length in lengths]
                rows.join([ReadRow(list(layers), None) for layers in new])
                oracle.rows += new
            elif what == "x":
                kept = [index for index in range(rows.n_rows) if data.draw(st.booleans())]
                rows.select(kept)
                oracle.rows = [oracle.rows[index] for index in kept]
            elif oracle.rows:
                _check_step(rows, oracle, prefix, joins)
    assert rows.n_rows == len(oracle.rows)


def _check_step(rows: GrowingRows, oracle: Oracle, prefix: SharedPrefix, joins: bool) -> None:
    before = [row[0][0].shape[1] for row in oracle.rows]
    positions, mask = rows.next_column()
    assert positions[:, 0].tolist() == [oracle.n_prefix + n for n in before]
    new = [pair(len(before), HEADS, 1, SIZE) for _ in range(LAYERS)]
    oracle.step(new)
    # Nothing is left of columns that no row uses: the longest row sees every one.
    assert mask.shape == (len(before), 1, 1, max(before) + 1 + (oracle.n_prefix if joins else 0))
    for layer, (keys, values) in enumerate(new):
        for part, found in enumerate(rows.update(keys, values, layer)):
            assert found.shape[2] == mask.shape[-1]
            for index, row in enumerate(oracle.rows):
                expected = row[layer][part]
                if joins and prefix.layers:
                    expected = torch.cat([prefix.layers[layer][part][0], expected], dim=1)
                assert torch.equal(found[index][:, mask[index, 0, 0] == 0], expected)
