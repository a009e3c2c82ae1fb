"""Attention of one generation step on a GPU: each row's newest token reads the row's own keys and values.

torch's kernels compute whole blocks of queries, and read all columns with a mask. Here each row reads only
the columns that it has, once for all heads of a group, so a step takes as long as reading that memory. The
result over a shared prefix is continued, not merged afterwards.
"""

from __future__ import annotations

from typing import Any

from assay.backends.hf.fused_kernels import round_up_to_power

LEAST_HEADS = 16
"""A product on a GPU has at least this many lines; a group's missing heads are zero."""
BLOCK = 64
"""Columns that are read at once."""


def attend_step(
    query: Any, keys: Any, values: Any, n_columns: Any, scale: float, far: tuple[Any, Any] | None
) -> Any:
    """Return [slots, groups, heads of the group, size]: attention of one token of each row.

    `query` is [slots, groups, heads of the group, size], keys and values [slots, groups, columns, size]. Row
    r reads its first `n_columns[r]` columns. `far`: the result over the shared prefix, and its log-sum-exps.
    """
    import torch

    from assay.backends.hf import gpu_kernels

    slots, groups, heads, size = query.shape
    out = torch.empty(query.shape, dtype=query.dtype, device=query.device)
    before, total = (out, n_columns) if far is None else far
    with torch.cuda.device_of(query):
        gpu_kernels.attend_step[(slots, groups)](
            query,
            keys,
            values,
            n_columns,
            before,
            total,
            out,
            scale,
            *query.stride()[:3],
            *keys.stride()[:3],
            *values.stride()[:3],
            *before.stride()[:3],
            *(total.stride()[:3] if far is not None else (0, 0, 0)),
            *out.stride()[:3],
            heads=heads,
            heads_width=max(LEAST_HEADS, round_up_to_power(heads)),
            size=size,
            size_width=max(16, round_up_to_power(size)),
            block=BLOCK,
            has_far=far is not None,
        )
    return out
