"""Attention in two parts: over a prefix that all rows share, and over each row's own tokens.

The prefix's keys and values exist once; all queries of all rows meet them in one product. Own tokens can be
in one row, as blocks that do not see each other, so there is no padding. The parts are combined by their
log-sum-exps, which is exact. Copying a prefix for every row and step would cost more than the model. A model
is switched to it through transformers' own registry. On a GPU, Assay's own kernels compute it (see
tree_attention and step_attention).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple

from assay.backends.hf.fused_kernels import has_compiler
from assay.backends.hf.step_attention import attend_step
from assay.backends.hf.tree_attention import TokenTrees, attend_trees

NAME = "assay_shared"


@dataclass(slots=True)
class Block:
    """A stretch of a row that sees only itself (and the prefix)."""

    begin: int
    end: int
    mask: Any
    """[1, 1, tokens, tokens], added to the scores."""
    _wide: Any = None

    def wide_mask(self, per_group: int) -> Any:
        """Return the mask once for each head of a group; created in the first layer, the same in all."""
        if self._wide is None:
            self._wide = self.mask.repeat(1, 1, per_group, 1)
        return self._wide


class View(NamedTuple):
    """What attention reads besides its arguments."""

    prefix: Sequence[tuple[Any, Any]] = ()
    """Keys and values that every token sees, one pair for each layer."""
    blocks: Sequence[Block] = ()
    """Stretches of the one row that do not see each other, on a CPU; empty: the given mask applies."""
    trees: TokenTrees | None = None
    """The same on a GPU."""
    n_columns: Any = None
    """In a generation step: how many columns each row sees, whatever the mask; step_attention computes it."""


_view: ContextVar[View | None] = ContextVar("view", default=None)


@contextmanager
def using_view(view: View | None) -> Iterator[None]:
    """Let every attention inside the block use this view; None: attend as usual."""
    token = _view.set(view)
    try:
        yield
    finally:
        _view.reset(token)


def enable_shared_attention(model: Any) -> bool:
    """Switch a model over; return False if its attention is not torch's, or its device has no kernel."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    has_kernel = model.device.type == "cpu" or (model.device.type == "cuda" and has_compiler())
    if model.config._attn_implementation != "sdpa" or not has_kernel:
        return False
    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    model.set_attn_implementation(NAME)
    return bool(model.config._attn_implementation == NAME)


def attend(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any,
    scaling: float | None = None,
    **more: Any,
) -> tuple[Any, None]:
    """Attend to the prefix, if there is one, and to the row's own tokens; without a view, as usual."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    view = _view.get()
    if view is None:
        plain: tuple[Any, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **more
        )
        return plain
    batch, n_heads, width, size = query.shape
    n_groups = key.shape[1]
    scale = size**-0.5 if scaling is None else scaling
    if view.trees is not None:
        prefix = view.prefix[module.layer_idx] if view.prefix else None
        return attend_trees(query, key, value, prefix, view.trees, scale), None
    # Heads that share keys are adjacent: [batch, group, head of the group, token, size].
    query = query.reshape(batch, n_groups, n_heads // n_groups, width, size)
    if view.n_columns is not None:
        step = _attend_step(query, key, value, view, module.layer_idx, scale)
        return step.reshape(batch, n_heads, width, -1).transpose(1, 2), None
    out, total = _attend_own(query, key, value, attention_mask, view, scale)
    if view.prefix:
        prefix_keys, prefix_values = view.prefix[module.layer_idx]
        far, far_total = _attend_prefix(query, prefix_keys, prefix_values, scale)
        # exp(far_total) and exp(total) are the weights of the two parts; in fp32, so that half precision is
        # rounded once.
        share = (far_total - total).sigmoid()[..., None]
        out = out.float().lerp(far.float(), share).to(query.dtype)
    return out.reshape(batch, n_heads, width, -1).transpose(1, 2), None


def _attend_step(query: Any, keys: Any, values: Any, view: View, layer: int, scale: float) -> Any:
    """Attend from the one token of each row to the prefix and to the row's own columns."""
    far = None
    if view.prefix:
        out, total = _attend_prefix(query, *view.prefix[layer], scale)
        far = out[:, :, :, 0], total[..., 0]
    return attend_step(query[:, :, :, 0], keys, values, view.n_columns, scale, far)


def _attend_prefix(query: Any, keys: Any, values: Any, scale: float) -> tuple[Any, Any]:
    """Attend from all rows to the shared prefix: every query of a group in one product."""
    batch, n_groups, per_group, width, size = query.shape
    every = query.permute(1, 2, 0, 3, 4).reshape(1, n_groups, per_group * batch * width, size)
    out, total = _run_attention(every, keys, values, None, scale)
    out = out.reshape(n_groups, per_group, batch, width, -1).permute(2, 0, 1, 3, 4)
    return out, total.reshape(n_groups, per_group, batch, width).permute(2, 0, 1, 3)


def _attend_own(query: Any, keys: Any, values: Any, mask: Any, view: View, scale: float) -> tuple[Any, Any]:
    """Attend from each row to its own tokens, block by block if there are blocks."""
    import torch

    if not view.blocks:
        batch, n_groups, per_group, width, _ = query.shape
        # In a generation step, one line of the mask applies to all heads, without a copy.
        is_step = width == 1
        wide = mask.expand(batch, n_groups, per_group, -1) if is_step else mask.repeat(1, 1, per_group, 1)
        return _attend_grouped(query, keys, values, wide, scale)
    parts = [
        _attend_grouped(
            query[:, :, :, block.begin : block.end],
            keys[:, :, block.begin : block.end],
            values[:, :, block.begin : block.end],
            block.wide_mask(query.shape[2]),
            scale,
        )
        for block in view.blocks
    ]
    return torch.cat([out for out, _ in parts], dim=3), torch.cat([total for _, total in parts], dim=3)


def _attend_grouped(query: Any, keys: Any, values: Any, mask: Any, scale: float) -> tuple[Any, Any]:
    """Attend with a mask; the heads of a group are concatenated as if they were more tokens."""
    batch, n_groups, per_group, width, size = query.shape
    own = query.reshape(batch, n_groups, per_group * width, size)
    out, total = _run_attention(own, keys, values, mask, scale)
    return (
        out.reshape(batch, n_groups, per_group, width, -1),
        total.reshape(batch, n_groups, per_group, width),
    )


def _run_attention(query: Any, key: Any, value: Any, mask: Any, scale: float) -> tuple[Any, Any]:
    """Return attention and the log-sum-exps of its scores, which SDPA does not return: torch's kernels do."""
    import torch

    if query.device.type == "cpu":
        both: tuple[Any, Any] = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            query, key, value, 0.0, False, attn_mask=mask, scale=scale
        )
        return both
    assert mask is None  # On a GPU, only a shared prefix is read here.
    if _has_flash_kernel(query):
        # Twice as fast for many queries on one prefix.
        out, total, *_ = torch.ops.aten._scaled_dot_product_flash_attention(
            query, key, value, 0.0, False, False, scale=scale
        )
        return out, total
    out, total, *_ = torch.ops.aten._scaled_dot_product_efficient_attention(
        query, key, value, None, True, 0.0, False, scale=scale
    )
    return out, total[..., : query.shape[2]]  # The kernel pads them to whole blocks of queries.


def _has_flash_kernel(query: Any) -> bool:
    """Return whether torch's flash kernel on a GPU takes these queries."""
    import torch

    size = query.shape[-1]
    return query.dtype in (torch.float16, torch.bfloat16) and size <= 256 and size % 8 == 0
