"""The bodies of requests and answers. Field by field they become the OpenAPI document, with their words."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import PurePath
from typing import Annotated, Any

import msgspec

from assay.app.team.messages import CheckedTask
from assay.app.team.texts import BoundedText
from assay.core.errors import Problem
from assay.core.score import Metric
from assay.ledger.datasets import Dataset
from assay.ledger.jobs import Job
from assay.ledger.models import Model
from assay.ledger.tokens import Token


class Where(msgspec.Struct, frozen=True, omit_defaults=True):
    """The place of a problem in a file."""

    file: str
    """The file's name."""
    row: int | None = None
    """The record, counted from 1, the header not counted."""
    line: int | None = None
    """The line, counted from 1."""
    column: str | None = None


class ErrorBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why something was not done."""

    code: str
    """A name that docs/reference/errors.md explains."""
    what: str
    """What is wrong, with the value seen and what was expected."""
    fix: str
    """What to do about it."""
    where: Where | None = None
    """The place, where the problem has one."""
    others: tuple[ErrorBody, ...] = ()
    """Further problems of the same file."""

    @classmethod
    def of(cls, problem: Problem) -> ErrorBody:
        """Return a problem as it is told; where its file lies on the server is left out."""
        place = problem.where
        where = None
        if place is not None:
            where = Where(PurePath(place.path).name, place.row, place.line, place.column)
        return cls(problem.code, problem.what, problem.fix, where)


class DatasetBody(msgspec.Struct, frozen=True):
    """A dataset that models may be evaluated on."""

    name: str
    explanation: str
    """What it tests."""
    abilities: tuple[str, ...]
    """The abilities that it tests; the leaderboard groups by them."""
    metrics: tuple[str, ...]
    """The metrics that its registry names; none: those of its methods."""
    headline: str | None
    """The one metric that the leaderboard shows; null: the one that its method is judged by."""
    dialect: str
    """The language that it is written in."""
    provenance: str
    """`folder`: the owner's; `upload`: it came over the network."""
    settings: dict[str, Any]
    """What evaluations of it are set to unless they say otherwise."""
    added_by: str
    added_at: str
    """UTC, ISO 8601."""

    @classmethod
    def of(cls, dataset: Dataset) -> DatasetBody:
        """Return a dataset as it is told; where it lies on the server is left out."""
        return cls(
            dataset.name,
            dataset.explanation,
            dataset.abilities,
            dataset.metrics,
            dataset.headline,
            dataset.dialect,
            dataset.provenance,
            dataset.settings,
            dataset.added_by,
            _time(dataset.added_at),
        )


class DatasetPreview(msgspec.Struct, frozen=True):
    """A dataset with how it is understood, and its first rows."""

    dataset: DatasetBody
    tasks: tuple[CheckedTask, ...]
    """What it compiles to: mostly one task."""


class NewModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model to be registered."""

    name: BoundedText
    """How evaluations name it."""
    spec: BoundedText
    """What `assay run --model` takes, such as `openai:qwen@http://127.0.0.1:8000/v1`."""
    args: dict[str, str] = {}
    """What `--model-arg` takes. A secret is given as the name of an environment variable: `key_env`."""
    description: BoundedText = ""
    workers: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """What `--workers` takes: so many copies of it answer, each in a process of its own."""
    on: BoundedText | None = None
    """What `--on` takes: `ray`, or `ray:ADDRESS` of the cluster that they are on."""


class ModelBody(msgspec.Struct, frozen=True):
    """A model that may be evaluated."""

    name: str
    spec: str
    """What `assay run --model` takes."""
    args: dict[str, str]
    description: str
    workers: int | None
    """So many copies of it answer."""
    on: str | None
    """The cluster that they are on."""
    registered_by: str
    registered_at: str
    """UTC, ISO 8601."""

    @classmethod
    def of(cls, model: Model) -> ModelBody:
        """Return a model as it is told."""
        told = msgspec.structs.asdict(model)
        return cls(**{**told, "registered_at": _time(model.registered_at)})


class ProgressBody(msgspec.Struct, frozen=True):
    """How far an evaluation is; all 0 before it has begun."""

    n_samples: int = 0
    n_done: int = 0
    n_failed: int = 0
    """Samples with a failed request, or with an answer that could not be scored."""
    n_requests: int = 0
    n_answered: int = 0
    n_journaled: int = 0
    """Requests that an earlier attempt had answered."""
    n_cached: int = 0
    """Requests answered by the cache."""
    share_done: float = 0.0
    """From 0 to 1."""
    n_judge_prompts: int = 0
    """What a judge was given so far: metrics ask it when all samples of their task are answered."""
    n_judge_replies: int = 0
    n_judge_failed: int = 0
    """Of the replies, those that did not come."""


class EvaluationBody(msgspec.Struct, frozen=True):
    """An evaluation."""

    id: int
    state: str
    """`queued`, `running`, `stopping`, `stopped`, `complete` or `failed`."""
    model: str
    datasets: tuple[str, ...]
    settings: dict[str, Any]
    """What the request and the datasets have set; the rest are defaults."""
    run: str
    """The name of its run: its page is /runs/RUN."""
    submitted_by: str
    priority: int
    submitted_at: str
    """UTC, ISO 8601, as all times."""
    started_at: str | None
    finished_at: str | None
    attempt: int
    """How often a worker took it: more than once when one died, or the server was started anew."""
    progress: ProgressBody
    problems: tuple[ErrorBody, ...]
    """Why it failed."""

    @classmethod
    def of(cls, job: Job) -> EvaluationBody:
        """Return an evaluation as it is told."""
        return cls(
            job.id,
            job.state,
            job.model,
            job.datasets,
            job.settings,
            job.run,
            job.submitted_by,
            job.priority,
            _time(job.submitted_at),
            None if job.started_at is None else _time(job.started_at),
            None if job.finished_at is None else _time(job.finished_at),
            job.attempt,
            msgspec.convert(job.progress, ProgressBody),
            tuple(map(ErrorBody.of, job.problems)),
        )


class StartedBody(msgspec.Struct, frozen=True):
    """An evaluation that was put into the queue."""

    evaluation: EvaluationBody
    tasks: tuple[CheckedTask, ...]
    """How its datasets were understood."""


class ResultsBody(msgspec.Struct, frozen=True):
    """What came out of an evaluation."""

    id: int
    state: str
    run: str
    metrics: tuple[Metric, ...]
    """One for each task, method, metric and group; none while the evaluation is not complete."""
    notes: tuple[str, ...]
    """What was inferred or let pass, in words."""


class TokenBody(msgspec.Struct, frozen=True):
    """A token, without its secret."""

    name: str
    role: str
    created_at: str
    """UTC, ISO 8601."""
    expires_at: str | None
    """null: never."""

    @classmethod
    def of(cls, token: Token) -> TokenBody:
        """Return a token as it is told."""
        expires = None if token.expires_at is None else _time(token.expires_at)
        return cls(token.name, token.role, _time(token.created_at), expires)


class VisitorBody(msgspec.Struct, frozen=True):
    """Who asks."""

    name: str | None
    """The token's name: evaluations are noted under it. null: no token was shown."""
    role: str
    """`reader`, `runner` or `owner`."""


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
