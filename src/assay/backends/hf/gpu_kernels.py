"""Kernels for a GPU, in Triton. The only file that imports it.

The modules that launch them say what they compute: `fused_kernels`, `tree_attention` and `step_attention`.
Numbers that change from batch to batch are not specialized: each would make another program.
"""

from __future__ import annotations

import triton
import triton.language as tl

_CHANGING = [
    *(f"{name}_{part}" for name in ("query", "key", "new_query", "new_key") for part in ("row", "head")),
    "angle_row",
    "n_tokens",
]


@triton.jit  # type: ignore[untyped-decorator]
def normalize_rows(  # type: ignore[no-untyped-def]
    states, weight, out, states_row, eps, offset,
    width: tl.constexpr, block: tl.constexpr, rounds_first: tl.constexpr,
):  # fmt: skip
    """Normalize rows; a program computes one row."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, block)
    is_used = at < width
    numbers = tl.load(states + row * states_row + at, mask=is_used, other=0.0).to(tl.float32)
    factor = tl.load(weight + at, mask=is_used, other=0.0).to(tl.float32) + offset
    numbers = numbers * tl.rsqrt(tl.sum(numbers * numbers, 0) / width + eps)
    kind = out.dtype.element_ty
    if rounds_first:
        numbers = numbers.to(kind).to(tl.float32)
    tl.store(out + row * width + at, (numbers * factor).to(kind), mask=is_used)


@triton.jit(do_not_specialize=_CHANGING)  # type: ignore[untyped-decorator]
def rotate_heads(  # type: ignore[no-untyped-def]
    query, key, new_query, new_key,
    query_row, query_head, query_token, key_row, key_head, key_token,
    new_query_row, new_query_head, new_query_token, new_key_row, new_key_head, new_key_token,
    cos, sin, angle_row, angle_token, n_tokens,
    n_query: tl.constexpr, n_key: tl.constexpr,
    heads_width: tl.constexpr, half: tl.constexpr, half_width: tl.constexpr,
):  # fmt: skip
    """Rotate queries and keys; a program rotates all heads of one token."""
    row, token = (tl.program_id(0) // n_tokens).to(tl.int64), (tl.program_id(0) % n_tokens).to(tl.int64)
    head, at = tl.arange(0, heads_width)[:, None].to(tl.int64), tl.arange(0, half_width)[None, :]
    is_used = at < half
    angle = row * angle_row + token * angle_token + at
    cos_1 = tl.load(cos + angle, mask=is_used, other=0.0).to(tl.float32)
    cos_2 = tl.load(cos + angle + half, mask=is_used, other=0.0).to(tl.float32)
    sin_1 = tl.load(sin + angle, mask=is_used, other=0.0).to(tl.float32)
    sin_2 = tl.load(sin + angle + half, mask=is_used, other=0.0).to(tl.float32)
    kind = new_query.dtype.element_ty
    for part in tl.static_range(2):
        if part == 0:
            old = query + row * query_row + token * query_token + head * query_head + at
            new = new_query + row * new_query_row + token * new_query_token + head * new_query_head + at
            is_read = is_used & (head < n_query)
        else:
            old = key + row * key_row + token * key_token + head * key_head + at
            new = new_key + row * new_key_row + token * new_key_token + head * new_key_head + at
            is_read = is_used & (head < n_key)
        first = tl.load(old, mask=is_read, other=0.0).to(tl.float32)
        second = tl.load(old + half, mask=is_read, other=0.0).to(tl.float32)
        front = (first * cos_1).to(kind).to(tl.float32) - (second * sin_1).to(kind).to(tl.float32)
        back = (second * cos_2).to(kind).to(tl.float32) + (first * sin_2).to(kind).to(tl.float32)
        tl.store(new, front.to(kind), mask=is_read)
        tl.store(new + half, back.to(kind), mask=is_read)


@triton.jit  # type: ignore[untyped-decorator]
def gate_rows(  # type: ignore[no-untyped-def]
    both, out, both_row, width: tl.constexpr, block: tl.constexpr
):
    """Compute silu(gate) * up; a program computes a block of one row."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * block + tl.arange(0, block)
    is_used = at < width
    gate = tl.load(both + row * both_row + at, mask=is_used, other=0.0).to(tl.float32)
    up = tl.load(both + row * both_row + width + at, mask=is_used, other=0.0).to(tl.float32)
    kind = out.dtype.element_ty
    gated = (gate / (1.0 + tl.exp(-gate))).to(kind).to(tl.float32)
    tl.store(out + row * width + at, (gated * up).to(kind), mask=is_used)


@triton.jit  # type: ignore[untyped-decorator]
def read_block(  # type: ignore[no-untyped-def]
    queries, keys, values, is_read, is_visible, scale, highest, total, weighted, is_whole: tl.constexpr
):
    """Continue the softmax with one block of keys and values."""
    key = tl.load(keys, mask=is_read, other=0.0)
    scores = tl.dot(queries, tl.trans(key), input_precision="ieee") * scale
    if not is_whole:
        scores = tl.where(is_visible, scores, float("-inf"))
    higher = tl.maximum(highest, tl.max(scores, 1))
    weights = tl.exp2(scores - higher[:, None])
    shrink = tl.exp2(highest - higher)
    value = tl.load(values, mask=is_read, other=0.0)
    weighted = tl.dot(weights.to(value.dtype), value, weighted * shrink[:, None], input_precision="ieee")
    return higher, total * shrink + tl.sum(weights, 1), weighted


@triton.jit(do_not_specialize=["order_row", "n_tokens", "n_prefix"])  # type: ignore[untyped-decorator]
def attend_trees(  # type: ignore[no-untyped-def]
    query, keys, values, prefix_keys, prefix_values, out, ends, order, n_every, n_some, scale,
    query_head, query_row, keys_group, keys_row, values_group, values_row,
    prefix_keys_group, prefix_keys_row, prefix_values_group, prefix_values_row,
    order_row, n_tokens, n_prefix,
    heads: tl.constexpr, per_group: tl.constexpr, size: tl.constexpr, width: tl.constexpr,
    block_queries: tl.constexpr, block_keys: tl.constexpr,
):  # fmt: skip
    """Attend to a prefix and to trees of tokens; a program computes one head of a block of queries."""
    block, head = tl.program_id(0), tl.program_id(1)
    group = (head // per_group).to(tl.int64)
    row = block * block_queries + tl.arange(0, block_queries)
    at, column = tl.arange(0, width), tl.arange(0, block_keys)
    is_used = (row < n_tokens)[:, None] & (at < size)[None, :]
    query += head.to(tl.int64) * query_head
    queries = tl.load(query + row[:, None].to(tl.int64) * query_row + at[None, :], mask=is_used, other=0.0)
    # Finite, so that a block in which a token is_visible nothing changes nothing.
    highest = tl.full([block_queries], -1.0e30, tl.float32)
    total = tl.zeros([block_queries], tl.float32)
    weighted = tl.zeros([block_queries, width], tl.float32)
    keys += group * keys_group + at[None, :]
    values += group * values_group + at[None, :]
    prefix_keys += group * prefix_keys_group + at[None, :]
    prefix_values += group * prefix_values_group + at[None, :]
    n_blocks = tl.load(n_every + block)
    n_all = n_blocks + tl.load(n_some + block)
    order += block * order_row
    is_part = (at < size)[None, :]

    for begin in range(0, n_prefix, block_keys):
        place = begin + column
        is_place = place < n_prefix
        highest, total, weighted = read_block(
            queries, prefix_keys + place[:, None] * prefix_keys_row,
            prefix_values + place[:, None] * prefix_values_row, is_place[:, None] & is_part,
            is_place[None, :], scale, highest, total, weighted, is_whole=False,
        )  # fmt: skip
    for number in range(0, n_blocks):
        place = (tl.load(order + number) * block_keys + column).to(tl.int64)
        highest, total, weighted = read_block(
            queries, keys + place[:, None] * keys_row, values + place[:, None] * values_row, is_part,
            is_part, scale, highest, total, weighted, is_whole=True,
        )  # fmt: skip
    for number in range(n_blocks, n_all):
        place = tl.load(order + number) * block_keys + column
        is_place = place < n_tokens
        end = tl.load(ends + place, mask=is_place, other=0)
        place = place.to(tl.int64)
        highest, total, weighted = read_block(
            queries, keys + place[:, None] * keys_row, values + place[:, None] * values_row,
            is_place[:, None] & is_part, (place[None, :] <= row[:, None]) & (row[:, None] < end[None, :]),
            scale, highest, total, weighted, is_whole=False,
        )  # fmt: skip
    # Lines after the last token have no weights, and are not stored.
    total = tl.where(total > 0, total, 1.0)
    result = (weighted / total[:, None]).to(out.dtype.element_ty)
    out += (row[:, None].to(tl.int64) * heads + head) * size + at[None, :]
    tl.store(out, result, mask=is_used)


@triton.jit(do_not_specialize=["total_slot", "total_group", "total_head"])  # type: ignore[untyped-decorator]
def attend_step(  # type: ignore[no-untyped-def]
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
    """Attend from one token of each row; a program computes one group of heads of one row."""
    slot, group = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    head, at, column = tl.arange(0, heads_width), tl.arange(0, size_width), tl.arange(0, block)
    is_head = head < heads
    is_used = is_head[:, None] & (at < size)[None, :]
    query += slot * query_slot + group * query_group
    queries = tl.load(query + head[:, None] * query_head + at[None, :], mask=is_used, other=0.0)
    if has_far:
        far += slot * far_slot + group * far_group
        far_total += slot * total_slot + group * total_group
        highest = tl.load(far_total + head * total_head, mask=is_head, other=0.0).to(tl.float32)
        weighted = tl.load(far + head[:, None] * far_head + at[None, :], mask=is_used, other=0.0)
        weighted = weighted.to(tl.float32)
        total = tl.full([heads_width], 1.0, tl.float32)
    else:
        highest = tl.full([heads_width], float("-inf"), tl.float32)
        weighted = tl.zeros([heads_width, size_width], tl.float32)
        total = tl.zeros([heads_width], tl.float32)
    keys += slot * keys_slot + group * keys_group
    values += slot * values_slot + group * values_group
    n = tl.load(n_columns + slot)
    for begin in range(0, n, block):
        place = begin + column
        is_column = place < n
        is_read = is_column[:, None] & (at < size)[None, :]
        key = tl.load(keys + place[:, None] * keys_column + at[None, :], mask=is_read, other=0.0)
        scores = tl.dot(queries, tl.trans(key), input_precision="ieee") * scale
        scores = tl.where(is_column[None, :], scores, float("-inf"))
        higher = tl.maximum(highest, tl.max(scores, 1))
        shrink = tl.exp(highest - higher)
        weights = tl.exp(scores - higher[:, None])
        total = total * shrink + tl.sum(weights, 1)
        value = tl.load(values + place[:, None] * values_column + at[None, :], mask=is_read, other=0.0)
        read = tl.dot(weights.to(value.dtype), value, input_precision="ieee")
        weighted = weighted * shrink[:, None] + read
        highest = higher
    out += slot * out_slot + group * out_group
    result = (weighted / total[:, None]).to(out.dtype.element_ty)
    tl.store(out + head[:, None] * out_head + at[None, :], result, mask=is_used)
