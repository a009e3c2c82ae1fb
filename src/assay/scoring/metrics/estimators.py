"""What several samples of one answer say together: pass@k and its kin, avg@k, the majority vote.

n samples of an answer were drawn, c of them are right, k is how many one would have had. What k samples do
cannot be told from fewer than k: that is a ValueError, not 1. Knows numbers only.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TypeVar

ValueT = TypeVar("ValueT", bound=Hashable)


def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the chance that k samples hold a right one: 1 - C(n - c, k) / C(n, k), which is unbiased."""
    return g_pass_at_k(n, c, k, 0.0)


def g_pass_at_k(n: int, c: int, k: int, threshold: float) -> float:
    """Return G-Pass@k: the chance that at least `threshold` · k of k samples are right, and at least one."""
    _check(n, c, k)
    if not 0 <= threshold <= 1:
        raise ValueError(f"expected a threshold from 0 to 1, not {threshold}")
    # As floats, 0.28 · 25 is a little more than 7; the tolerance keeps it from asking for an eighth.
    return _chance_of_at_least(n, c, k, max(1, math.ceil(threshold * k - 1e-9)))


def mg_pass_at_k(n: int, c: int, k: int) -> float:
    """Return mG-Pass@k: 2/k times the sum of G-Pass@k over thresholds i/k for i from ceil(k/2) + 1 to k.

    For k = 1 there is no such i, and it is 0.
    """
    _check(n, c, k)
    return 2 / k * math.fsum(_chance_of_at_least(n, c, k, i) for i in range(math.ceil(k / 2) + 1, k + 1))


def _check(n: int, c: int, k: int) -> None:
    if not 1 <= k <= n:
        raise ValueError(f"pass@{k} cannot be estimated from {n} samples: it needs 1 <= k <= n")
    if not 0 <= c <= n:
        raise ValueError(f"{c} of {n} samples cannot be right")


def _chance_of_at_least(n: int, c: int, k: int, wanted: int) -> float:
    """Return the chance that k drawn from n, of which c are right, hold at least `wanted` right ones."""
    ways = sum(math.comb(c, right) * math.comb(n - c, k - right) for right in range(wanted, min(c, k) + 1))
    return ways / math.comb(n, k)


def majority(values: Iterable[ValueT]) -> ValueT:
    """Return the value that occurs most often; of several, the one seen first."""
    counts = Counter(values)
    if not counts:
        raise ValueError("a vote needs at least one value")
    return counts.most_common(1)[0][0]  # equal counts keep the order of first sight
