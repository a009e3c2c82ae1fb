"""Kernels for the one token of each row that a generation step computes on a GPU.

Written out in torch, a norm is eight kernels, the rotation of queries and keys ten, and a gated activation
two; here each is one. The kernels round where a model's code rounds, so that half precision gives the same
numbers.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

_GATE_BLOCK = 1024
"""Numbers of a row that one program of the gate computes."""


def has_compiler() -> bool:
    """Return whether the compiler for kernels is installed, as it is with torch for GPUs."""
    return find_spec("triton") is not None


def normalize_step(states: Any, weight: Any, eps: float, *, rounds_first: bool, offset: float) -> Any:
    """Return states divided by their root mean square, times weight + offset; over the last dimension.

    With `rounds_first`, the quotient is rounded to the type of the states before it is multiplied.
    """
    rows = states.reshape(-1, states.shape[-1])
    out = rows.new_empty(rows.shape)
    _compile_norm()[(len(rows),)](
        rows,
        weight,
        out,
        rows.stride(0),
        eps,
        offset,
        width=rows.shape[1],
        block=round_up_to_power(rows.shape[1]),
        rounds_first=rounds_first,
    )
    return out.view(states.shape)


def rotate_step(query: Any, key: Any, cos: Any, sin: Any) -> tuple[Any, Any]:
    """Return the rotated queries and keys of one token of each row: [rows, heads, 1, size].

    Cosine and sine are [rows, 1, size], with the same strides. In memory, the rows of a head are adjacent, as
    attention to a shared prefix reads them.
    """
    rows, _, _, size = query.shape
    rotated = tuple(part.new_empty((part.shape[1], rows, 1, size)).transpose(0, 1) for part in (query, key))
    strides = (number for part in (query, key, *rotated) for number in part.stride()[:2])
    _compile_rotation()[(rows,)](
        query,
        key,
        *rotated,
        *strides,
        cos,
        sin,
        cos.stride(0),
        n_query=query.shape[1],
        n_key=key.shape[1],
        heads_width=round_up_to_power(max(query.shape[1], key.shape[1])),
        half=size // 2,
        half_width=round_up_to_power(size // 2),
    )
    return rotated


def gate_step(both: Any) -> Any:
    """Return silu(gate) * up for [rows, 1, gate and up]."""
    rows, _, width = both.shape
    out = both.new_empty((rows, 1, width // 2))
    grid = rows, -(-width // 2 // _GATE_BLOCK)
    _compile_gate()[grid](both, out, both.stride(0), width=width // 2, block=_GATE_BLOCK)
    return out


def round_up_to_power(number: int) -> int:
    """Return the next power of two."""
    return 1 << (number - 1).bit_length()


@cache
def _compile_norm() -> Any:
    """Return the kernel; a program computes one row."""
    import triton
    import triton.language as tl

    @triton.jit  # type: ignore[untyped-decorator]
    def normalize(  # type: ignore[no-untyped-def]
        states, weight, out, states_row, eps, offset,
        width: tl.constexpr, block: tl.constexpr, rounds_first: tl.constexpr,
    ):  # fmt: skip
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

    return normalize


@cache
def _compile_rotation() -> Any:
    """Return the kernel; a program rotates all queries and keys of one row."""
    import triton
    import triton.language as tl

    @triton.jit  # type: ignore[untyped-decorator]
    def rotate(  # type: ignore[no-untyped-def]
        query, key, new_query, new_key,
        query_row, query_head, key_row, key_head,
        new_query_row, new_query_head, new_key_row, new_key_head,
        cos, sin, angle_row,
        n_query: tl.constexpr, n_key: tl.constexpr,
        heads_width: tl.constexpr, half: tl.constexpr, half_width: tl.constexpr,
    ):  # fmt: skip
        row = tl.program_id(0).to(tl.int64)
        head, at = tl.arange(0, heads_width)[:, None].to(tl.int64), tl.arange(0, half_width)[None, :]
        is_used = at < half
        angle = row * angle_row + at
        cos_1 = tl.load(cos + angle, mask=is_used, other=0.0).to(tl.float32)
        cos_2 = tl.load(cos + angle + half, mask=is_used, other=0.0).to(tl.float32)
        sin_1 = tl.load(sin + angle, mask=is_used, other=0.0).to(tl.float32)
        sin_2 = tl.load(sin + angle + half, mask=is_used, other=0.0).to(tl.float32)
        kind = new_query.dtype.element_ty
        for part in tl.static_range(2):
            if part == 0:
                old = query + row * query_row + head * query_head + at
                new = new_query + row * new_query_row + head * new_query_head + at
                is_read = is_used & (head < n_query)
            else:
                old = key + row * key_row + head * key_head + at
                new = new_key + row * new_key_row + head * new_key_head + at
                is_read = is_used & (head < n_key)
            first = tl.load(old, mask=is_read, other=0.0).to(tl.float32)
            second = tl.load(old + half, mask=is_read, other=0.0).to(tl.float32)
            front = (first * cos_1).to(kind).to(tl.float32) - (second * sin_1).to(kind).to(tl.float32)
            back = (second * cos_2).to(kind).to(tl.float32) + (first * sin_2).to(kind).to(tl.float32)
            tl.store(new, front.to(kind), mask=is_read)
            tl.store(new + half, back.to(kind), mask=is_read)

    return rotate


@cache
def _compile_gate() -> Any:
    """Return the kernel; a program computes a block of one row."""
    import triton
    import triton.language as tl

    @triton.jit  # type: ignore[untyped-decorator]
    def multiply(  # type: ignore[no-untyped-def]
        both, out, both_row, width: tl.constexpr, block: tl.constexpr
    ):
        row = tl.program_id(0).to(tl.int64)
        at = tl.program_id(1) * block + tl.arange(0, block)
        is_used = at < width
        gate = tl.load(both + row * both_row + at, mask=is_used, other=0.0).to(tl.float32)
        up = tl.load(both + row * both_row + width + at, mask=is_used, other=0.0).to(tl.float32)
        kind = out.dtype.element_ty
        gated = (gate / (1.0 + tl.exp(-gate))).to(kind).to(tl.float32)
        tl.store(out + row * width + at, (gated * up).to(kind), mask=is_used)

    return multiply
