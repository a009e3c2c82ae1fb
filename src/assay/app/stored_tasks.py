"""The tasks of a stored run: samples and requests from samples.jsonl, without the dataset."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from assay.core.request import Kind, Request, Span
from assay.core.response import Outcome, Response
from assay.core.sample import Sample
from assay.core.task import ComponentSpec, CorpusScorer, Scorer, TaskSpec
from assay.engine.replay_backend import StoredAnswers
from assay.results.damaged_files import build_damage_error, make_line_reader
from assay.results.growing_file import Tail, read_line_at
from assay.results.records import SampleRecord
from assay.results.store import SAMPLES


class MethodRequests(msgspec.Struct):
    """The requests of one method for a task's samples."""

    kinds: set[Kind] = set()
    roles: set[str] = set()
    scores_prompts: bool = False
    """Whether options were scored together with the prompt, not by their own text alone."""


class StoredTask:
    """A `Task` read from a run folder."""

    def __init__(self, spec: TaskSpec, folder: Path) -> None:
        self._spec = spec
        self._path = folder / SAMPLES
        self._places = array("q")
        self._latest: SampleRecord | None = None
        self.method_requests: dict[str, MethodRequests] = {}
        """Requests by method."""
        self.n_with_options = 0
        self.n_with_targets = 0
        self.n_with_several_right = 0
        self.fields: set[str] | None = None
        """The fields that all of its rows have."""
        self.has_option_targets = False
        """Whether right options are also given as texts, for metrics that compare texts."""

    @property
    def spec(self) -> TaskSpec:
        """Return the spec from the manifest."""
        return self._spec

    @property
    def kinds(self) -> frozenset[Kind]:
        """Return the kinds of requests that were sent."""
        return frozenset(kind for requests in self.method_requests.values() for kind in requests.kinds)

    def learn(self, record: SampleRecord, place: int) -> None:
        """Register one of its samples."""
        self._places.append(place)
        sample = record.sample
        self.n_with_options += bool(sample.choices)
        self.n_with_targets += bool(sample.targets)
        self.n_with_several_right += len(sample.gold) > 1
        self.fields = set(sample.fields) if self.fields is None else self.fields & set(sample.fields)
        for one in record.asks:
            requests = self.method_requests.setdefault(one.track, MethodRequests(set(), set()))
            requests.kinds.add(one.kind)
            requests.roles.add(one.role)
            if one.kind is Kind.SPAN and one.role == "option":
                ask = record.ask(one)
                requests.scores_prompts |= isinstance(ask, Span) and ask.start == 0

    def samples(self) -> Iterator[Sample]:
        """Yield the samples in the dataset's order."""
        with open(self._path, "rb") as file:
            for place in self._places:
                record = msgspec.json.decode(read_line_at(file.fileno(), place), type=SampleRecord)
                self._latest = record
                yield _add_option_targets(record.sample) if self.has_option_targets else record.sample

    def requests(self, sample: Sample, *, shots: int | None = None) -> Sequence[Request]:
        """Return the requests for the sample that `samples` yielded last."""
        record = self._latest
        if record is None or record.sample.id != sample.id:
            raise ValueError(f"{sample.id!r} is not the sample that was read last")
        return [
            Request(
                one.id,
                record.task,
                sample.id,
                one.track,
                one.role,
                one.index,
                record.ask(one),
            )
            for one in record.asks
        ]

    def scorers(self) -> Sequence[ComponentSpec | Scorer | CorpusScorer]:
        """Return an empty sequence: a rescoring chooses its own scorers."""
        return ()


def _add_option_targets(sample: Sample) -> Sample:
    """Return a sample with its right options as texts, if it has no other reference answers."""
    if sample.targets or not sample.gold:
        return sample
    right = tuple(f"{sample.labels[index]}. {sample.choices[index]}" for index in sample.gold)
    return msgspec.structs.replace(sample, targets=right)


def load_stored_tasks(folder: Path, specs: Sequence[TaskSpec]) -> Mapping[str, StoredTask]:
    """Return the tasks of a run by name; reads every sample once and keeps none in memory."""
    tasks = {spec.name: StoredTask(spec, folder) for spec in specs}
    read = make_line_reader(folder / SAMPLES, SampleRecord)
    for place, line in Tail(folder / SAMPLES).lines():
        record = read(place, line)
        if record.task not in tasks:
            raise build_damage_error(
                folder / SAMPLES, ValueError(f"the run has no task {record.task!r}"), place
            )
        tasks[record.task].learn(record, place)
    return tasks


class ReadOnlyJournal:
    """A `Journal` of a finished run: answers and failures are read, and nothing is added."""

    def __init__(self, answers: StoredAnswers) -> None:
        self._answers = answers

    def get(self, request_id: str, key: str) -> Response | None:
        """Return the stored response to exactly this request."""
        outcome = self._answers.get(key) or self._answers.failure(key)
        return None if outcome is None else Response(request_id, key, outcome)

    def answer(self, key: str) -> Outcome | None:
        """Return the stored answer to this request."""
        return self._answers.get(key)

    def append(self, response: Response) -> None:
        """Do nothing."""

    def flush(self) -> None:
        """Do nothing."""
