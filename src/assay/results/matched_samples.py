"""Matching the samples of two runs, even if their ids differ.

By id; if dataset formats give different ids, by the row of the file; if files differ too, by content. Only a
hash and an offset of each sample are in memory.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from assay.core.ids import digest
from assay.results.damaged_files import make_line_reader
from assay.results.growing_file import Tail
from assay.results.run_difference import MatchedBy
from assay.results.score_columns import Keys, Places
from assay.results.store import SAMPLES

_ENOUGH = 0.5
"""The share of the smaller run's samples that a way of matching must match to be accepted."""


LineT = TypeVar("LineT", "_NamedLine", "_Line")


class SampleMatch(NamedTuple):
    """The matched samples of two runs."""

    by: MatchedBy
    a: Places
    b: Places
    """Their rows in each run's list, in the first run's order."""


class SampleList:
    """The samples of a run's tasks: their offsets, and keys to match them by."""

    def __init__(self, folder: Path, names: Mapping[str, str]) -> None:
        """Read the samples of the tasks in `names`, which maps stored names to those used for matching."""
        self._path = folder / SAMPLES
        self._names = names
        self.at = array("q")
        """The offset of each sample's line."""
        self.ids = Keys()
        """The samples by task and id."""
        for place, task, line in self._lines(_NamedLine):
            self.at.append(place)
            self.ids.append(f"{task}\n{line.sample.id}")

    def __len__(self) -> int:
        return len(self.at)

    def match(self, other: SampleList) -> SampleMatch | None:
        """Return the pairs by the first way that matches enough samples; None if no way does."""
        enough = _ENOUGH * min(len(self), len(other))
        for way in (MatchedBy.ID, MatchedBy.ROW, MatchedBy.CONTENT):
            a, b = self._build_keys(way).match(other._build_keys(way))
            # Equal row numbers may belong to unrelated rows: count those with equal right answers.
            n = len(a) if way is not MatchedBy.ROW else self._answers().n_equal(other._answers(), a, b)
            if n and n >= enough:
                return SampleMatch(way, a, b)
        return None

    def _build_keys(self, way: MatchedBy) -> Keys:
        """Return the keys of one way of matching. Reads the file again, as nearly all runs match by id."""
        if way is MatchedBy.ID:
            return self.ids
        keys = Keys()
        for _, task, line in self._lines(_Line):
            sample = line.sample
            if way is MatchedBy.ROW:
                keys.append(f"{task}\n{sample.origin.row}")
            else:
                keys.append(f"{task}\n{_longest_text(sample.fields)}\n{_right_answer(sample)}")
        return keys

    def _answers(self) -> Keys:
        """Return the right answers as keys."""
        keys = Keys()
        for _, _, line in self._lines(_Line):
            keys.append(_right_answer(line.sample))
        return keys

    def _lines(self, kind: type[LineT]) -> Iterator[tuple[int, str, LineT]]:
        """Yield offset, task and content of each sample."""
        read = make_line_reader(self._path, kind)
        for place, raw in Tail(self._path).lines():
            line = read(place, raw)
            task = self._names.get(line.task)
            if task is not None:
                yield place, task, line


class _NamedSample(msgspec.Struct, frozen=True):
    id: str


class _NamedLine(msgspec.Struct, frozen=True):
    task: str
    sample: _NamedSample


class _Origin(msgspec.Struct, frozen=True):
    row: int | None = None


class _Sample(msgspec.Struct, frozen=True):
    id: str
    fields: dict[str, Any]
    origin: _Origin
    choices: tuple[str, ...] = ()
    gold: tuple[int, ...] = ()
    targets: tuple[str, ...] = ()


class _Line(msgspec.Struct, frozen=True):
    task: str
    sample: _Sample


def _right_answer(sample: _Sample) -> str:
    texts = [sample.choices[index] for index in sample.gold if index < len(sample.choices)]
    return digest([text.strip() for text in texts or sample.targets])


def _longest_text(fields: dict[str, Any]) -> str:
    texts = (value.strip() for value in fields.values() if isinstance(value, str))
    return max(texts, key=len, default="")
