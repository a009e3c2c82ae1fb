"""Seeds of the texts that are drawn for one prompt: one seed gives one text, so each has its own."""

from __future__ import annotations

from assay.core.ids import make_random
from assay.core.request import Sampling


def count_drawn_texts(sampling: Sampling) -> int:
    """Return how many texts are to be written: greedy ones are equal, and written once."""
    return sampling.n if sampling.temperature > 0 else 1


def draw_repeat_seed(sampling: Sampling, index: int, number: int) -> int | None:
    """Return the seed of a request's text, by which repeat the request is and which of its texts it is."""
    if sampling.temperature <= 0 or sampling.seed is None:
        return None
    if not (index or number):
        return sampling.seed
    return make_random(sampling.seed, "repeat", str(index), str(number)).getrandbits(31)
