"""Lanes through flex attention: the blocks, and a whole model, against what each token may see.

The compiled form needs a GPU (benchmarks/gpu.py runs it); what is fed and masked is the same without one.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.backends.hf import flex_attention
from assay.backends.hf.batching import Budget
from assay.backends.hf.flex_attention import BLOCK, FlexLanes, find_blocks, round_up_to_blocks
from assay.backends.hf.likelihood import Row, Rows, compute_rows, sum_exponentials
from assay.backends.hf.loaded_model import LoadedModel
from assay.backends.hf.packed_forward import SharedPrefixCache
from assay.backends.hf.prefix_tree import plan_lanes
from assay.backends.hf.row_scoring import PackedScoring
from assay.backends.hf.work_counters import Counters
from fakes.tiny_llama import tiny_llama

VOCAB = 50


@st.composite
def sequences(draw: st.DrawFn) -> list[tuple[int, ...]]:
    """Questions behind one beginning, each with options."""
    import random

    random_ = random.Random(draw(st.integers(0, 2**20)))

    def ids(n: int) -> tuple[int, ...]:
        return tuple(random_.randrange(1, VOCAB) for _ in range(n))

    prefix = ids(random_.choice((0, 5, 127, 128, 129, 300)))
    found = []
    for _ in range(random_.randint(1, 6)):
        question = (*prefix, *ids(random_.randint(1, 150)))
        found += [(*question, *ids(random_.randint(1, 40))) for _ in range(random_.randint(1, 4))]
    return found


@given(sequences(), st.integers(40, 600))
@settings(max_examples=60, deadline=None)
def test_blocks_are_those_that_hold_a_pair_that_sees(some: list[tuple[int, ...]], lane_tokens: int) -> None:
    import torch

    for group in plan_lanes(some, [[(len(ids) - 1, len(ids), 0)] for ids in some], lane_tokens=lane_tokens):
        n_prefix, width = len(group.prefix), round_up_to_blocks(len(group.prefix))
        for lane in group.lanes:
            n = round_up_to_blocks(len(lane.ids))
            ends = torch.tensor(lane.ends + list(range(len(lane.ids) + 1, n + 1)))
            at = torch.arange(n)
            own = (at[None, :] <= at[:, None]) & (at[:, None] < ends[None, :])
            prefix = (torch.arange(width) < n_prefix).expand(n, -1)
            seen = torch.cat([prefix, own], dim=1)
            pairs = seen.view(n // BLOCK, BLOCK, -1, BLOCK).sum(dim=(1, 3))
            blocks = find_blocks(ends, n_prefix, width)
            assert not (blocks.some & blocks.every).any()
            assert torch.equal(blocks.some | blocks.every, pairs > 0)
            # A block all of whose pairs see each other may be left to the mask, never the other way round.
            assert (pairs[blocks.every] == BLOCK * BLOCK).all()


@pytest.fixture
def flexed() -> Iterator[LoadedModel]:
    """A small model on the CPU whose lanes go through flex attention, not compiled."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    loaded = tiny_llama(VOCAB)
    model = loaded.model
    AttentionInterface.register(flex_attention.NAME, flex_attention._attention())
    AttentionMaskInterface.register(flex_attention.NAME, sdpa_mask)
    model.set_attn_implementation(flex_attention.NAME)
    loaded.flex = FlexLanes(model, loaded.body.layers)
    loaded.flex._compiled_layers = [layer.forward for layer in loaded.body.layers]
    loaded.flex.sum_up = sum_exponentials
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="flex_attention called without torch.compile")
        yield loaded


def test_a_model_gives_what_it_gives_plainly(flexed: LoadedModel) -> None:
    @given(sequences(), st.sampled_from([64, 300, 1000]))
    @settings(max_examples=15, deadline=None)
    def holds(some: list[tuple[int, ...]], lane_tokens: int) -> None:
        def rows() -> list[Row]:
            made = Rows()
            for ids in some:
                made.continuation(ids, max(1, len(ids) - 3))
            return list(made)

        packed, plain = rows(), rows()
        scoring = PackedScoring(flexed, Budget(1000), Counters(), SharedPrefixCache(1 << 20), lane_tokens)
        done = [row for batch in scoring.run(packed) for row in batch]
        assert sorted(map(id, done)) == sorted(map(id, packed))
        compute_rows(flexed, plain)
        for one, other in zip(packed, plain, strict=True):
            assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
            assert one.is_top == other.is_top

    holds()


def test_one_program_computes_lanes_of_any_size_after_any_prefix(
    flexed: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compilation takes longer than the lanes of a small dataset, and would stop the device mid-run."""
    import random

    import torch

    torch._dynamo.reset()
    assert flexed.flex is not None
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    del flexed.flex._compiled_layers
    random_ = random.Random(0)

    def score(n_prefix: int, n_questions: int, length: int) -> None:
        prefix = tuple(random_.randrange(1, VOCAB) for _ in range(n_prefix))
        rows = Rows()
        for _ in range(n_questions):
            ids = (*prefix, *(random_.randrange(1, VOCAB) for _ in range(length)))
            rows.continuation(ids, len(ids) - 3)
        scoring = PackedScoring(flexed, Budget(1000), Counters(), SharedPrefixCache(1 << 20), 300)
        for _ in scoring.run(list(rows)):
            pass

    score(20, 4, 8)  # As in a trial: lanes and prefix have the same number of blocks.
    counters = Counters()
    for sizes in ((0, 1, 5), (0, 30, 40), (300, 9, 100), (129, 40, 30), (20, 2, 200)):
        score(*sizes)
    assert counters.as_dict()["compilations"] == 0
