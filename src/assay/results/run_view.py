"""A run folder as pages show it: samples as columns, and each in full, also while the run grows.

A view reads what was added since the last refresh. It keeps short columns and the offsets of long lines in
memory. It never changes the folder.
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
from assay.results.charges import format_charge_lines
from assay.results.damaged_files import make_line_reader, make_skipping_reader
from assay.results.growing_file import LineReader, MappedLineReader, PreadLineReader, Tail
from assay.results.pages.data import RunPage, SampleTable
from assay.results.pages.run_facts import RunFacts, build_score_rows, build_thinking_curves
from assay.results.pages.sample_columns import (
    ResponseLine,
    SampleColumns,
    SampleLine,
    ScoreAddress,
    ScoreLine,
)
from assay.results.rows import format_speed_line, format_thinking_lines, format_work_line
from assay.results.scoring_folders import find_parent_run
from assay.results.store import JOURNAL, MANIFEST, SAMPLES, SCORES, SUMMARY, read_manifest, read_summary

MOST_ROWS = 200_000
"""Default maximum of samples in a view: about as many as a browser can handle."""


class RunView:
    """One run folder. Call `refresh` first; not thread-safe.

    Of a run with more than `most` samples, only the first are in the table; partial scores count all. `look`
    distinguishes this view from others of the same run, for clients that cache their content.
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
        # A truncated file keeps its identity, so the number of restarts is part of the revision.
        self.revision = digest((self.manifest.started, self._identities, self._look, self._n_begun))
        self._first_changed: list[int] = []
        """For each refresh with changes, the first sample that changed."""
        self._stamp: tuple[tuple[int, int], ...] = ()
        self.metrics: list[Metric] = []
        self.columns = SampleColumns()
        self.facts = RunFacts()
        self.n_samples = 0
        self._sample_at = array("q")
        self._response_at: dict[int, int] = {}
        self._owed: dict[int, tuple[int, str]] = {}
        """Hashes of asks whose responses were not read yet, with the sample's place and the method."""
        self._early: list[tuple[ScoreLine, int]] = []
        """Scores of samples that were not read yet, with their offsets."""

    @property
    def n_rows(self) -> int:
        """Return the number of samples in the table."""
        return len(self._sample_at)

    def refresh(self) -> bool:
        """Read what was added since the last call; return whether anything changed."""
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
            # Discard the partial state, so that the next call reports the error again.
            self._begin()
            raise
        self._first_changed.append(self.columns.first_changed)
        self._stamp = stamp
        return True

    def _read(self) -> None:
        self.columns.first_changed = len(self.columns)
        self._read_summary()
        # The three files are written concurrently: a line may appear before the one it refers to.
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
            # Count the samples beyond the limit.
            self.n_samples += self._samples.skip()

    def _read_journal(self) -> None:
        read = make_skipping_reader(ResponseLine)
        before = self._owed.keys() & self._response_at.keys()
        if before:
            with closing(PreadLineReader(self.path / JOURNAL)) as journal:
                for id_ in before:
                    at = self._response_at[id_]
                    if (response := read(journal.at(at))) is not None:
                        self._take(id_, response)
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
        """Whether all further responses belong to samples beyond the limit."""
        return self._is_full and not self._owed

    def _take(self, id_: int, response: ResponseLine) -> None:
        place, track = self._owed[id_]
        if not response.is_failure:
            # A failed request may be repeated, an answered one is not.
            del self._owed[id_]
        n = response.n_tokens
        self.facts.add_answer(track, response, n)
        seconds = response.latency_s or response.seconds
        self.columns.add_answer(
            place, track, response.outcome.n_prompt_tokens + n, seconds, response.n_thinking_tokens
        )

    def _read_scores(self) -> None:
        read = make_line_reader(self._scores.path, ScoreLine)
        waiting = self._early
        self._early = []
        for score, at in waiting:
            self._place(score, at)
        read_address = make_line_reader(self._scores.path, ScoreAddress)
        # A complete run has its metrics, so skip the scores of samples beyond the limit.
        skips_others = bool(self.metrics) and self._is_full
        for at, line in self._scores.lines():
            if skips_others:
                address = read_address(at, line)
                if self.columns.place_of(address.task, address.sample_id) is None:
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
            title=manifest.title,
            manifest=manifest,
            rows=rows,
            calibrations=self.facts.calibrations(manifest),
            distributions=self.facts.distributions(),
            thinking_curves=build_thinking_curves(self.columns.iter_thinking(), manifest),
            n_samples=self.n_samples,
            n_rows=self.n_rows,
            n_planned=sum(task.n_samples for task in manifest.tasks),
            revision=self.revision,
            work=format_work_line(manifest),
            speed=format_speed_line(manifest),
            thinking=tuple(format_thinking_lines(manifest)),
            charges=tuple(format_charge_lines(manifest)),
        )

    def table(self, first: int = 0, n: int | None = None) -> SampleTable:
        """Return the samples as columns, starting at a place."""
        return self.columns.table(first, n, self.revision, len(self._first_changed))

    def find_first_changed(self, n: int, revision: str, changes: int) -> int:
        """Return the first place that changed in a table of n samples, as it was after some changes."""
        if revision != self.revision or not 0 < changes <= len(self._first_changed):
            return 0
        return min([n, self.n_rows, *self._first_changed[changes:]])

    def place_of(self, task: str, sample_id: str) -> int | None:
        """Return the place of a sample in the table."""
        return self.columns.place_of(task, sample_id)

    def details(self) -> SampleDetails:
        """Return access to complete samples, for use in a `with` block."""
        return SampleDetails(self, PreadLineReader, _join_responses)

    def all_details(self, shorten: Callable[[Sequence[bytes]], bytes]) -> SampleDetails:
        """Return faster access for reading all samples of a finished run.

        `shorten` joins the responses of one sample.
        """
        return SampleDetails(self, MappedLineReader, shorten)

    def _read_manifest(self) -> RunManifest:
        manifest = read_manifest(self.path)
        if manifest is None:
            raise StoreError(
                Problem(
                    "STORE-005", f"the folder has no {MANIFEST}", "name a run folder", Origin(str(self.path))
                )
            )
        return manifest

    def _files(self) -> tuple[tuple[int, int], ...]:
        return tuple(tail.identity for tail in (self._samples, self._scores, self._journal))


class SampleDetails:
    """Complete samples as stored JSON: `{"record": ..., "scores": [...], "responses": [...]}`."""

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
        """Return a sample of the table with its scores and responses."""
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
    """Return the name of a run; for a scoring, the names of run and scoring."""
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
