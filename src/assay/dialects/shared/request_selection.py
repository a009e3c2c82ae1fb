"""Selection of rows, repeats and answer lengths, as AISBench's meta files describe them.

AISBench draws again whenever it reads the file. In Assay every draw depends only on the seed, so that a run
is reproducible and answers are compared with their own rows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from fractions import Fraction
from itertools import cycle, islice
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import msgspec

from assay.core.ids import make_random
from assay.core.sample import Sample

MAX_TOKENS = "max_tokens"
"""The column with the maximum answer length of each row."""

SamplingMode: TypeAlias = Literal["default", "random", "shuffle"]
Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
Share: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=1)]


class Bounds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The minimum and maximum of the drawn lengths, both inclusive."""

    min_value: Positive
    max_value: Positive

    def __post_init__(self) -> None:
        if self.min_value > self.max_value:
            raise ValueError(f"min_value {self.min_value} is more than max_value {self.max_value}")


class Shares(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Lengths, each with its share of the rows."""

    percentage_distribute: Annotated[tuple[tuple[Positive, Share], ...], msgspec.Meta(min_length=1)]

    def __post_init__(self) -> None:
        total = sum(_to_fraction(share) for _, share in self.percentage_distribute)
        if total != 1:
            raise ValueError(f"the shares add up to {float(total)}, expected 1")


class UniformLengths(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="method", tag="uniform"
):
    """Lengths drawn uniformly between two bounds."""

    params: Bounds


class SharedLengths(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="method", tag="percentage"
):
    """The first rows have the first length, the next rows the second; remaining rows have the last."""

    params: Shares


OutputConfig: TypeAlias = UniformLengths | SharedLengths


def _to_fraction(share: float) -> Fraction:
    """Return a share as its decimal fraction: 0.29 is 29 of 100."""
    return Fraction(str(share))


def select_rows(
    rows: range, count: int | None, mode: SamplingMode, *, seed: int, task: str
) -> range | tuple[int, ...]:
    """Return the selected rows in order; a range if they are in the table's order.

    If more rows are requested than exist, rows repeat from the first. `random` draws from all rows, each at
    most once more often than any other; `shuffle` takes the first rows in random order.
    """
    n = len(rows) if count is None else count
    if not rows or (mode == "default" and n <= len(rows)):
        return rows[:n]
    again = list(islice(cycle(rows), max(n, len(rows)) if mode == "random" else n))
    if mode == "default":
        return tuple(again)
    return tuple(make_random(seed, task, "sampling_mode").sample(again, n))


def order_samples(by_position: Mapping[int, Sample], chosen: tuple[int, ...]) -> Iterator[Sample]:
    """Yield samples by position. A repeated sample has its own id and the cluster of the first."""
    ids = {sample.id for sample in by_position.values()}
    total, so_far = Counter(chosen), Counter[int]()
    for position in chosen:
        sample = by_position[position]
        if total[position] > 1:
            so_far[position] += 1
            sample = _repeat_sample(sample, so_far[position], ids)
        yield sample


def _repeat_sample(sample: Sample, nth: int, ids: Container[str]) -> Sample:
    """Return the nth repeat of a sample."""
    name = sample.id if nth == 1 else f"{sample.id}~{nth}"
    while nth > 1 and name in ids:
        name += "~"
    cluster = sample.id if sample.cluster is None else sample.cluster
    return msgspec.structs.replace(sample, id=name, cluster=cluster)


class AnswerLengths(NamedTuple):
    """The maximum answer length of each row, from an output config."""

    config: OutputConfig
    n_rows: int
    """Number of requested rows, including repeats."""
    seed: int
    task: str
    is_faithful: bool

    def add_lengths(self, samples: Iterator[Sample]) -> Iterator[Sample]:
        """Yield the samples with their lengths as the column `max_tokens`."""
        for place, sample in enumerate(samples):
            length = self.of(place, sample.id)
            yield msgspec.structs.replace(sample, fields={**sample.fields, MAX_TOKENS: length})

    def of(self, place: int, name: str) -> int:
        """Return the length of a row, given its position among the requested rows and its id."""
        if isinstance(self.config, UniformLengths):
            bounds = self.config.params
            return make_random(self.seed, self.task, name, "output_config").randint(
                bounds.min_value, bounds.max_value
            )
        steps = self._steps()
        return next((length for length, end in steps if place < end), steps[-1][0])

    def _steps(self) -> list[tuple[int, int]]:
        """Return each length with the position after its last row."""
        steps, end = [], 0
        if isinstance(self.config, SharedLengths):
            for length, share in self.config.params.percentage_distribute:
                # The original computes 0.29 * 100 as 28.999999999999996.
                end += math.floor((share if self.is_faithful else _to_fraction(share)) * self.n_rows)
                steps.append((length, end))
        return steps


def read_length(value: Any) -> int | None:
    """Return a row's own length, or None; raise ValueError if it is not a number of tokens."""
    given = value.strip() if isinstance(value, str) else value
    if given is None or given == "":
        return None
    try:
        return msgspec.convert(given, Positive, strict=False)
    except msgspec.ValidationError:
        raise ValueError(f"found {value!r:.60}, expected a whole number of tokens above 0") from None
