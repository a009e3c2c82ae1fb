"""What an author's code draws from the global generators, made to depend on a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from assay.core.ids import rank


@contextmanager
def seeded_draws(seed: int, *parts: str) -> Iterator[Callable[..., None]]:
    """Let the global generators draw from a seed inside; leaves them as they were.

    Yields a function that seeds them anew, for one row: a draw then depends on the seed and the row alone,
    and not on which rows came before.
    """
    known, known_np = random.getstate(), np.random.get_state()

    def seed_for(*more: str) -> None:
        number = rank(seed, *parts, *more)
        random.seed(number)  # noqa: TID251 (what an author's code draws from)
        np.random.seed(number % (1 << 32))

    seed_for()
    try:
        yield seed_for
    finally:
        random.setstate(known)
        np.random.set_state(known_np)
