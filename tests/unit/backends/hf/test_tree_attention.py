"""Packed sequences through the GPU's kernel, in Triton's interpreter, against what each token may see."""

from __future__ import annotations

import os
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

os.environ.setdefault("TRITON_INTERPRET", "1")
pytest.importorskip("triton", reason="Triton is installed with torch for GPUs, and by the extra dev")

from assay.backends.hf.batching import Budget
from assay.backends.hf.likelihood import Row, Rows, compute_rows
from assay.backends.hf.loaded_model import LoadedModel
from assay.backends.hf.packed_forward import SharedPrefixCache
from assay.backends.hf.prefix_tree import plan_lanes
from assay.backends.hf.row_scoring import PackedScoring, prepare_packing
from assay.backends.hf.tree_attention import Tile, TokenTrees, attend_trees, choose_tile, find_blocks
from assay.backends.hf.work_counters import Counters
from fakes.tiny_llama import tiny_llama

VOCAB = 50
CPU = torch.device("cpu")


@st.composite
def sequences(draw: st.DrawFn) -> list[tuple[int, ...]]:
    """Questions behind one beginning, each with options."""
    random_ = random.Random(draw(st.integers(0, 2**20)))

    def ids(n: int) -> tuple[int, ...]:
        return tuple(random_.randrange(1, VOCAB) for _ in range(n))

    prefix = ids(random_.choice((0, 5, 31, 32, 33, 150)))
    questions = [(*prefix, *ids(random_.randint(1, 60))) for _ in range(random_.randint(1, 5))]
    return [
        (*question, *ids(random_.randint(1, 20)))
        for question in questions
        for _ in range(random_.randint(1, 4))
    ]


def see(ends: torch.Tensor) -> torch.Tensor:
    """Return [tokens, tokens]: whether a token sees another."""
    at = torch.arange(len(ends))
    return (at[None, :] <= at[:, None]) & (at[:, None] < ends[None, :])


@given(sequences(), st.integers(40, 300), st.sampled_from([(32, 16), (16, 32), (32, 32)]))
@settings(max_examples=60, deadline=None)
def test_blocks_are_those_that_hold_a_pair_that_sees(
    some: list[tuple[int, ...]], lane_tokens: int, sizes: tuple[int, int]
) -> None:
    n_queries, n_keys = sizes
    for group in plan_lanes(some, [[(len(ids) - 1, len(ids), 0)] for ids in some], lane_tokens=lane_tokens):
        for lane in group.lanes:
            ends = torch.tensor(lane.ends, dtype=torch.int32)
            order, n_every, n_some = find_blocks(ends, Tile(n_queries, n_keys, 1, 1))
            seen = see(ends)
            for number, begin in enumerate(range(0, len(ends), n_queries)):
                lines = seen[begin : begin + n_queries]
                blocks = order[number].tolist()
                every = set(blocks[: n_every[number]])
                read = set(blocks[: n_every[number] + n_some[number]])
                pairs = {n: lines[:, n * n_keys : (n + 1) * n_keys] for n in range(order.shape[1])}
                assert read == {n for n, block in pairs.items() if block.any()}
                # A block all of whose pairs see each other may be left to the mask, never the other way.
                assert all(pairs[n].all() and pairs[n].shape[1] == n_keys for n in every)


@pytest.mark.parametrize(("heads", "groups", "size"), [(4, 2, 16), (3, 3, 20), (4, 1, 8)])
@pytest.mark.parametrize("n_prefix", [0, 7, 64])
def test_the_kernel_gives_attention_with_a_mask(heads: int, groups: int, size: int, n_prefix: int) -> None:
    torch.manual_seed(0)
    n = 150
    ends = torch.tensor([min(n, at - at % 50 + 50) if at % 7 else min(n, at + 3) for at in range(n)])
    # Views of larger products, as projections return them.
    query = torch.randn(1, n, heads, size + 4)[..., :size].transpose(1, 2)
    keys, values = (torch.randn(1, n, groups, size).transpose(1, 2) for _ in range(2))
    prefix = tuple(torch.randn(1, groups, n_prefix, size) for _ in range(2)) if n_prefix else None
    found = attend_trees(query, keys, values, prefix, TokenTrees(ends.tolist(), CPU), 0.3)
    mask = torch.cat([torch.ones(n, n_prefix, dtype=torch.bool), see(ends)], dim=1)
    if prefix is not None:
        keys, values = torch.cat([prefix[0], keys], dim=2), torch.cat([prefix[1], values], dim=2)
    expected = torch.nn.functional.scaled_dot_product_attention(
        query, keys, values, attn_mask=mask, scale=0.3, enable_gqa=True
    )
    assert torch.allclose(found.transpose(1, 2), expected, atol=1e-5)


def test_keys_of_another_size_than_the_queries_are_rejected() -> None:
    query, keys = torch.randn(1, 4, 6, 16), torch.randn(1, 4, 6, 16)
    trees = TokenTrees([6] * 6, CPU)
    for values, prefix in (
        (torch.randn(1, 4, 6, 8), None),  # values with heads of their own size
        (keys, (torch.randn(1, 1, 9, 16), torch.randn(1, 1, 9, 4))),  # a cache of compressed keys
    ):
        with pytest.raises(ValueError, match="another size"):
            attend_trees(query, keys, values, prefix, trees, 0.3)


def test_tiles_fit_into_the_fast_memory_of_small_and_large_processors() -> None:
    for itemsize in (2, 4):
        for width in (64, 128, 256):
            for memory in (64 << 10, 100 << 10, 227 << 10):
                tile = choose_tile(width, itemsize, memory)
                assert tile.count_bytes(width, itemsize) <= memory
    assert choose_tile(128, 2, 227 << 10).stages == 3


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> LoadedModel:
    """A small model on the CPU that computes as on a GPU."""
    monkeypatch.setattr(LoadedModel, "has_kernels", True)
    loaded = tiny_llama(VOCAB)
    trial = prepare_packing(loaded)
    assert trial == (True, (), "in the fastest way")
    assert loaded.shares
    assert loaded.pieces is not None
    return loaded


@pytest.mark.parametrize(("n_prefix", "lane_tokens"), [(0, 40), (40, 300)])
def test_a_model_gives_what_it_gives_plainly(packed: LoadedModel, n_prefix: int, lane_tokens: int) -> None:
    def rows() -> list[Row]:
        random_ = random.Random(0)

        def ids(n: int) -> tuple[int, ...]:
            return tuple(random_.randrange(1, VOCAB) for _ in range(n))

        collected, prefix = Rows(), ids(n_prefix)
        for _ in range(3):
            question = (*prefix, *ids(random_.randint(1, 20)))
            for _ in range(3):
                option = (*question, *ids(random_.randint(1, 5)))
                collected.continuation(option, max(1, len(option) - 3))
        return list(collected)

    fast, plain = rows(), rows()
    scoring = PackedScoring(packed, Budget(1000), Counters(), SharedPrefixCache(1 << 20), lane_tokens)
    done = [row for batch in scoring.run(fast) for row in batch]
    assert sorted(map(id, done)) == sorted(map(id, fast))
    compute_rows(packed, plain)
    for one, other in zip(fast, plain, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
        assert one.is_top == other.is_top


def test_a_kernel_that_is_wrong_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LoadedModel, "has_kernels", True)
    real = TokenTrees.__init__

    def see_everything_before(trees: TokenTrees, ends: list[int], device: torch.device) -> None:
        real(trees, [len(ends)] * len(ends), device)

    monkeypatch.setattr(TokenTrees, "__init__", see_everything_before)
    trial = prepare_packing(tiny_llama(VOCAB))
    assert trial.packs
    assert trial.how == "with a dense mask"
    assert len(trial.troubles) == 2
    assert all("packed rows differ from plain ones" in trouble for trouble in trial.troubles)
