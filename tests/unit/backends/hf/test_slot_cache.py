"""Key-value rows that grow, leave and join, against plain lists of columns."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from assay.backends.hf import slot_cache
from assay.backends.hf.packed_forward import ReadRows, SharedPrefix
from assay.backends.hf.slot_cache import SlotCache, StepShape, round_up_size

LAYERS, HEADS, SIZE = 2, 3, 4
CPU = torch.device("cpu")


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
@pytest.mark.parametrize("rounds", [True, False])
@given(data=st.data(), n_prefix=st.sampled_from([0, 5]))
def test_each_row_keeps_its_own_columns(
    joins: bool, rounds: bool, data: st.DataObject, n_prefix: int
) -> None:
    prefix = SharedPrefix(
        tuple(range(n_prefix)), [pair(1, HEADS, n_prefix, SIZE) for _ in range(LAYERS)] if n_prefix else []
    )
    rows = SlotCache(prefix, joins=joins, rounds=rounds, dtype=torch.float32, device=CPU)
    oracle = Oracle(n_prefix)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slot_cache, "LEAST_COLUMNS", data.draw(st.sampled_from([1, 2, 8])))
        for what in data.draw(st.lists(st.sampled_from("jjssssx"), max_size=20)):
            if what == "j":
                lengths = data.draw(st.lists(st.integers(1, 7), min_size=1, max_size=3))
                new = [pair(len(lengths), HEADS, max(lengths), SIZE) for _ in range(LAYERS)]
                for row, length in enumerate(lengths):
                    oracle.rows.append([(k[row, :, :length], v[row, :, :length]) for k, v in new])
                    for part in (part for layer in new for part in layer):
                        part[row, :, length:] = torch.nan  # What padding computed must not be seen.
                rows.join(ReadRows(new, lengths, None))
            elif what == "x":
                kept = [index for index in range(rows.n_rows) if data.draw(st.booleans())]
                kept = data.draw(st.permutations(kept))
                rows.select(kept)
                oracle.rows = [oracle.rows[index] for index in kept]
            elif oracle.rows:
                _check_step(rows, oracle, prefix, joins=joins, rounds=rounds)
    assert rows.n_rows == len(oracle.rows)


def _check_step(rows: SlotCache, oracle: Oracle, prefix: SharedPrefix, *, joins: bool, rounds: bool) -> None:
    before = [row[0][0].shape[1] for row in oracle.rows]
    n_before = oracle.n_prefix if joins else 0
    tokens = torch.arange(len(before)) + 100
    shape, _ = rows.begin_step(tokens)
    assert shape.slots >= len(before)
    assert shape.columns > max(before)
    if not rounds:
        assert shape == (len(before), max(before) + 1)
    feed = rows.feed()
    mask = feed["attention_mask"]
    assert feed["input_ids"][: len(before), 0].tolist() == tokens.tolist()
    assert feed["position_ids"][: len(before), 0].tolist() == [oracle.n_prefix + n for n in before]
    assert mask.shape == (shape.slots, 1, 1, n_before + shape.columns)
    # A free slot must see something, and no position beyond those of rows.
    assert (mask == 0).any(dim=-1).all()
    assert feed["position_ids"].max() <= oracle.n_prefix + max(before)
    new = [pair(shape.slots, HEADS, 1, SIZE) for _ in range(LAYERS)]
    oracle.step(new)
    for layer, (keys, values) in enumerate(new):
        for part, found in enumerate(rows.update(keys, values, layer)):
            assert found.shape[2] == mask.shape[-1]
            assert torch.isfinite(found).all()
            for index, row in enumerate(oracle.rows):
                expected = row[layer][part]
                if joins and prefix.layers:
                    expected = torch.cat([prefix.layers[layer][part][0], expected], dim=1)
                assert torch.equal(found[index][:, mask[index, 0, 0] == 0], expected)
    rows.end_step()


@given(st.integers(1, 5000), st.sampled_from([1, 8, 128]))
def test_sizes_are_rounded_up_to_a_few(size: int, least: int) -> None:
    rounded = round_up_size(size, least)
    assert size <= rounded <= max(least, 3 * size // 2 + 1)
    assert least == 1 or rounded % 4 == 0
    assert round_up_size(rounded, least) == rounded
    assert len({round_up_size(n, least) for n in range(1, size + 1)}) <= 2 * size.bit_length()


def test_memory_stays_where_it_is_until_it_is_full() -> None:
    rows = SlotCache(SharedPrefix(), joins=False, rounds=True, dtype=torch.float32, device=CPU)
    rows.join(ReadRows([pair(3, HEADS, 5, SIZE)], [5, 4, 2], None))
    moved = []
    for _ in range(slot_cache.LEAST_COLUMNS):
        moved.append(rows.begin_step(torch.zeros(3, dtype=torch.long))[1])
        rows.feed()
        rows.end_step()
    assert [step for step, has_moved in enumerate(moved) if has_moved] == [0, slot_cache.LEAST_COLUMNS - 5]


def test_a_step_knows_that_joining_rows_moved_memory() -> None:
    """A recorded step would read the memory that was there before."""
    rows = SlotCache(SharedPrefix(), joins=False, rounds=True, dtype=torch.float32, device=CPU)
    moved = []
    for n_rows in (3, 1, 2):
        rows.join(ReadRows([pair(n_rows, HEADS, 5, SIZE)], [5] * n_rows, None))
        rows.select(range(3))
        for _ in range(2):
            moved.append(rows.begin_step(torch.zeros(3, dtype=torch.long))[1])
            rows.end_step()
    assert moved == [True, False, True, False, True, False]


def test_memory_for_the_expected_rows_is_allocated_at_once() -> None:
    rows = SlotCache(
        SharedPrefix(), joins=False, rounds=True, dtype=torch.float32, device=CPU, expected=StepShape(4, 200)
    )
    moved = []
    for n_rows in (1, 3):
        rows.join(ReadRows([pair(n_rows, HEADS, 5, SIZE)], [5] * n_rows, None))
        for _ in range(90):
            moved.append(rows.begin_step(torch.zeros(rows.n_rows, dtype=torch.long))[1])
            rows.end_step()
    assert moved == [True] + [False] * 179
