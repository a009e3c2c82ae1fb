"""The kernel of a generation step against plain attention, in Triton's interpreter."""

from __future__ import annotations

import os

import pytest
import torch

os.environ.setdefault("TRITON_INTERPRET", "1")
pytest.importorskip("triton", reason="Triton is installed with torch for GPUs only")

from assay.backends.hf.step_attention import attend_step


@pytest.mark.parametrize("size", [64, 80])
@pytest.mark.parametrize("heads", [1, 4])
@pytest.mark.parametrize("n_prefix", [0, 9])
def test_a_step_reads_the_prefix_and_the_columns_of_each_row(size: int, heads: int, n_prefix: int) -> None:
    torch.manual_seed(0)
    slots, groups, columns = 3, 2, 130
    query = torch.randn(slots, groups, heads, size)
    # As in a cache with more slots and columns than rows need.
    keys, values = (torch.randn(slots + 1, groups, columns + 6, size)[:slots, :, :columns] for _ in range(2))
    n_columns = torch.tensor([130, 1, 64])
    far_keys, far_values = (torch.randn(groups, n_prefix, size) for _ in range(2))
    scale = size**-0.5
    far = None
    if n_prefix:
        scores = torch.einsum("sghd,gpd->sghp", query, far_keys) * scale
        far = torch.einsum("sghp,gpd->sghd", scores.softmax(-1), far_values), scores.logsumexp(-1)
    found = attend_step(query, keys, values, n_columns, scale, far)
    for slot, n in enumerate(n_columns.tolist()):
        own_keys = torch.cat([far_keys, keys[slot, :, :n]], dim=1)
        own_values = torch.cat([far_values, values[slot, :, :n]], dim=1)
        scores = torch.einsum("ghd,gpd->ghp", query[slot], own_keys) * scale
        expected = torch.einsum("ghp,gpd->ghd", scores.softmax(-1), own_values)
        assert torch.allclose(found[slot], expected, atol=1e-5)
