"""Two runs with matched samples, for `assay diff`. Reads complete samples from disk one by one."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType

import msgspec
import numpy as np

from assay.core.errors import Problem, UsageError, listing, suggest_name
from assay.core.score import Score
from assay.results.damaged_files import make_line_reader
from assay.results.growing_file import Tail, read_line_at
from assay.results.matched_samples import SampleList, SampleMatch
from assay.results.read import StoredRun
from assay.results.records import SampleRecord
from assay.results.response_index import ResponseIndex
from assay.results.run_difference import MatchedBy
from assay.results.sample_difference import RunSample
from assay.results.sample_join import (
    JoinedBy,
    ProgramJoin,
    TaskKeys,
    are_of_different_programs,
    build_join_error,
    pair_tasks,
)
from assay.results.score_columns import Keys, Places
from assay.results.store import JOURNAL, SAMPLES, SCORES


class RunPair:
    """Two runs with their samples matched; to be used in a `with`."""

    def __init__(self, a: StoredRun, b: StoredRun, methods: Sequence[str] = ()) -> None:
        """Match the samples of two runs, for the given methods or all that both have."""
        join = ProgramJoin(a, b) if are_of_different_programs(a, b) else None
        names = ([task.name for task in run.manifest.tasks] for run in (a, b))
        self.names = pair_tasks(*names) if join is None else join.names
        """Maps the second run's task names to the first run's."""
        self.methods = _find_shared_methods(a, b, methods)
        own = {name: name for name in self.names.values()}
        self._sides = [_RunFiles(run, names) for run, names in ((a, own), (b, self.names))]
        self.match = _match_samples(*self._sides) if join is None else _join_programs(join)
        self.n_only = [len(side.samples) - len(self.match.a) for side in self._sides]
        """For each run, the number of samples that the other does not have."""
        self._closing = ExitStack()

    def __len__(self) -> int:
        return len(self.match.a)

    def iterate_samples(self) -> Iterator[tuple[RunSample, RunSample]]:
        """Yield each sample that both runs have, in the first's order."""
        for row_a, row_b in zip(self.match.a, self.match.b, strict=True):
            yield self._sides[0].read_sample(int(row_a)), self._sides[1].read_sample(int(row_b))

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
        self.names = names
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

    def read_sample(self, row: int) -> RunSample:
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
            if score.track in keys and score.task in self.names:
                keys[score.track].append(f"{self.names[score.task]}\n{score.sample_id}")
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


def _join_programs(join: ProgramJoin) -> SampleMatch:
    """Pair the samples of two programs; raise if there are too few pairs in a task."""
    joins = {(mine, other): join.join(mine, other) for other, mine in join.names.items()}
    if refused := {tasks[0]: one for tasks, one in joins.items() if not one.is_enough}:
        raise build_join_error(refused)
    sides = [
        [(join.keys_a[mine], one.a) for (mine, _), one in joins.items()],
        [(join.keys_b[other], one.b) for (_, other), one in joins.items()],
    ]
    ways = {one.by for one in joins.values()}
    by = MatchedBy.ID if ways == {JoinedBy.ID} else MatchedBy.QUESTION
    return SampleMatch(by, *map(_gather_rows, sides))


def _gather_rows(tasks: Sequence[tuple[TaskKeys, Places]]) -> Places:
    """Return the places of samples of some tasks among all samples of these tasks."""
    rows = [np.array(keys.rows, dtype=np.int64) for keys, _ in tasks]
    chosen = [own[places] for own, (_, places) in zip(rows, tasks, strict=True)]
    none = [np.empty(0, dtype=np.int64)]
    return np.searchsorted(np.sort(np.concatenate(rows + none)), np.concatenate(chosen + none))


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
