"""A run folder as pages look at it: its samples by columns, and each of them in full, also while it grows.

A view reads what was added since it last looked, keeps short columns in memory and the places of long lines.
It never changes the folder.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType

import msgspec

from assay.core.errors import Problem, StoreError
from assay.core.ids import digest
from assay.core.origin import Origin
from assay.core.run import RunManifest
from assay.core.score import Metric
from assay.results.damaged_files import make_line_reader, make_skipping_reader
from assay.results.growing_file import LineReader, MappedLineReader, PreadLineReader, Tail
from assay.results.pages.data import RunPage, SampleTable
from assay.results.pages.run_facts import RunFacts, build_score_rows
from assay.results.pages.sample_columns import (
    ResponseLine,
    SampleColumns,
    SampleLine,
    ScoreAddress,
    ScoreLine,
)
from assay.results.rows import format_speed_line, format_work_line
from assay.results.scoring_folders import find_parent_run
from assay.results.store import JOURNAL, MANIFEST, SAMPLES, SCORES, SUMMARY, read_manifest, read_summary

MOST_ROWS = 200_000
"""Samples that a view keeps unless it is told otherwise: about as many as a browser shows at once."""


class RunView:
    """One run folder. `refresh` first; not for several threads at once.

    Of a run with more than `most` samples the first are kept; scores so far count all. `look` tells this view
    from others of the same run, for who remembers what another one said.
    """

    def __init__(self, path: Path, most: int = MOST_ROWS, *, look: str = "") -> None:
        self.path = path
        self._most = most
        self._look = look
        self._n_begun = 0
        self.manifest: RunManifest = self._read_manifest()
        self._begin()

    def _begin(self) -> None:
        self._samples, self._scores, self._journal = (
            Tail(self.path / name) for name in (SAMPLES, SCORES, JOURNAL)
        )
        self._identities = self._files()
        self._n_begun += 1
        # A file that was only cut is still the same: how often it was begun tells that it was.
        self.revision = digest((self.manifest.started, self._identities, self._look, self._n_begun))
        self._first_changed: list[int] = []
        """For each time that something was new, the first sample that was."""
        self._stamp: tuple[tuple[int, int], ...] = ()
        self.metrics: list[Metric] = []
        self.columns = SampleColumns()
        self.facts = RunFacts()
        self.n_samples = 0
        self._sample_at = array("q")
        self._response_at: dict[int, int] = {}
        self._owed: dict[int, tuple[int, str]] = {}
        """Hashes of asks of samples whose answers were not read yet, with their places and methods."""
        self._early: list[tuple[ScoreLine, int]] = []
        """Scores of samples that were not read yet, with their places."""

    @property
    def n_rows(self) -> int:
        """Return how many samples can be shown."""
        return len(self._sample_at)

    def refresh(self) -> bool:
        """Read what was added since; return whether there was anything."""
        stamp = tuple(_stamp(self.path / name) for name in (MANIFEST, SUMMARY, SAMPLES, SCORES, JOURNAL))
        if stamp == self._stamp:
            return False
        manifest = self._read_manifest()
        is_other = manifest.started != self.manifest.started or self._files() != self._identities
        self.manifest = manifest
        if is_other or any(tail.is_cut for tail in (self._samples, self._scores, self._journal)):
            self._begin()
        try:
            self._read()
        except StoreError:
            # What was read of it is part of a whole that is none: who asks again is told again.
            self._begin()
            raise
        self._first_changed.append(self.columns.first_changed)
        self._stamp = stamp
        return True

    def _read(self) -> None:
        self.columns.first_changed = len(self.columns)
        self._read_summary()
        # The three files are written side by side: what is in one may come before what it belongs to.
        self._read_samples()
        self._read_journal()
        self._read_scores()

    def _read_summary(self) -> None:
        if not self.manifest.status.is_finished:
            return
        self.metrics = read_summary(self.path)
        own_scales = {
            (metric.task, metric.method, metric.metric) for metric in self.metrics if not metric.is_share
        }
        if own_scales != self.columns.own_scales:
            self.columns.own_scales = own_scales
            self.columns.first_changed = 0

    @property
    def _is_full(self) -> bool:
        return len(self._sample_at) >= self._most

    def _read_samples(self) -> None:
        read = make_line_reader(self._samples.path, SampleLine)
        for at, line in () if self._is_full else self._samples.lines():
            self.n_samples += 1
            sample = read(at, line)
            self._sample_at.append(at)
            place = self.columns.add_sample(sample)
            for ask in sample.asks:
                self._owed[hash(ask.id)] = (place, ask.track)
            if self._is_full:
                break
        if self._is_full:
            # Those that are not kept are only counted.
            self.n_samples += self._samples.skip()

    def _read_journal(self) -> None:
        read = make_skipping_reader(ResponseLine)
        before = self._owed.keys() & self._response_at.keys()
        if before:
            with closing(PreadLineReader(self.path / JOURNAL)) as journal:
                for id_ in before:
                    at = self._response_at[id_]
                    if (kept := read(journal.at(at))) is not None:
                        self._take(id_, kept)
        for at, line in () if self._has_all_answers else self._journal.lines():
            if (response := read(line)) is None:
                continue
            id_ = hash(response.request_id)
            if id_ in self._owed:
                self._response_at[id_] = at
                self._take(id_, response)
                if self._has_all_answers:
                    break
            elif not self._is_full:
                self._response_at[id_] = at
        if self._has_all_answers:
            self._journal.skip()

    @property
    def _has_all_answers(self) -> bool:
        """Whether further answers are about samples that are not kept."""
        return self._is_full and not self._owed

    def _take(self, id_: int, response: ResponseLine) -> None:
        place, track = self._owed[id_]
        if not response.is_failure:
            # What failed may be asked again, what was answered is not.
            del self._owed[id_]
        n = response.n_tokens
        self.facts.add_answer(track, response, n)
        seconds = response.latency_s or response.seconds
        self.columns.add_answer(place, track, response.outcome.n_prompt_tokens + n, seconds)

    def _read_scores(self) -> None:
        read = make_line_reader(self._scores.path, ScoreLine)
        waiting = self._early
        self._early = []
        for score, at in waiting:
            self._place(score, at)
        read_address = make_line_reader(self._scores.path, ScoreAddress)
        # Of a run that is complete the numbers are known, and only samples that are kept need their scores.
        passes_others = bool(self.metrics) and self._is_full
        for at, line in self._scores.lines():
            if passes_others:
                whose = read_address(at, line)
                if self.columns.place_of(whose.task, whose.sample_id) is None:
                    continue
            score = read(at, line)
            self.facts.count(score)
            self._place(score, at)

    def _place(self, score: ScoreLine, at: int) -> None:
        if self.columns.add_score(score, at):
            self.facts.add_score(score)
        elif not self._is_full:
            self._early.append((score, at))

    def page(self) -> RunPage:
        """Return the run without its samples."""
        manifest = self.manifest
        rows = (
            build_score_rows(self.metrics, manifest)
            if self.metrics
            else self.facts.build_partial_rows(manifest)
        )
        return RunPage(
            name=_name(self.path),
            manifest=manifest,
            rows=rows,
            calibrations=self.facts.calibrations(manifest),
            distributions=self.facts.distributions(),
            n_samples=self.n_samples,
            n_rows=self.n_rows,
            n_planned=sum(task.n_samples for task in manifest.tasks),
            revision=self.revision,
            work=format_work_line(manifest),
            speed=format_speed_line(manifest),
        )

    def table(self, first: int = 0, n: int | None = None) -> SampleTable:
        """Return the samples by columns from a place on."""
        return self.columns.table(first, n, self.revision, len(self._first_changed))

    def find_first_changed(self, n: int, revision: str, changes: int) -> int:
        """Return from where on a table of n samples, as it was after some changes, is another one now."""
        if revision != self.revision or not 0 < changes <= len(self._first_changed):
            return 0
        return min([n, self.n_rows, *self._first_changed[changes:]])

    def place_of(self, task: str, sample_id: str) -> int | None:
        """Return where a sample stands in the table."""
        return self.columns.place_of(task, sample_id)

    def details(self) -> SampleDetails:
        """Return the samples in full, to be used in a `with`."""
        return SampleDetails(self, PreadLineReader, _join_responses)

    def all_details(self, shorten: Callable[[Sequence[bytes]], bytes]) -> SampleDetails:
        """Return the same for who goes through all samples of a run that nobody writes any more.

        `shorten` joins the responses of one.
        """
        return SampleDetails(self, MappedLineReader, shorten)

    def _read_manifest(self) -> RunManifest:
        manifest = read_manifest(self.path)
        if manifest is None:
            raise StoreError(
                Problem(
                    "STORE-005", f"there is no {MANIFEST} here", "name a run folder", Origin(str(self.path))
                )
            )
        return manifest

    def _files(self) -> tuple[tuple[int, int], ...]:
        return tuple(tail.identity for tail in (self._samples, self._scores, self._journal))


class SampleDetails:
    """Samples in full, each as JSON: `{"record": ..., "scores": [...], "responses": [...]}`, as stored."""

    def __init__(
        self, view: RunView, opened: type[LineReader], join: Callable[[Sequence[bytes]], bytes]
    ) -> None:
        self._view = view
        self._join = join
        self._samples, self._scores, self._journal = (
            opened(view.path / name) for name in (SAMPLES, SCORES, JOURNAL)
        )
        self._asks = msgspec.json.Decoder(SampleLine)

    def json(self, place: int) -> bytes:
        """Return a sample of the table with its scores and all answers about it."""
        view = self._view
        line = self._samples.at(view._sample_at[place])
        scores = [self._scores.at(at) for at in view.columns.iter_score_places(place)]
        places = (view._response_at.get(hash(ask.id)) for ask in self._asks.decode(line).asks)
        responses = [self._journal.at(at) for at in places if at is not None]
        return b'{"record":%b,"scores":[%b],"responses":[%b]}' % (
            line,
            b",".join(scores),
            self._join(responses),
        )

    def __enter__(self) -> SampleDetails:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for opened in (self._samples, self._scores, self._journal):
            opened.close()


def _name(path: Path) -> str:
    """Return what a run is called; a scoring of one by both names."""
    owner = find_parent_run(path)
    return path.name if owner is None else f"{owner.name}, {path.name}"


def _join_responses(responses: Sequence[bytes]) -> bytes:
    return b",".join(responses)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)
