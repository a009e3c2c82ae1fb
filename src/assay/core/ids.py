"""Content hashes and seeded random draws, equal on every machine."""

from __future__ import annotations

import hashlib
import random

import msgspec

_canonical = msgspec.json.Encoder(order="sorted")


def digest(value: object, *, size: int = 8) -> str:
    """Return a hex hash of a plain value or struct, independent of the order of mapping keys."""
    return hashlib.blake2b(_canonical.encode(value), digest_size=size).hexdigest()


def make_random(seed: int, *parts: str) -> random.Random:
    """Return a random generator that depends only on the seed and these names.

    It never depends on order, batch, limit or number of workers: `draw(seed, task, sample_id, purpose)`.
    """
    return random.Random(":".join((str(seed), *parts)))


def rank(seed: int, *parts: str) -> int:
    """Return a number that orders names randomly but reproducibly; smaller is earlier."""
    key = ":".join((str(seed), *parts)).encode()
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest())
