"""Seeding of the global random generators for authors' code."""

from __future__ import annotations

import random
import threading
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

    def seed_for(*more: str) -> None:
        number = rank(seed, *parts, *more)
        _seed_generators(number, number % (1 << 32))

    with _restoring_generators():
        seed_for()
        yield seed_for


@contextmanager
def fixed_draws(number: int, numpy_number: int) -> Iterator[None]:
    """Seed the global generators with an original's own numbers, and restore their state afterwards."""
    with _restoring_generators():
        _seed_generators(number, numpy_number)
        yield


def read_generators() -> tuple[object, ...]:
    """Return the state of the global generators; it changes with every draw."""
    _, keys, *others = np.random.get_state()
    return random.getstate(), np.asarray(keys).tobytes(), tuple(others)


def _seed_generators(number: int, numpy_number: int) -> None:
    random.seed(number)  # noqa: TID251 (authors' code uses the global generator)
    np.random.seed(numpy_number)


_drawing = threading.RLock()
"""Held while authors' code draws: models on servers are evaluated on several threads, which share the
generators."""


@contextmanager
def _restoring_generators() -> Iterator[None]:
    with _drawing:
        known, known_np = random.getstate(), np.random.get_state()
        try:
            yield
        finally:
            random.setstate(known)
            np.random.set_state(known_np)
