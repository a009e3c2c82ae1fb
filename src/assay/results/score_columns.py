"""The scores of a run as columns of numbers, compact enough to pair a million samples of two runs in memory.

Texts stay in the file: a column has the offset of each line and a hash of each sample id.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Collection
from pathlib import Path
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from assay.core.score import Ratio, Score, Verdict
from assay.results.damaged_files import make_line_reader
from assay.results.store import SCORES

Places: TypeAlias = NDArray[np.int64]
_ABSENT = math.nan
_HASH_BYTES = 16
"""Long enough that two ids never collide."""


class Keys:
    """A list of hashed names that can be matched with another list."""

    def __init__(self) -> None:
        self._hashes = bytearray()

    def append(self, name: str) -> None:
        """Add a name."""
        self._hashes += hashlib.blake2b(name.encode(), digest_size=_HASH_BYTES).digest()

    def __len__(self) -> int:
        return len(self._hashes) // _HASH_BYTES

    def digests(self) -> NDArray[np.uint64]:
        """Return the first eight bytes of each hash, the same on every machine."""
        return np.frombuffer(bytes(self._hashes), dtype="<u8")[::2].astype(np.uint64)

    def match(self, other: Keys) -> tuple[Places, Places]:
        """Return the places of shared names in this list and in the other, in this list's order.

        The names of one list must be unique, as sample ids are.
        """
        if self._hashes == other._hashes:
            every = np.arange(len(self), dtype=np.int64)
            return every, every
        both = np.concatenate([self._numbers(), other._numbers()])
        # The sort is stable: a shared name of this list comes right before that of the other list.
        order = np.lexsort((both[:, 1], both[:, 0]))
        is_same = np.all(both[order[:-1]] == both[order[1:]], axis=1)
        mine, theirs = order[:-1][is_same], order[1:][is_same] - len(self)
        is_shared = (mine < len(self)) & (theirs >= 0)
        mine, theirs = mine[is_shared], theirs[is_shared]
        in_order = np.argsort(mine)
        return mine[in_order].astype(np.int64), theirs[in_order].astype(np.int64)

    def count_repeated(self) -> int:
        """Return how many names occur before in the list."""
        return len(self) - len(np.unique(self._numbers(), axis=0)) if len(self) else 0

    def n_equal(self, other: Keys, here: Places, there: Places) -> int:
        """Return how many names at these places equal those at the other list's places."""
        return int(np.sum(np.all(self._numbers()[here] == other._numbers()[there], axis=1)))

    def _numbers(self) -> NDArray[np.uint64]:
        return np.frombuffer(bytes(self._hashes), dtype=np.uint64).reshape(-1, 2)


class RatioColumn:
    """The numerators and denominators of a ratio of sums."""

    def __init__(self, *, is_exponential: bool) -> None:
        self.is_exponential = is_exponential
        self.numerators = array("d")
        self.denominators = array("d")

    def reach(self, n: int) -> None:
        """Extend the column to n samples."""
        missing = n - len(self.numerators)
        self.numerators.extend([_ABSENT] * missing)
        self.denominators.extend([_ABSENT] * missing)


class ScoreColumns:
    """All scores of one task by one method, in the order of the file."""

    def __init__(self) -> None:
        self.keys = Keys()
        self.places = array("q")
        """The offset of each score's line."""
        self.verdicts = bytearray()
        self.clusters = array("q")
        """Hashes of the clusters' names; -1 for a sample without a cluster."""
        self.group_names: dict[str, int] = {}
        """The groups of the samples, in order, each with its number."""
        self.groups = array("i")
        """The number of each sample's group; -1 for a sample without a group."""
        self.means: dict[str, array[float]] = {}
        """Values of metrics that are means over samples; NaN for samples without a value."""
        self.ratios: dict[str, RatioColumn] = {}
        self.deciding: dict[str, None] = {}
        """The headline metrics of the samples, in order."""

    def __len__(self) -> int:
        return len(self.places)

    def add(self, line: _ScoreLine | Score, place: int) -> None:
        """Add a score; `place` is where it is stored, such as an offset in its file."""
        n = len(self)
        self.keys.append(line.sample_id)
        self.places.append(place)
        verdict = line.verdict
        self.verdicts.append(_VERDICTS[verdict])
        self.clusters.append(-1 if line.cluster is None else _hash_cluster(line.cluster))
        number = -1 if line.group is None else self.group_names.setdefault(line.group, len(self.group_names))
        self.groups.append(number)
        self.deciding[line.metric] = None
        if verdict is Verdict.FAILED:
            return
        for name, ratio in line.ratios.items():
            column = self.ratios.get(name)
            if column is None:
                column = self.ratios[name] = RatioColumn(is_exponential=ratio.is_exponential)
            column.reach(n)
            column.numerators.append(ratio.numerator)
            column.denominators.append(ratio.denominator)
        value = 0.0 if verdict is Verdict.UNANSWERED else line.value
        if value is not None and verdict is not Verdict.UNGRADED and line.metric not in line.ratios:
            self._put(line.metric, value, n)
        for name, other in line.also.items():
            if name != line.metric:
                self._put(name, other, n)

    def _put(self, metric: str, value: float, n: int) -> None:
        column = self.means.get(metric)
        if column is None:
            column = self.means[metric] = array("d")
        column.extend([_ABSENT] * (n - len(column)))
        column.append(value)

    def finish(self) -> None:
        """Extend all columns to the same length, after the last score."""
        for column in self.means.values():
            column.extend([_ABSENT] * (len(self) - len(column)))
        for ratio in self.ratios.values():
            ratio.reach(len(self))

    def mask_verdict(self, verdict: Verdict) -> NDArray[np.bool_]:
        """Return which samples have a verdict."""
        mask: NDArray[np.bool_] = np.frombuffer(bytes(self.verdicts), dtype=np.uint8) == _VERDICTS[verdict]
        return mask


class RunColumns:
    """The scores of a run by task and method."""

    def __init__(self, folder: Path, methods: Collection[str] | None = None) -> None:
        self.path = folder / SCORES
        self.by_method: dict[tuple[str, str], ScoreColumns] = {}
        self._read_score = make_line_reader(self.path, Score)
        read = make_line_reader(self.path, _ScoreLine)
        place = 0
        with open(self.path, "rb") as lines:
            for line in lines:
                if line.endswith(b"\n"):
                    score = read(place, line)
                    if methods is None or score.track in methods:
                        self._columns(score.task, score.track).add(score, place)
                place += len(line)
        for columns in self.by_method.values():
            columns.finish()

    def _columns(self, task: str, track: str) -> ScoreColumns:
        columns = self.by_method.get((task, track))
        if columns is None:
            columns = self.by_method[task, track] = ScoreColumns()
        return columns

    def scores(self, columns: ScoreColumns, rows: Collection[int]) -> list[Score]:
        """Return complete scores by their rows."""
        scores = []
        with open(self.path, "rb") as file:
            for row in rows:
                place = columns.places[row]
                file.seek(place)
                scores.append(self._read_score(place, file.readline()))
        return scores


class _ScoreLine(msgspec.Struct, frozen=True):
    """The numeric part of a line of scores.jsonl."""

    task: str
    sample_id: str
    track: str
    metric: str
    verdict: Verdict
    value: float | None = None
    also: dict[str, float] = {}
    ratios: dict[str, Ratio] = {}
    group: str | None = None
    cluster: str | None = None


_VERDICTS = {verdict: number for number, verdict in enumerate(Verdict)}


def _hash_cluster(cluster: str) -> int:
    """Return a non-negative number for a cluster's name, the same in every run."""
    return int.from_bytes(hashlib.blake2b(cluster.encode(), digest_size=8).digest()) >> 1
