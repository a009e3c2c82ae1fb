"""What several samples of one answer say together: pass@k and the majority vote. Knows numbers only."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TypeVar

ValueT = TypeVar("ValueT", bound=Hashable)


def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the chance that k of n samples, drawn without replacement, hold one of the c right ones.

    That is 1 - C(n-c, k) / C(n, k): the unbiased estimator of "one of k attempts succeeds". It needs n >= k.
    """
    if not 1 <= k <= n:
        raise ValueError(f"pass@{k} cannot be estimated from {n} samples: it needs 1 <= k <= n")
    if not 0 <= c <= n:
        raise ValueError(f"{c} of {n} samples cannot be right")
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def majority(values: Iterable[ValueT]) -> ValueT:
    """Return the value that occurs most often; of several, the one seen first."""
    counts = Counter(values)
    if not counts:
        raise ValueError("a vote needs at least one value")
    # A Counter keeps the order of first sight, and max returns the first of equals.
    return max(counts, key=counts.__getitem__)
