"""Attention of one generation step on a GPU: each row's newest token reads the row's own keys and values.

torch's kernels compute whole blocks of queries, and read all columns with a mask. Here each row reads only
the columns that it has, once for all heads of a group, so a step takes as long as reading that memory. The
result over a shared prefix is continued, not merged afterwards.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from assay.backends.hf.step_kernels import round_up_to_power

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

    slots, groups, heads, size = query.shape
    out = torch.empty(query.shape, dtype=query.dtype, device=query.device)
    before, total = (out, n_columns) if far is None else far
    _compile()[(slots, groups)](
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


@cache
def _compile() -> Any:
    """Return the kernel; a program computes one group of heads of one row."""
    import triton
    import triton.language as tl

    @triton.jit  # type: ignore[untyped-decorator]
    def attend(  # type: ignore[no-untyped-def]
        query, keys, values, n_columns, far, far_total, out, scale,
        query_slot, query_group, query_head,
        keys_slot, keys_group, keys_column,
        values_slot, values_group, values_column,
        far_slot, far_group, far_head,
        total_slot, total_group, total_head,
        out_slot, out_group, out_head,
        heads: tl.constexpr, heads_width: tl.constexpr, size: tl.constexpr, size_width: tl.constexpr,
        block: tl.constexpr, has_far: tl.constexpr,
    ):  # fmt: skip
        slot, group = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
        head, at, column = tl.arange(0, heads_width), tl.arange(0, size_width), tl.arange(0, block)
        is_head = head < heads
        is_used = is_head[:, None] & (at < size)[None, :]
        query += slot * query_slot + group * query_group
        asked = tl.load(query + head[:, None] * query_head + at[None, :], mask=is_used, other=0.0)
        if has_far:
            far += slot * far_slot + group * far_group
            far_total += slot * total_slot + group * total_group
            highest = tl.load(far_total + head * total_head, mask=is_head, other=0.0).to(tl.float32)
            weighed = tl.load(far + head[:, None] * far_head + at[None, :], mask=is_used, other=0.0)
            weighed = weighed.to(tl.float32)
            total = tl.full([heads_width], 1.0, tl.float32)
        else:
            highest = tl.full([heads_width], float("-inf"), tl.float32)
            weighed = tl.zeros([heads_width, size_width], tl.float32)
            total = tl.zeros([heads_width], tl.float32)
        keys += slot * keys_slot + group * keys_group
        values += slot * values_slot + group * values_group
        n = tl.load(n_columns + slot)
        for begin in range(0, n, block):
            place = begin + column
            is_column = place < n
            is_read = is_column[:, None] & (at < size)[None, :]
            key = tl.load(keys + place[:, None] * keys_column + at[None, :], mask=is_read, other=0.0)
            scores = tl.dot(asked, tl.trans(key), input_precision="ieee") * scale
            scores = tl.where(is_column[None, :], scores, float("-inf"))
            higher = tl.maximum(highest, tl.max(scores, 1))
            shrink = tl.exp(highest - higher)
            weights = tl.exp(scores - higher[:, None])
            total = total * shrink + tl.sum(weights, 1)
            value = tl.load(values + place[:, None] * values_column + at[None, :], mask=is_read, other=0.0)
            read = tl.dot(weights.to(value.dtype), value, input_precision="ieee")
            weighed = weighed * shrink[:, None] + read
            highest = higher
        out += slot * out_slot + group * out_group
        result = (weighed / total[:, None]).to(out.dtype.element_ty)
        tl.store(out + head[:, None] * out_head + at[None, :], result, mask=is_used)

    return attend
