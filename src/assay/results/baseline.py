"""A baseline: the scores of a run in one small file that can be committed, to compare later runs with.

It holds the ids of the samples, a hash of the content of each, their scores, and everything that determined
them. Questions, answers and long texts in settings are left out or replaced by hashes, unless they were asked
for. One sample per line, so that a changed baseline reads well as a diff.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from assay.core.errors import Problem, StoreError, UsageError
from assay.core.ids import digest
from assay.core.method import Method
from assay.core.model import ModelIdentity
from assay.core.origin import Origin
from assay.core.run import RunManifest, RunStatus
from assay.core.sample import Sample
from assay.core.score import Metric, Ratio, Score, Verdict
from assay.core.task import ComponentSpec, TaskSpec
from assay.results.damaged_files import DECODE_ERRORS
from assay.results.draft_file import replacing_file
from assay.results.output_folder import build_not_writable_error
from assay.results.pages.sample_columns import QUESTION_CHARS, SampleLine, find_question, truncate_line
from assay.results.read import StoredRun
from assay.results.records import strip_media

FORMAT = 1
"""The version of the file's format."""
_SHORT = 40
"""Texts in settings that are not longer, such as names of columns, are kept."""
_LIST_END = b'"samples": {}\n}'


class BaselineScore(msgspec.Struct, frozen=True, omit_defaults=True):
    """The score of one sample by one method, as in scores.jsonl."""

    metric: str
    value: float | None = None
    verdict: Verdict = Verdict.SCORED
    also: dict[str, float] = {}
    ratios: dict[str, Ratio] = {}
    answer: str | None = None
    target: str | None = None


class BaselineSample(msgspec.Struct, frozen=True, omit_defaults=True):
    """One sample."""

    id: str
    content: str
    """Hash of its fields, options and right answers."""
    group: str | None = None
    cluster: str | None = None
    question: str | None = None
    """The beginning of the question, if texts are stored."""
    scores: dict[Method, BaselineScore] = {}


class BaselineMetric(msgspec.Struct, frozen=True, omit_defaults=True):
    """A number of a whole task, as in summary.json."""

    task: str
    method: str
    metric: str
    value: float | None
    n: int
    n_scored: int
    n_unanswered: int = 0
    n_failed: int = 0
    is_headline: bool = False
    is_share: bool = True
    higher_is_better: bool = True


class Baseline(msgspec.Struct, frozen=True, tag="baseline", tag_field="kind"):
    """The contents of a baseline file."""

    format: int
    run: str
    """The id of the run."""
    started: str
    has_texts: bool
    """Whether questions, answers and templates are stored as texts, not only as hashes."""
    versions: dict[str, str]
    model: ModelIdentity
    judge: ModelIdentity | None
    tasks: tuple[TaskSpec, ...]
    scorers: dict[str, tuple[ComponentSpec, ...]]
    metrics: tuple[BaselineMetric, ...]
    samples: dict[str, tuple[BaselineSample, ...]]
    """The samples of each task, in the order of the dataset."""

    def build_manifest(self) -> RunManifest:
        """Return what is known of the run's manifest."""
        return RunManifest(
            self.run,
            self.tasks,
            self.model,
            {},
            self.versions,
            self.started,
            RunStatus.COMPLETE,
            judge=self.judge,
            scorers=self.scorers,
        )

    def build_metrics(self) -> list[Metric]:
        """Return the run's metrics, without intervals."""
        return [
            Metric(low=None, high=None, n_truncated=0, group=None, **msgspec.structs.asdict(one))
            for one in self.metrics
        ]


class DescribedRun(NamedTuple):
    """What determined the scores of a run, as a baseline stores it."""

    tasks: tuple[TaskSpec, ...]
    scorers: dict[str, tuple[ComponentSpec, ...]]
    versions: dict[str, str]
    model: ModelIdentity
    judge: ModelIdentity | None


def describe_run(manifest: RunManifest, *, with_texts: bool) -> DescribedRun:
    """Return what determined the scores of a run, with long texts replaced by hashes."""
    scorers = manifest.scorers
    tasks = tuple(describe_task(task, with_texts=with_texts) for task in manifest.tasks)
    if not with_texts:
        scorers = {
            name: tuple(msgspec.structs.replace(one, args=conceal_texts(one.args)) for one in components)
            for name, components in scorers.items()
        }
    # As they will be read back from the file.
    described = DescribedRun(tasks, scorers, manifest.versions, manifest.model, manifest.judge)
    return msgspec.json.decode(msgspec.json.encode(described), type=DescribedRun)


def describe_task(task: TaskSpec, *, with_texts: bool) -> TaskSpec:
    """Return a task as a baseline stores it: without folders of this machine, and if asked without texts."""
    settings = {
        name: _drop_folder(value) if name == "shots_from" and value else value
        for name, value in task.settings.items()
    }
    task = msgspec.structs.replace(task, source=_drop_folder(task.source), settings=settings, differences=())
    if with_texts:
        return task
    return msgspec.structs.replace(
        task, settings=conceal_texts(task.settings), chosen=conceal_texts(task.chosen)
    )


def _drop_folder(path: str) -> str:
    return os.path.basename(path) if os.path.isabs(path) else path


def conceal_texts(value: Any) -> Any:
    """Return a setting with templates and other long texts replaced by their length and hash."""
    if isinstance(value, str):
        is_name = len(value) <= _SHORT and "{" not in value and "\n" not in value.strip("\n")
        return value if is_name else f"[{len(value):,} characters, {digest(value)}]"
    if isinstance(value, Mapping):
        return {key: conceal_texts(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [conceal_texts(one) for one in value]
    return value


def hash_content(sample: Sample) -> str:
    """Return the hash of a sample's content, equal before and after it was stored."""
    return digest([strip_media(sample.fields), sample.choices, sample.labels, sample.gold, sample.targets])


def build_baseline(run: StoredRun, *, with_texts: bool = False) -> Baseline:
    """Return the baseline of a complete run."""
    if run.manifest.imported is not None:
        what = f"the run was imported from a log of {run.manifest.imported.format}"
        fix = "evaluate with `assay run`; to compare with the imported run: `assay compare THEIRS OURS`"
        raise UsageError(Problem("GATE-003", what, fix, Origin(str(run.path))))
    described = describe_run(run.manifest, with_texts=with_texts)
    return Baseline(
        FORMAT,
        run.manifest.id,
        run.manifest.started,
        with_texts,
        described.versions,
        described.model,
        described.judge,
        described.tasks,
        described.scorers,
        tuple(_build_metric(one) for one in run.metrics() if one.group is None),
        _build_samples(run, with_texts=with_texts),
    )


def _build_metric(metric: Metric) -> BaselineMetric:
    return BaselineMetric(**{name: getattr(metric, name) for name in BaselineMetric.__struct_fields__})


def _build_samples(run: StoredRun, *, with_texts: bool) -> dict[str, tuple[BaselineSample, ...]]:
    scores: dict[tuple[str, str], dict[Method, BaselineScore]] = {}
    places: dict[tuple[str, str], Score] = {}
    for one in run.scores():
        key = (one.task, one.sample_id)
        scores.setdefault(key, {})[one.track] = _build_score(one, with_texts=with_texts)
        places.setdefault(key, one)
    found: dict[str, list[BaselineSample]] = {task.name: [] for task in run.manifest.tasks}
    for record in run.samples():
        sample, key = record.sample, (record.task, record.sample.id)
        line = msgspec.json.decode(msgspec.json.encode(record), type=SampleLine) if with_texts else None
        found[record.task].append(
            BaselineSample(
                sample.id,
                hash_content(sample),
                places[key].group if key in places else sample.group,
                places[key].cluster if key in places else sample.cluster,
                None if line is None else truncate_line(find_question(line), QUESTION_CHARS),
                scores.get(key, {}),
            )
        )
    return {task: tuple(samples) for task, samples in found.items()}


def _build_score(score: Score, *, with_texts: bool) -> BaselineScore:
    texts = {"answer": score.answer, "target": score.target} if with_texts else {}
    return BaselineScore(score.metric, score.value, score.verdict, score.also, score.ratios, **texts)


def encode_baseline(baseline: Baseline) -> bytes:
    """Return the contents of the file: indented JSON, with one sample per line."""
    encode = msgspec.json.Encoder().encode
    head = msgspec.json.format(encode(msgspec.structs.replace(baseline, samples={})), indent=1)
    assert head.endswith(_LIST_END)
    tasks = [
        b"  " + encode(task) + b": [\n" + b",\n".join(b"   " + encode(one) for one in samples) + b"\n  ]"
        for task, samples in baseline.samples.items()
    ]
    return head.removesuffix(_LIST_END) + b'"samples": {\n' + b",\n".join(tasks) + b"\n }\n}\n"


def write_baseline(baseline: Baseline, path: Path) -> None:
    """Write a baseline file; a reader sees the old one or the new one, never a part."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing_file(path) as file:
            file.write(encode_baseline(baseline))
    except OSError as error:
        raise build_not_writable_error(path, error, "-o FILE") from error


class _Head(msgspec.Struct, frozen=True):
    kind: Literal["baseline"]
    format: int


def read_baseline(path: Path) -> Baseline:
    """Read a baseline file; raise GATE-002 if it is not one."""
    try:
        content = path.read_bytes()
    except OSError as error:
        what = f"the baseline cannot be read: {error.strerror}"
        raise _build_read_error(path, what, "write one from a run: assay baseline RUN -o FILE") from error
    try:
        head = msgspec.json.decode(content, type=_Head)
        if head.format != FORMAT:
            what = f"the baseline has format {head.format}, and this version of Assay reads {FORMAT}"
            fix = "update Assay, or write the baseline again with this version: assay baseline RUN -o FILE"
            raise _build_read_error(path, what, fix)
        return msgspec.json.decode(content, type=Baseline)
    except DECODE_ERRORS as error:
        what = f"the file is not a baseline of Assay, or it is damaged: {error}"
        fix = "name a file that `assay baseline RUN -o FILE` wrote, or write it again"
        raise _build_read_error(path, what, fix) from error


def is_baseline_file(path: Path) -> bool:
    """Whether a path names a file, as a baseline is one and a run is a folder."""
    return path.suffix == ".json" and path.is_file()


def _build_read_error(path: Path, what: str, fix: str) -> StoreError:
    return StoreError(Problem("GATE-002", what, fix, Origin(str(path))))
