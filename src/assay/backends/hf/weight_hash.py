"""A hash of weights in memory, computed where they are: a change of any single number changes it."""

from __future__ import annotations

import hashlib
from typing import Any

_CHUNK = 1 << 22
"""Numbers hashed at once, which bounds the memory needed."""
_FACTORS = (-7046029254386353131, -4417276706812531889, -8796714831421723037)
"""Odd 64-bit constants with random bits."""


def hash_weights(model: Any) -> str:
    """Return a hash of all parameters and buffers of a model, by name, shape, type and bits.

    Each chunk of a tensor is summed up modulo 2^64 with a factor per position: an odd number of random bits,
    so that a change in one place always changes the sum, and changes in several places do not cancel out.
    """
    import torch

    running = hashlib.blake2b(digest_size=16)
    sums: list[Any] = []
    factors: dict[Any, Any] = {}
    with torch.no_grad():
        for name, tensor in sorted(model.state_dict().items()):
            if not isinstance(tensor, torch.Tensor):
                running.update(repr((name, tensor)).encode())
                continue
            running.update(repr((name, tuple(tensor.shape), str(tensor.dtype))).encode())
            if tensor.device not in factors:
                factors[tensor.device] = _make_factors(tensor.device)
            sums += _sum_up(tensor, factors[tensor.device])
        for one in sums:
            running.update(int(one).to_bytes(8, "little", signed=True))
    return running.hexdigest()


def _sum_up(tensor: Any, factors: Any) -> list[Any]:
    """Return the weighted sum of the bits of each chunk, on the tensor's own device."""
    import torch

    if tensor.numel() == 0:
        return []
    integers = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    flat = tensor.detach().contiguous().view(-1)
    if tensor.is_complex():
        flat = torch.view_as_real(flat).view(-1)
    bits = flat.view(torch.uint8 if flat.dtype == torch.bool else integers[flat.element_size()])
    return [(chunk.to(torch.int64) * factors[: len(chunk)]).sum() for chunk in bits.split(_CHUNK)]


def _make_factors(device: Any) -> Any:
    """Return an odd number of 64 mixed bits for each position in a chunk."""
    import torch

    mixed = torch.arange(1, _CHUNK + 1, dtype=torch.int64, device=device)
    for factor in _FACTORS:
        mixed *= factor
        mixed ^= mixed >> 29
    return mixed | 1
