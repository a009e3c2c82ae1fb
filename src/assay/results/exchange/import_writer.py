"""Writing the samples of a log into a run folder, while counting what the log holds and what it does not."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from assay.core.errors import listing
from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.prompt import Prompt
from assay.core.response import Completion, Failure, LabelProbs, Likelihood
from assay.core.run import LogFact
from assay.core.score import Verdict
from assay.results.draft_file import begin_file
from assay.results.exchange.conversion import RunRecords, build_run_records
from assay.results.exchange.imported import ImportedResult, ImportedRun, ImportedSample, ImportedTask
from assay.results.exchange.log_files import build_log_error
from assay.results.media_store import MediaStore
from assay.results.report import Highlights
from assay.results.score_columns import Keys
from assay.results.store import JOURNAL, SampleWriter

_encoder = msgspec.json.Encoder()
_canonical = msgspec.json.Encoder(order="sorted")
_LARGEST_COUNT = 2**53
_OF_TEXTS = frozenset({LogFact.SAMPLING, LogFact.FINISH, LogFact.EXTRACTED, LogFact.UNANSWERED})
"""Facts that only runs with generated texts have."""


class SeenTask:
    """What the samples of one task turned out to be."""

    def __init__(self) -> None:
        self.n_samples = 0
        self.methods: dict[Method, None] = {}
        self.off_scale: set[str] = set()
        """Metrics with a value that no share has."""
        self.keys = Keys()
        self._hashed = hashlib.blake2b(digest_size=8)

    @property
    def data_hash(self) -> str:
        """Return the hash of the samples: equal for two logs with the same records and right answers."""
        return self._hashed.hexdigest()

    def learn(self, sample: ImportedSample) -> None:
        """Register a sample."""
        self.n_samples += 1
        self.keys.append(sample.id)
        self._hashed.update(
            _canonical.encode((sample.id, sample.fields, sample.choices, sample.gold, sample.targets))
        )
        for result in sample.results:
            self.methods[result.method] = None
            self.off_scale.update(name for name, value in result.values.items() if not 0 <= value <= 1)
            self.off_scale.update(name for name, ratio in result.ratios.items() if ratio.is_exponential)


class ImportWriter:
    """Writes the samples of one log; use it in a `with` block."""

    def __init__(self, folder: Path, log: ImportedRun, path: str, media: MediaStore) -> None:
        self._log = log
        self._path = path
        self._media = media
        self._writer = SampleWriter(folder)
        self._journal = begin_file(folder / JOURNAL)
        self._known: set[LogFact] = set()
        self._tasks = {task.name: task for task in log.tasks}
        self.seen: dict[str, SeenTask] = {}
        """By task, in order of appearance."""
        self.highlights = Highlights()
        self.n_samples = 0
        self.n_failed = 0
        self._n_without_result = 0

    def write_samples(self) -> Iterator[RunRecords]:
        """Write every sample of the log, and yield its records."""
        headlines = {
            (name, method): next(iter(task.metrics))
            for name, task in self._tasks.items()
            if task.metrics
            for method in map(str, Method)
        }
        for sample in self._log.samples():
            records = build_run_records(sample, self._path, headlines)
            _require_storable(records, Origin(sample.file or self._path, line=sample.line))
            self._learn(sample, records)
            self._media.keep_prompts(_list_prompts(sample))
            self._writer.write_record(records.record, records.scores)
            for response in records.responses:
                self._journal.write(_encoder.encode(response) + b"\n")
            for score in records.scores:
                self.highlights.add(score)
            yield records
        self._require_unique_ids()

    def tasks(self) -> list[ImportedTask]:
        """Return the tasks that have samples, in the log's order."""
        return [self.find_task(name) for name in self.seen]

    def find_task(self, name: str) -> ImportedTask:
        """Return a task as the log describes it."""
        return self._tasks.get(name) or ImportedTask(name=name)

    def list_unknown(self) -> list[LogFact]:
        """Return the facts that the log does not hold for any sample, in a fixed order."""
        log = self._log
        known = {*self._known, *log.known}
        of_run = {
            LogFact.MODEL: log.model,
            LogFact.STARTED: log.started,
            LogFact.DURATION: log.seconds,
            LogFact.VERSIONS: log.versions,
            LogFact.SETTINGS: log.settings,
        }
        known.update(fact for fact, value in of_run.items() if value)
        if all(task.n_rows is not None or task.spec is not None for task in self.tasks()):
            known.add(LogFact.N_ROWS)
        has_texts = any(Method.GEN in seen.methods for seen in self.seen.values())
        return [fact for fact in LogFact if fact not in known and (has_texts or fact not in _OF_TEXTS)]

    def notes(self) -> list[str]:
        """Return notes about samples that could not be used as they are."""
        notes = []
        if missing := [name for name in self._tasks if name not in self.seen]:
            notes.append(f"the log has no samples of {listing(missing, at_most=6)}; only its totals are kept")
        if n := self._n_without_result:
            notes.append(f"{n:,} samples of the log have no result and are not counted")
        return [*notes, *self._media.notes()]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()
        self._journal.close()

    def _learn(self, sample: ImportedSample, records: RunRecords) -> None:
        self.n_samples += 1
        self.seen.setdefault(sample.task, SeenTask()).learn(sample)
        self.n_failed += any(score.verdict is Verdict.FAILED for score in records.scores)
        self._n_without_result += not sample.results
        known = self._known
        if sample.fields:
            known.add(LogFact.QUESTIONS)
        if sample.gold or sample.targets:
            known.add(LogFact.RIGHT_ANSWERS)
        for result in sample.results:
            known.update(_list_known(result))
        for score in records.scores:
            if score.verdict is Verdict.UNANSWERED:
                known.add(LogFact.UNANSWERED)
            if score.verdict is Verdict.FAILED:
                known.add(LogFact.FAILED)
        for response in records.responses:
            if not isinstance(response.outcome, Failure):
                known.add(LogFact.RESPONSES)
            if _counts_tokens(response.outcome):
                known.add(LogFact.N_TOKENS)
            if response.seconds:
                known.add(LogFact.TIMES)

    def _require_unique_ids(self) -> None:
        for name, seen in self.seen.items():
            if (n := seen.keys.count_repeated()) > 0:
                raise build_log_error(
                    "LOG-009",
                    f"{n:,} samples of the task {name!r} have the id of another one",
                    "import one run at a time: the log may hold several, or a run and its repetition",
                    Path(self._path),
                )


def _require_storable(records: RunRecords, place: Origin) -> None:
    """Raise for a number that a run folder cannot hold: a value that is not finite, or a huge count."""
    for name, number in _list_numbers(records):
        if number is None or (isinstance(number, int) and abs(number) <= _LARGEST_COUNT):
            continue
        if isinstance(number, int):
            what = f"is larger than {_LARGEST_COUNT:,}"
        elif not math.isfinite(number):
            what = f"is {number}"
        else:
            continue
        raise build_log_error(
            "LOG-003",
            f"{name} of the sample {records.record.sample.id!r} {what}",
            "correct the value, or remove it",
            place,
        )


def _list_numbers(records: RunRecords) -> Iterator[tuple[str, float | int | None]]:
    for score in records.scores:
        yield score.metric, score.value
        yield from score.also.items()
        for name, ratio in score.ratios.items():
            yield f"{name} (numerator)", ratio.numerator
            yield f"{name} (denominator)", ratio.denominator
    for response in records.responses:
        outcome = response.outcome
        if isinstance(outcome, Likelihood):
            yield "the number of tokens", outcome.n_tokens
        elif isinstance(outcome, Completion):
            yield "the number of tokens in the prompt", outcome.n_prompt_tokens
            for output in outcome.outputs:
                yield "the number of tokens", output.n_tokens


def _list_prompts(sample: ImportedSample) -> Iterator[Prompt]:
    for result in sample.results:
        prompts = (result.prompt, *(option.prompt for option in result.options))
        yield from (prompt for prompt in prompts if prompt is not None)


def _list_known(result: ImportedResult) -> Sequence[LogFact]:
    found = []
    prompts = [result.prompt, *(option.prompt for option in result.options)]
    if any(prompt is not None for prompt in prompts):
        found.append(LogFact.PROMPTS)
    if result.sampling is not None:
        found.append(LogFact.SAMPLING)
    if any(reply.finish is not reply.finish.UNKNOWN for reply in result.replies):
        found.append(LogFact.FINISH)
    if result.answer is not None or (result.score is not None and result.score.answer is not None):
        found.append(LogFact.EXTRACTED)
    return found


def _counts_tokens(outcome: Completion | Likelihood | LabelProbs | Failure) -> bool:
    if isinstance(outcome, Completion):
        return bool(outcome.n_prompt_tokens or any(output.n_tokens for output in outcome.outputs))
    return isinstance(outcome, Likelihood) and bool(outcome.n_tokens)
