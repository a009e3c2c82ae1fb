"""Length distributions of prompts and responses: integers, bounds included.

    512    uniform:128..1024    gaussian:mean=512,var=10000,min=1,max=2048
    zipf:alpha=1.5,min=10,max=1000    percentage:128=0.3,512=0.7

A length depends only on the seed, its purpose and the number of its item. Shares are the exception: how many
items have which length is exact, and therefore depends on how many there are.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from itertools import accumulate
from statistics import NormalDist
from typing import Any, ClassVar

from assay.core.errors import Problem, UsageError, suggest_name
from assay.core.ids import make_random

MAX_LENGTH = 2**20
"""The maximum length, in tokens."""
HIGHEST_ALPHA = 10.0
_LEAST = 2.0**-1022

_FORMS = {
    "uniform": "uniform:128..1024",
    "gaussian": "gaussian:mean=512,var=10000,min=1,max=2048",
    "zipf": "zipf:alpha=1.5,min=10,max=1000",
    "percentage": "percentage:128=0.3,512=0.7",
}
_EXAMPLES = " or ".join(("512", *_FORMS.values()))


class LengthDistribution(ABC):
    """A distribution of lengths. Invalid parameters raise ValueError."""

    method: ClassVar[str]

    @property
    @abstractmethod
    def shortest(self) -> int:
        """Return the shortest possible length."""

    @abstractmethod
    def draw(self, n: int, seed: int, purpose: str) -> Callable[[int], int]:
        """Return a function from the number of an item (0 to n - 1) to its length."""


class QuantileLengths(LengthDistribution):
    """A distribution with a quantile function."""

    @abstractmethod
    def quantile(self, share: float) -> int:
        """Return the length below which at most this fraction (0 <= share < 1) of all lengths are."""

    def draw(self, n: int, seed: int, purpose: str) -> Callable[[int], int]:
        """Return a function from the number of an item to its length; it does not depend on `n`."""
        return lambda item: self.quantile(make_random(seed, purpose, str(item)).random())


class BoundedLengths(QuantileLengths):
    """A distribution between two bounds."""

    low: int
    high: int

    @property
    def shortest(self) -> int:
        """Return the lower bound."""
        return self.low


@dataclass(frozen=True)
class ConstantLength(QuantileLengths):
    """A constant length."""

    method = "constant"
    value: int

    def __post_init__(self) -> None:
        _require_length("value", self.value)

    @property
    def shortest(self) -> int:
        """Return the value."""
        return self.value

    def quantile(self, share: float) -> int:
        """Return the value."""
        return self.value


@dataclass(frozen=True)
class Uniform(BoundedLengths):
    """All lengths between the bounds are equally likely."""

    method = "uniform"
    low: int
    high: int

    def __post_init__(self) -> None:
        _require_bounds(self.low, self.high)

    def quantile(self, share: float) -> int:
        """Return a length between the bounds."""
        return self.low + int(share * (self.high - self.low + 1))


@dataclass(frozen=True)
class Gaussian(BoundedLengths):
    """A normal distribution, rounded and truncated at the bounds.

    Lengths outside the bounds are drawn again instead of clipped, so that they do not pile up at
    a bound. A mean more than 37 standard deviations outside gives the nearest bound.
    """

    method = "gaussian"
    mean: float
    variance: float
    low: int = 1
    high: int = MAX_LENGTH

    def __post_init__(self) -> None:
        _require_bounds(self.low, self.high)
        if not math.isfinite(self.mean):
            raise ValueError(f"mean is {self.mean}, expected a finite number")
        if not math.isfinite(self.variance) or self.variance < 0:
            raise ValueError(f"var is {self.variance}, expected a finite number of 0 or more")

    def quantile(self, share: float) -> int:
        """Return a length by the inverse of the truncated distribution: one step, without redrawing."""
        nearest_bound = min(max(round(self.mean), self.low), self.high)
        if self.variance == 0:
            return nearest_bound
        deviation = math.sqrt(self.variance)
        first = (self.low - 0.5 - self.mean) / deviation
        last = (self.high + 0.5 - self.mean) / deviation
        # The distribution function is exact in the lower tail: mirror what is above the mean.
        is_mirrored = first > 0
        if is_mirrored:
            first, last, share = -last, -first, 1 - share
        below, until = _compute_normal_cdf(first), _compute_normal_cdf(last)
        if until <= below:
            return nearest_bound
        # 0 and 1 themselves are infinitely far from the mean.
        at = min(max(below + share * (until - below), _LEAST), 1 - 2**-53)
        offset = NormalDist().inv_cdf(at) * deviation
        return min(max(round(self.mean - offset if is_mirrored else self.mean + offset), self.low), self.high)


@dataclass(frozen=True)
class Zipf(BoundedLengths):
    """The probability of length k is proportional to k ** -alpha, between the bounds."""

    method = "zipf"
    alpha: float
    low: int
    high: int

    def __post_init__(self) -> None:
        _require_bounds(self.low, self.high)
        if not 1 < self.alpha <= HIGHEST_ALPHA:
            raise ValueError(
                f"alpha is {self.alpha}, expected a number above 1 and at most {HIGHEST_ALPHA:g}"
            )

    def quantile(self, share: float) -> int:
        """Return a length by the cumulative weights."""
        until = _cumulate_weights(self.alpha, self.low, self.high)
        return self.low + min(bisect_right(until, share * until[-1]), len(until) - 1)


@dataclass(frozen=True)
class LengthShares(LengthDistribution):
    """Each length for exactly its share of the items, as far as whole items allow, in a seeded order."""

    method = "percentage"
    shares: tuple[tuple[int, Decimal], ...]

    def __post_init__(self) -> None:
        if not self.shares:
            raise ValueError("the list of shares is empty")
        for length, share in self.shares:
            _require_length("length", length)
            if not 0 < share <= 1:
                raise ValueError(f"the share of {length} is {share}, expected a number above 0 and at most 1")
        total = sum(share for _, share in self.shares)
        if total != 1:
            raise ValueError(f"the shares add up to {total}, expected exactly 1")

    @property
    def shortest(self) -> int:
        """Return the shortest length."""
        return min(length for length, _ in self.shares)

    def counts(self, n: int) -> tuple[int, ...]:
        """Return how many of n items have each length: the rest after rounding down goes to the largest
        remainders, among equal ones to the first.
        """
        wanted = [share * n for _, share in self.shares]
        counts = [int(part) for part in wanted]
        by_remainder = sorted(range(len(wanted)), key=lambda at: counts[at] - wanted[at])
        for at in by_remainder[: n - sum(counts)]:
            counts[at] += 1
        return tuple(counts)

    def draw(self, n: int, seed: int, purpose: str) -> Callable[[int], int]:
        """Return a function from the number of an item to its length."""
        lengths: list[int] = []
        for (length, _), count in zip(self.shares, self.counts(n), strict=True):
            lengths += [length] * count
        # Without shuffling, the load would change in the middle of the run.
        make_random(seed, purpose, "shares").shuffle(lengths)
        return lengths.__getitem__


def _require_length(name: str, value: int) -> None:
    if not 1 <= value <= MAX_LENGTH:
        raise ValueError(f"{name} is {value}, expected an integer from 1 to {MAX_LENGTH}")


def _require_bounds(low: int, high: int) -> None:
    _require_length("min", low)
    _require_length("max", high)
    if low > high:
        raise ValueError(f"min {low} is greater than max {high}")


def _compute_normal_cdf(deviations: float) -> float:
    """Return the cumulative normal distribution at this many standard deviations; exact far below 0."""
    return math.erfc(-deviations / math.sqrt(2)) / 2


@lru_cache(maxsize=4)
def _cumulate_weights(alpha: float, low: int, high: int) -> Sequence[float]:
    return tuple(accumulate(k**-alpha for k in range(low, high + 1)))


# --- the text grammar ---


def _uniform(text: str) -> LengthDistribution:
    match = re.fullmatch(r"(\d+)\.\.(\d+)", text)
    if match is None:
        raise ValueError(f"found {text!r}")
    return Uniform(int(match[1]), int(match[2]))


def _gaussian(text: str) -> LengthDistribution:
    values = _pairs(text, required=("mean", "var"), optional=("min", "max"))
    low, high = (
        _read_integer(values.get("min", "1"), "min"),
        _read_integer(values.get("max", str(MAX_LENGTH)), "max"),
    )
    return Gaussian(_number(values["mean"], "mean"), _number(values["var"], "var"), low, high)


def _zipf(text: str) -> LengthDistribution:
    values = _pairs(text, required=("alpha", "min", "max"))
    return Zipf(
        _number(values["alpha"], "alpha"),
        _read_integer(values["min"], "min"),
        _read_integer(values["max"], "max"),
    )


def _percentage(text: str) -> LengthDistribution:
    shares = []
    for part in text.split(","):
        length, equals, share = part.partition("=")
        if not equals:
            raise ValueError(f"found {part!r}")
        shares.append((_read_integer(length, "length"), parse_share(share)))
    return LengthShares(tuple(shares))


_READERS: Mapping[str, Callable[[str], LengthDistribution]] = {
    "uniform": _uniform,
    "gaussian": _gaussian,
    "zipf": _zipf,
    "percentage": _percentage,
}


def parse_lengths(text: str, flag: str) -> LengthDistribution:
    """Parse lengths; `flag` names the option for error messages."""
    given = text.strip()
    name, colon, rest = given.partition(":")
    try:
        if not colon and re.fullmatch(r"\d+", given):
            return ConstantLength(int(given))
        if name not in _READERS or not colon:
            raise ValueError(f"unknown distribution {name!r}{suggest_name(name, _READERS)}")
        return _READERS[name](rest)
    except ValueError as error:
        expected = _FORMS.get(name, _EXAMPLES)
        raise UsageError(
            Problem("BENCH-020", f"{flag}: lengths {text!r}: {error}", f"write for example {expected}")
        ) from None


def parse_share(value: Any) -> Decimal:
    """Return a share as a decimal: 0.1 is exactly a tenth."""
    try:
        share = Decimal(str(value).strip())
    except InvalidOperation:
        raise ValueError(f"the share is {value!r}, expected a number such as 0.25") from None
    if not share.is_finite():
        raise ValueError(f"the share is {value!r}, expected a number such as 0.25")
    return share


def describe_lengths(lengths: LengthDistribution) -> Mapping[str, Any]:
    """Return a distribution as plain values, for a summary."""
    fields = vars(lengths)
    if isinstance(lengths, LengthShares):
        fields = {"shares": [[length, float(share)] for length, share in lengths.shares]}
    return {"method": lengths.method, **fields}


def _pairs(text: str, *, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, str]:
    values: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or name not in required + optional:
            raise ValueError(f"found {part.strip()!r}{suggest_name(name, required + optional)}")
        if name in values:
            raise ValueError(f"{name!r} is given twice")
        values[name] = value
    lacking = [name for name in required if name not in values]
    if lacking:
        raise ValueError(f"{lacking[0]!r} is missing")
    return values


def _read_integer(text: str, name: str) -> int:
    if re.fullmatch(r"\s*\d+\s*", text) is None:
        raise ValueError(f"{name} is {text!r}, expected an integer")
    return int(text)


def _number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name} is {text!r}, expected a number") from None
