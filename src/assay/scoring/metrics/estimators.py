"""Estimates from several samples of one answer: pass@k and variants, and the majority vote.

n samples were drawn, c of them are right, k is the number to estimate for. k > n is a ValueError, not 1: k
samples cannot be estimated from fewer.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TypeVar

ValueT = TypeVar("ValueT", bound=Hashable)


def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the chance that k samples contain a right one: 1 - C(n - c, k) / C(n, k), unbiased."""
    return g_pass_at_k(n, c, k, 0.0)


def g_pass_at_k(n: int, c: int, k: int, threshold: float) -> float:
    """Return G-Pass@k: the chance that at least `threshold` · k of k samples, and at least one, are right."""
    _check(n, c, k)
    if not 0 <= threshold <= 1:
        raise ValueError(f"expected a threshold from 0 to 1, not {threshold}")
    # As a float, 0.28 · 25 is slightly more than 7; the tolerance avoids requiring an eighth.
    return _chance_of_at_least(n, c, k, max(1, math.ceil(threshold * k - 1e-9)))


def mg_pass_at_k(n: int, c: int, k: int) -> float:
    """Return mG-Pass@k: 2/k times the sum of G-Pass@k over thresholds i/k for i from ceil(k/2) + 1 to k.

    For k = 1 there is no such i, so it is 0.
    """
    _check(n, c, k)
    return 2 / k * math.fsum(_chance_of_at_least(n, c, k, i) for i in range(math.ceil(k / 2) + 1, k + 1))


def _check(n: int, c: int, k: int) -> None:
    if not 1 <= k <= n:
        raise ValueError(f"pass@{k} cannot be estimated from {n} samples: it needs 1 <= k <= n")
    if not 0 <= c <= n:
        raise ValueError(f"{c} of {n} samples cannot be right: it needs 0 <= c <= n")


def _chance_of_at_least(n: int, c: int, k: int, wanted: int) -> float:
    """Return the chance that k drawn from n, of which c are right, contain at least `wanted` right ones."""
    ways = sum(math.comb(c, right) * math.comb(n - c, k - right) for right in range(wanted, min(c, k) + 1))
    return ways / math.comb(n, k)


def majority(values: Iterable[ValueT]) -> ValueT:
    """Return the most frequent value; on a tie, the one seen first."""
    counts = Counter(values)
    if not counts:
        raise ValueError("a vote needs at least one value")
    return counts.most_common(1)[0][0]  # equal counts keep their order of first appearance
