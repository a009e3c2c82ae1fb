"""A hash of weights in memory, computed where they are: a change of any single number changes it."""

from __future__ import annotations

import hashlib
from typing import Any

_CHUNK = 1 << 20
"""Numbers of 8 bytes hashed at once, which bounds the memory needed."""
_FACTORS = (-7046029254386353131, -4417276706812531889, -8796714831421723037)
"""Odd 64-bit constants with random bits."""


def hash_weights(model: Any) -> str:
    """Return a hash of all parameters and buffers of a model, by name, shape, type and bits.

    The bits of a tensor are read as numbers of 8 bytes. Each chunk of them is summed up modulo 2^64 with a
    factor per position: an odd number of random bits, so that a change in one place always changes the sum,
    and changes in several places do not cancel out. On a CPU this takes a third of the time of blake2b, and
    on a GPU the weights stay where they are.
    """
    import torch

    running = hashlib.blake2b(digest_size=16)
    sums: dict[Any, list[Any]] = {}
    factors: dict[Any, Any] = {}
    with torch.no_grad():
        for name, tensor in sorted(model.state_dict().items()):
            if not isinstance(tensor, torch.Tensor):
                running.update(repr((name, tensor)).encode())
                continue
            running.update(repr((name, tuple(tensor.shape), str(tensor.dtype))).encode())
            device = tensor.device
            if device not in factors:
                factors[device] = _make_factors(device)
            numbers, rest = _read_bits(tensor)
            running.update(rest)
            sums.setdefault(device, []).extend(
                _weigh(chunk, factors[device][: len(chunk)]) for chunk in numbers.split(_CHUNK)
            )
        for weighed in sums.values():
            running.update(torch.stack(weighed).cpu().numpy().tobytes())
    return running.hexdigest()


def _read_bits(tensor: Any) -> tuple[Any, bytes]:
    """Return the bits of a tensor as integers of 8 bytes, and the bytes after the last of them."""
    import torch

    flat = tensor.detach().contiguous().view(-1)
    if flat.is_complex():
        flat = torch.view_as_real(flat).view(-1)
    if flat.storage_offset() * flat.element_size() % 8:
        # Integers of 8 bytes must begin at a multiple of 8.
        flat = flat.clone()
    data = flat.view(torch.uint8)
    n_whole = len(data) // 8 * 8
    return data[:n_whole].view(torch.int64), data[n_whole:].cpu().numpy().tobytes()


def _weigh(numbers: Any, factors: Any) -> Any:
    """Return the sum of the products; in one pass on a CPU, where torch has a dot product of integers."""
    import torch

    return torch.dot(numbers, factors) if numbers.device.type == "cpu" else (numbers * factors).sum()


def _make_factors(device: Any) -> Any:
    """Return an odd number of 64 mixed bits for each position in a chunk."""
    import torch

    mixed = torch.arange(1, _CHUNK + 1, dtype=torch.int64, device=device)
    for factor in _FACTORS:
        mixed *= factor
        mixed ^= mixed >> 29
    return mixed | 1
