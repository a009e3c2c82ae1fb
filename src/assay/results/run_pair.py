"""Two runs of one thing side by side: each sample of both in full, read from disk one by one."""

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
from assay.results.growing_file import Tail, read_line_at
from assay.results.matched_samples import SampleList, SampleMatch
from assay.results.paired_runs import pair_tasks
from assay.results.read import StoredRun
from assay.results.records import SampleRecord
from assay.results.response_index import ResponseIndex
from assay.results.sample_difference import RunSample
from assay.results.score_columns import Keys, Places
from assay.results.store import JOURNAL, SAMPLES, SCORES


class RunPair:
    """Two runs with their samples matched; to be used in a `with`."""

    def __init__(self, a: StoredRun, b: StoredRun, methods: Sequence[str] = ()) -> None:
        """Match the samples of two runs; of the methods named, or all that both have."""
        self.names = pair_tasks(*([task.name for task in run.manifest.tasks] for run in (a, b)))
        """What the second's tasks are called in the first."""
        self.methods = _find_shared_methods(a, b, methods)
        own = {name: name for name in self.names.values()}
        self._sides = [_RunFiles(run, names) for run, names in ((a, own), (b, self.names))]
        self.match = _match_samples(*self._sides)
        self.n_only = [len(side.samples) - len(self.match.a) for side in self._sides]
        """Samples that the other does not have."""
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
    """One run's files, open for reading at any place."""

    def __init__(self, run: StoredRun, names: Mapping[str, str]) -> None:
        self.run = run
        self._names = names
        self.samples = SampleList(run.path, names)
        self._record = msgspec.json.Decoder(SampleRecord)
        self._score = msgspec.json.Decoder(Score)

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
        """Return a sample with its answers and scores."""
        record = self._record.decode(read_line_at(self._files[0], self.samples.at[row]))
        found = ((ask.id, self._responses.get(ask.id)) for ask in record.asks)
        scores = {
            method: self._score.decode(read_line_at(self._files[1], int(places[row])))
            for method, places in self._score_rows.items()
            if places[row] >= 0
        }
        return RunSample(record, {id_: response for id_, response in found if response is not None}, scores)

    def _places_of_scores(self, methods: Sequence[str]) -> dict[str, Places]:
        """Return for each method where the score of each sample begins; -1: it has none."""
        keys = {method: Keys() for method in methods}
        at = {method: array("q") for method in methods}
        decode = msgspec.json.Decoder(_ScoreAddress).decode
        for place, raw in Tail(self.run.path / SCORES).lines():
            score = decode(raw)
            if score.track in keys and score.task in self._names:
                keys[score.track].append(f"{self._names[score.task]}\n{score.sample_id}")
                at[score.track].append(place)
        found = {}
        for method in methods:
            mine, theirs = self.samples.ids.match(keys[method])
            places = np.full(len(self.samples), -1, dtype=np.int64)
            places[mine] = np.frombuffer(at[method], dtype=np.int64)[theirs] if len(theirs) else -1
            found[method] = places
        return found


class _ScoreAddress(msgspec.Struct, frozen=True):
    """Whose score it is."""

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
                f"the samples of {names[0]!r} ({counts[0]:,}) are not those of {names[1]!r} ({counts[1]:,}): "
                "they fit neither by id, nor by row, nor by content",
                "name two runs of the same data",
            )
        )
    return found


def _find_shared_methods(a: StoredRun, b: StoredRun, wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the methods that are looked at: those of both runs."""
    tracks = [
        dict.fromkeys(method for task in run.manifest.tasks for method in task.methods) for run in (a, b)
    ]
    shared = [method for method in tracks[0] if method in tracks[1]]
    missing = [method for method in wanted if method not in shared]
    if missing or not shared:
        has = "; ".join(
            f"{run.path.name} has {listing(one)}" for run, one in zip((a, b), tracks, strict=True)
        )
        what = f"no method {missing[0]!r}{suggest_name(missing[0], shared)}" if missing else "no method"
        raise UsageError(
            Problem(
                "COMPARE-006", f"{what} is in both runs: {has}", "name methods that both have: --methods gen"
            )
        )
    return tuple(wanted or shared)
