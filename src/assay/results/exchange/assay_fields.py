"""What an export adds for Assay itself, so that a later import loses no score.

Formats of other programs have no place for unanswered and failed samples, for the interval of a value, or for
several metrics per sample. Each has a place for metadata that it does not interpret: there, exports keep the
scores and metrics as the run folder has them, under the name `assay`.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from assay.core.method import Method
from assay.core.model import ModelIdentity
from assay.core.run import LogFact, RunManifest
from assay.core.score import Metric, Score
from assay.core.summary_group import SummaryGroup
from assay.core.task import TaskSpec
from assay.results.exchange.imported import ImportedResult, ImportedRun, ImportedSample, ImportedTask
from assay.results.exchange.stored_samples import StoredSample
from assay.results.read import StoredRun

T = TypeVar("T")

KEY = "assay"
"""The name of these fields in the metadata of other formats."""
_FORM = 1
"""Version of these fields."""


class RunFields(msgspec.Struct, frozen=True, omit_defaults=True):
    """The fields of a run."""

    tasks: tuple[TaskSpec, ...]
    metrics: tuple[Metric, ...]
    model: ModelIdentity
    started: str
    finished: str | None = None
    seconds: float | None = None
    judge: ModelIdentity | None = None
    versions: dict[str, str] = {}
    summary_groups: tuple[SummaryGroup, ...] = ()
    unknown: tuple[LogFact, ...] = ()
    """What the log of an imported run does not hold."""
    form: int = _FORM


class SampleFields(msgspec.Struct, frozen=True, omit_defaults=True):
    """The fields of a sample."""

    id: str
    task: str
    scores: tuple[Score, ...] = ()
    labels: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    gold: tuple[int, ...] = ()
    targets: tuple[str, ...] = ()
    group: str | None = None
    cluster: str | None = None
    row: int | None = None
    fields: dict[str, Any] = {}
    """Only if the other format has no place for the record."""


def build_run_fields(run: StoredRun) -> dict[str, Any]:
    """Return the fields of a run, as plain data."""
    manifest: RunManifest = run.manifest
    fields = RunFields(
        manifest.tasks,
        tuple(run.metrics()),
        manifest.model,
        manifest.started,
        manifest.finished,
        manifest.seconds,
        manifest.judge,
        manifest.versions,
        manifest.summary_groups,
        () if manifest.imported is None else manifest.imported.unknown,
    )
    return dict(msgspec.to_builtins(fields))


def build_sample_fields(
    stored: StoredSample, method: Method | None = None, *, with_record: bool = False
) -> dict[str, Any]:
    """Return the fields of a sample, as plain data: for all of its methods, or for one.

    `with_record`: also the record of the dataset, for formats that have no place for it.
    """
    sample = stored.record.sample
    scores = [one.score for one in stored.results if method in (None, one.method)]
    fields = SampleFields(
        sample.id,
        stored.record.task,
        tuple(score for score in scores if score is not None),
        sample.labels,
        sample.choices,
        sample.gold,
        sample.targets,
        sample.group,
        sample.cluster,
        sample.origin.row,
        sample.fields if with_record else {},
    )
    return dict(msgspec.to_builtins(fields))


def read_run_fields(value: Any) -> RunFields | None:
    """Return the fields of a run; None if the value is not such, for example from a later version."""
    return _read(value, RunFields)


def read_sample_fields(value: Any) -> SampleFields | None:
    """Return the fields of a sample; None if the value is not such."""
    return _read(value, SampleFields)


def _read(value: Any, kind: type[T]) -> T | None:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None


def restore_run(run: ImportedRun, fields: RunFields | None) -> ImportedRun:
    """Return a run with what its export kept for Assay."""
    if fields is None:
        return run
    tasks = tuple(ImportedTask(name=spec.name, spec=spec, family=spec.family) for spec in fields.tasks)
    return run._replace(
        tasks=tasks,
        model=fields.model,
        started=fields.started,
        finished=fields.finished,
        seconds=fields.seconds,
        judge=fields.judge,
        versions=fields.versions,
        groups=fields.summary_groups,
        metrics=(),
        exported=fields.metrics,
        known=tuple({*run.known, LogFact.UNANSWERED, LogFact.FAILED} - set(fields.unknown)),
    )


def restore_sample(sample: ImportedSample, fields: SampleFields | None) -> ImportedSample:
    """Return a sample with what its export kept for Assay.

    Prompts, replies and likelihoods are those that the reader of the format found. A score whose method it
    did not find gets a result of its own.
    """
    if fields is None:
        return sample
    found = {result.method: result for result in sample.results}
    results = [
        msgspec.structs.replace(found.get(score.track, ImportedResult(method=score.track)), score=score)
        for score in fields.scores
    ]
    results += [
        result for result in sample.results if result.method not in {one.track for one in fields.scores}
    ]
    return msgspec.structs.replace(
        sample,
        id=fields.id,
        task=fields.task,
        labels=fields.labels,
        choices=fields.choices,
        gold=fields.gold,
        targets=fields.targets,
        group=fields.group,
        cluster=fields.cluster,
        row=fields.row,
        fields=fields.fields or sample.fields,
        results=tuple(results),
    )
