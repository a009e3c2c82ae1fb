"""Kernels for what a model computes between its products on a GPU.

Written out in torch, a norm is eight kernels, the rotation of queries and keys ten, and a gated activation
two; here each is one. The kernels round where a model's code rounds, so that half precision gives the same
numbers.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

_GATE_BLOCK = 1024
"""Numbers of a row that one program of the gate computes."""


def has_compiler() -> bool:
    """Return whether the compiler for kernels is installed, as it is with torch for GPUs."""
    return find_spec("triton") is not None


def normalize(states: Any, weight: Any, eps: float, *, rounds_first: bool, offset: float) -> Any:
    """Return states divided by their root mean square, times weight + offset; over the last dimension.

    With `rounds_first`, the quotient is rounded to the type of the states before it is multiplied.
    """
    import torch

    from assay.backends.hf.gpu_kernels import normalize_rows

    rows = _flatten(states)
    out = rows.new_empty(rows.shape)
    with torch.cuda.device_of(rows):
        normalize_rows[(len(rows),)](
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


def rotate(query: Any, key: Any, cos: Any, sin: Any) -> tuple[Any, Any]:
    """Return the rotated queries and keys: [rows, heads, tokens, size].

    Cosine and sine are [rows or 1, tokens, size], with the same strides. In memory, the rows of a head are
    adjacent, as attention to a shared prefix reads them.
    """
    import torch

    from assay.backends.hf.gpu_kernels import rotate_heads

    rows, _, n_tokens, size = query.shape
    new_query, new_key = (
        part.new_empty((part.shape[1], rows, n_tokens, size)).transpose(0, 1) for part in (query, key)
    )
    with torch.cuda.device_of(query):
        rotate_heads[(rows * n_tokens,)](
            *(query, key, new_query, new_key),
            *(part.stride(n) for part in (query, key, new_query, new_key) for n in (0, 1, 2)),
            *(cos, sin),
            cos.stride(0) if len(cos) > 1 else 0,
            cos.stride(1),
            n_tokens,
            n_query=query.shape[1],
            n_key=key.shape[1],
            heads_width=round_up_to_power(max(query.shape[1], key.shape[1])),
            half=size // 2,
            half_width=round_up_to_power(size // 2),
        )
    return new_query, new_key


def gate(both: Any) -> Any:
    """Return silu(gate) * up for gate and up one after the other in the last dimension."""
    import torch

    from assay.backends.hf.gpu_kernels import gate_rows

    *shape, width = both.shape
    rows = _flatten(both)
    out = both.new_empty((*shape, width // 2))
    grid = len(rows), -(-width // 2 // _GATE_BLOCK)
    with torch.cuda.device_of(rows):
        gate_rows[grid](rows, out, rows.stride(0), width=width // 2, block=_GATE_BLOCK)
    return out


def _flatten(states: Any) -> Any:
    """Return [rows, size], where the numbers of a row are adjacent."""
    rows = states.reshape(-1, states.shape[-1])
    return rows if rows.stride(1) == 1 else rows.contiguous()


def round_up_to_power(number: int) -> int:
    """Return the next power of two."""
    return 1 << (number - 1).bit_length()
