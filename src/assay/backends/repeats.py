"""Seeds for sampled texts: each text drawn for a prompt gets its own seed."""

from __future__ import annotations

from assay.core.ids import make_random
from assay.core.request import Sampling


def count_drawn_texts(sampling: Sampling) -> int:
    """Return how many texts to generate: greedy texts are identical, so one is enough."""
    return sampling.n if sampling.temperature > 0 else 1


def draw_repeat_seed(sampling: Sampling, index: int, number: int) -> int | None:
    """Return the seed of text `number` in repeat `index` of a request; None if nothing is sampled."""
    if sampling.temperature <= 0 or sampling.seed is None:
        return None
    if not (index or number):
        return sampling.seed
    return make_random(sampling.seed, "repeat", str(index), str(number)).getrandbits(31)
