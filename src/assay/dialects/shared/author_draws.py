"""Seeding of the global random generators for authors' code."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from assay.core.ids import rank


@contextmanager
def seeded_draws(seed: int, *parts: str) -> Iterator[Callable[..., None]]:
    """Seed the global generators inside the context, and restore their state afterwards.

    Yields a function that seeds them again for one row, so that a draw depends only on the seed and the row,
    not on earlier rows.
    """
    known, known_np = random.getstate(), np.random.get_state()

    def seed_for(*more: str) -> None:
        number = rank(seed, *parts, *more)
        random.seed(number)  # noqa: TID251 (authors' code uses the global generator)
        np.random.seed(number % (1 << 32))

    seed_for()
    try:
        yield seed_for
    finally:
        random.setstate(known)
        np.random.set_state(known_np)
