"""Two runs with matched samples and their differences, for `assay diff`. Reads samples one by one."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np

from assay.core.errors import Problem, UsageError, listing, suggest_name
from assay.core.ids import digest
from assay.core.score import Score
from assay.results.damaged_files import make_line_reader
from assay.results.growing_file import Tail, read_line_at
from assay.results.manifest_differences import FactDifference
from assay.results.paired_runs import pair_tasks
from assay.results.read import StoredRun
from assay.results.records import SampleRecord
from assay.results.response_index import ResponseIndex
from assay.results.sample_difference import Layer, LayerDifference, RunSample
from assay.results.score_columns import Keys, Places
from assay.results.store import JOURNAL, SAMPLES, SCORES


class MatchedBy(StrEnum):
    """How the samples of two runs were paired."""

    ID = "id"
    ROW = "row"
    """The row number in the dataset's file."""
    CONTENT = "content"
    """The longest text of the record and the right answer."""


class SampleDifference(msgspec.Struct, frozen=True):
    """A sample that differs between two runs."""

    task: str
    sample_id: str
    other_id: str
    """The sample's id in the second run."""
    findings: tuple[LayerDifference, ...]
    """The first difference; for a single requested sample, all differences."""


class LayerCount(msgspec.Struct, frozen=True):
    """Samples whose first difference is at one layer."""

    layer: Layer
    n: int
    examples: tuple[SampleDifference, ...]


class RunDifference(msgspec.Struct, frozen=True):
    """All differences between two runs."""

    a: str
    b: str
    """Their folders."""
    results: tuple[FactDifference, ...]
    """Headline metrics that differ."""
    facts: tuple[FactDifference, ...]
    """Differences in model, data, settings and versions."""
    matched_by: MatchedBy
    methods: tuple[str, ...]
    n: int
    """Matched samples."""
    n_only_a: int
    n_only_b: int
    n_same: int
    layers: tuple[LayerCount, ...]
    """In the order in which a sample passes through them."""


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
        for way in MatchedBy:
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


class RunPair:
    """Two runs with their samples matched; to be used in a `with`."""

    def __init__(self, a: StoredRun, b: StoredRun, methods: Sequence[str] = ()) -> None:
        """Match the samples of two runs, for the given methods or all that both have."""
        self.names = pair_tasks(*([task.name for task in run.manifest.tasks] for run in (a, b)))
        """Maps the second run's task names to the first run's."""
        self.methods = _find_shared_methods(a, b, methods)
        own = {name: name for name in self.names.values()}
        self._sides = [_RunFiles(run, names) for run, names in ((a, own), (b, self.names))]
        self.match = _match_samples(*self._sides)
        self.n_only = [len(side.samples) - len(self.match.a) for side in self._sides]
        """For each run, the number of samples that the other does not have."""
        self._closing = ExitStack()

    def __len__(self) -> int:
        return len(self.match.a)

    def seen(self) -> Iterator[tuple[RunSample, RunSample]]:
        """Yield each sample that both runs have, in the first's order."""
        for row_a, row_b in zip(self.match.a, self.match.b, strict=True):
            yield self._sides[0].seen(int(row_a)), self._sides[1].seen(int(row_b))

    def __enter__(self) -> RunPair:
        for side in self._sides:
            side.open(self.methods, self._closing)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.close()


class _RunFiles:
    """The files of one run, opened for random access."""

    def __init__(self, run: StoredRun, names: Mapping[str, str]) -> None:
        self.run = run
        self._names = names
        self.samples = SampleList(run.path, names)
        self._read_record = make_line_reader(run.path / SAMPLES, SampleRecord)
        self._read_score = make_line_reader(run.path / SCORES, Score)

    def open(self, methods: Sequence[str], closing: ExitStack) -> None:
        """Open the files until the stack is closed."""
        self._score_rows = self._places_of_scores(methods)
        self._files = []
        for name in (SAMPLES, SCORES):
            file = os.open(self.run.path / name, os.O_RDONLY)
            closing.callback(os.close, file)
            self._files.append(file)
        self._responses = closing.enter_context(ResponseIndex(self.run.path / JOURNAL))

    def seen(self, row: int) -> RunSample:
        """Return a sample with its responses and scores."""
        place = self.samples.at[row]
        record = self._read_record(place, read_line_at(self._files[0], place))
        responses = ((ask.id, self._responses.get(ask.id)) for ask in record.asks)
        scores = {}
        for method, places in self._score_rows.items():
            if (place := int(places[row])) >= 0:
                scores[method] = self._read_score(place, read_line_at(self._files[1], place))
        return RunSample(
            record, {id_: response for id_, response in responses if response is not None}, scores
        )

    def _places_of_scores(self, methods: Sequence[str]) -> dict[str, Places]:
        """Return for each method the offset of each sample's score; -1 for a sample without one."""
        keys = {method: Keys() for method in methods}
        offsets = {method: array("q") for method in methods}
        read = make_line_reader(self.run.path / SCORES, _ScoreAddress)
        for place, line in Tail(self.run.path / SCORES).lines():
            score = read(place, line)
            if score.track in keys and score.task in self._names:
                keys[score.track].append(f"{self._names[score.task]}\n{score.sample_id}")
                offsets[score.track].append(place)
        found = {}
        for method in methods:
            mine, theirs = self.samples.ids.match(keys[method])
            places = np.full(len(self.samples), -1, dtype=np.int64)
            places[mine] = np.frombuffer(offsets[method], dtype=np.int64)[theirs] if len(theirs) else -1
            found[method] = places
        return found


class _ScoreAddress(msgspec.Struct, frozen=True):
    """The sample and method of a score."""

    task: str
    sample_id: str
    track: str


def _match_samples(a: _RunFiles, b: _RunFiles) -> SampleMatch:
    found = a.samples.match(b.samples)
    if found is None:
        names, counts = (
            [side.run.path.name for side in (a, b)],
            [len(side.samples) for side in (a, b)],
        )
        raise UsageError(
            Problem(
                "COMPARE-005",
                f"the samples of {names[0]!r} ({counts[0]:,}) and {names[1]!r} ({counts[1]:,}) do not match, "
                "neither by id, nor by row, nor by content",
                "name two runs of the same data",
            )
        )
    return found


def _find_shared_methods(a: StoredRun, b: StoredRun, wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the methods to compare: those that both runs have."""
    tracks = [
        dict.fromkeys(method for task in run.manifest.tasks for method in task.methods) for run in (a, b)
    ]
    shared = [method for method in tracks[0] if method in tracks[1]]
    missing = [method for method in wanted if method not in shared]
    if missing or not shared:
        has = "; ".join(
            f"{run.path.name} has {listing(one)}" for run, one in zip((a, b), tracks, strict=True)
        )
        method = f"the method {missing[0]!r}" if missing else "a common method"
        guess = suggest_name(missing[0], shared) if missing else ""
        raise UsageError(
            Problem(
                "COMPARE-006",
                f"the runs do not share {method}{guess}: {has}",
                "name methods that both runs have: --methods gen",
            )
        )
    return tuple(wanted or shared)
