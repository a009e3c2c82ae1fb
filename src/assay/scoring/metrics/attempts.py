"""What several attempts at one question are worth: pass@k, G-Pass@k, avg@k and the majority's answer.

n attempts were made, c of them are right, k is how many one would have had. An estimate of k attempts from
fewer than k does not exist: that is a ValueError, not 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TypeVar

AnswerT = TypeVar("AnswerT", bound=Hashable)


def _check(n: int, c: int, k: int) -> None:
    if k < 1 or not 0 <= c <= n:
        raise ValueError(f"expected k >= 1 and 0 <= c <= n, not n = {n}, c = {c}, k = {k}")
    if n < k:
        raise ValueError(f"k = {k} attempts cannot be judged from n = {n}; make at least {k}")


def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the chance that at least one of k attempts is right: 1 - C(n - c, k) / C(n, k), unbiased."""
    return g_pass_at_k(n, c, k, 0.0)


def g_pass_at_k(n: int, c: int, k: int, threshold: float) -> float:
    """Return the chance that at least a share `threshold` of k attempts, and at least one, is right.

    G-Pass@k: the tail of the hypergeometric distribution from max(1, ceil(threshold · k)).
    """
    _check(n, c, k)
    if not 0 <= threshold <= 1:
        raise ValueError(f"expected a threshold from 0 to 1, not {threshold}")
    # As floats, 0.55 · 20 is a little more than 11; the tolerance keeps it from asking for a twelfth.
    return _at_least(n, c, k, max(1, math.ceil(threshold * k - 1e-9)))


def mg_pass_at_k(n: int, c: int, k: int) -> float:
    """Return mG-Pass@k: 2/k times the sum of G-Pass@k over thresholds i/k for i from ceil(k/2) + 1 to k.

    For k = 1 there is no such i, and it is 0.
    """
    _check(n, c, k)
    return 2 / k * math.fsum(_at_least(n, c, k, i) for i in range(math.ceil(k / 2) + 1, k + 1))


def _at_least(n: int, c: int, k: int, wanted: int) -> float:
    """Return the chance that k drawn from n, of which c are right, hold at least `wanted` right ones."""
    ways = sum(math.comb(c, right) * math.comb(n - c, k - right) for right in range(wanted, min(c, k) + 1))
    return ways / math.comb(n, k)


def avg_at_k(scores: Sequence[float], k: int) -> float:
    """Return the mean of the first k attempts' scores."""
    if not 1 <= k <= len(scores):
        raise ValueError(f"k = {k} attempts cannot be averaged from n = {len(scores)}")
    return math.fsum(scores[:k]) / k


def majority(answers: Sequence[AnswerT], k: int | None = None) -> AnswerT:
    """Return the most frequent of the first k answers (by default all); of several the one given first."""
    size = len(answers) if k is None else k
    if not 1 <= size <= len(answers):
        raise ValueError(f"k = {size} attempts cannot vote where there are n = {len(answers)}")
    return Counter(answers[:size]).most_common(1)[0][0]
