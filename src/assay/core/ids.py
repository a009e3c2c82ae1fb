"""Content hashes and seeded draws: the same thing has the same name everywhere, on every machine."""

from __future__ import annotations

import hashlib
import random

import msgspec

_canonical = msgspec.json.Encoder(order="sorted")


def digest(value: object, *, size: int = 8) -> str:
    """Return a hex hash of any plain value or struct, independent of the order of mapping keys."""
    return hashlib.blake2b(_canonical.encode(value), digest_size=size).hexdigest()


def make_random(seed: int, *parts: str) -> random.Random:
    """Return a generator that depends on the seed and these names alone.

    Never on order, batch, limit or number of workers: `draw(seed, task, sample_id, purpose)`.
    """
    return random.Random(":".join((str(seed), *parts)))


def rank(seed: int, *parts: str) -> int:
    """Return a number that orders names at random but always alike; smaller is earlier."""
    key = ":".join((str(seed), *parts)).encode()
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest())
