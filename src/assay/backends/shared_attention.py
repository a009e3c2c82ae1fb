"""Attention in two parts: over a trunk that all rows share, and over each row's own tokens.

The trunk's keys and values stay where they are, once; all queries of all rows meet them in one product.
The two parts are joined by their log-sum-exps, which is exact. Written for CPUs, where copying the trunk
for every row and step would cost more than the model; a model is switched over through transformers' own
registry of attention functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

NAME = "assay_shared"

_trunk: ContextVar[Sequence[tuple[Any, Any]]] = ContextVar("trunk", default=())


@contextmanager
def shared(layers: Sequence[tuple[Any, Any]]) -> Iterator[None]:
    """Let every attention inside look at these keys and values first, one pair for each layer."""
    token = _trunk.set(layers)
    try:
        yield
    finally:
        _trunk.reset(token)


def use(model: Any) -> bool:
    """Switch a model over; False when it does not attend by torch's own function, or not on a CPU."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    if model.config._attn_implementation != "sdpa" or model.device.type != "cpu":
        return False
    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    model.set_attn_implementation(NAME)
    return bool(model.config._attn_implementation == NAME)


def leave(model: Any) -> None:
    """Switch a model back."""
    model.set_attn_implementation("sdpa")


def attend(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any,
    scaling: float | None = None,
    **more: Any,
) -> tuple[Any, None]:
    """Attend to the trunk, if there is one, and to the row's own tokens."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    layers = _trunk.get()
    if not layers:
        plain: tuple[Any, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **more
        )
        return plain
    batch, n_heads, width, size = query.shape
    n_groups = key.shape[1]
    scale = size**-0.5 if scaling is None else scaling
    per_group = n_heads // n_groups
    # Heads that share keys stand one after the other: [batch, group, head of the group, token, size].
    split = query.reshape(batch, n_groups, per_group, width, size)

    trunk_keys, trunk_values = layers[module.layer_idx]
    every = split.permute(1, 2, 0, 3, 4).reshape(1, n_groups, per_group * batch * width, size)
    far, far_sum = _flash(every, trunk_keys, trunk_values, None, scale)
    far = far.view(n_groups, per_group, batch, width, -1).permute(2, 0, 1, 3, 4)
    far_sum = far_sum.view(n_groups, per_group, batch, width).permute(2, 0, 1, 3)

    own = split.reshape(batch, n_groups, per_group * width, size)
    mask = attention_mask.expand(-1, n_groups, -1, -1).repeat(1, 1, per_group, 1)
    near, near_sum = _flash(own, key, value, mask, scale)
    near = near.view(batch, n_groups, per_group, width, -1)
    near_sum = near_sum.view(batch, n_groups, per_group, width)

    # exp(far_sum) and exp(near_sum) are the weights of the two parts.
    share = (far_sum - near_sum).sigmoid()[..., None].to(far.dtype)
    joined = near + (far - near) * share
    return joined.reshape(batch, n_heads, width, -1).transpose(1, 2), None


def _flash(query: Any, key: Any, value: Any, mask: Any, scale: float) -> tuple[Any, Any]:
    import torch

    both: tuple[Any, Any] = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, 0.0, False, attn_mask=mask, scale=scale
    )
    return both
