"""The bodies of requests and responses. The OpenAPI document is generated from them and their docstrings."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import PurePath
from typing import Annotated, Any

import msgspec

from assay.app.team.messages import CheckedTask
from assay.app.team.texts import BoundedText
from assay.core.errors import Problem
from assay.core.score import Metric
from assay.core.team import Job, RegisteredDataset, RegisteredModel, Token


class Where(msgspec.Struct, frozen=True, omit_defaults=True):
    """The place of a problem in a file."""

    file: str
    """The file's name."""
    row: int | None = None
    """The record, counted from 1 without the header."""
    line: int | None = None
    """The line, counted from 1."""
    column: str | None = None


class ErrorBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a request was rejected."""

    code: str
    """An error code; see docs/reference/errors.md."""
    what: str
    """What is wrong: the value seen and what was expected."""
    fix: str
    """How to fix it."""
    where: Where | None = None
    """The place of the problem, if it has one."""
    others: tuple[ErrorBody, ...] = ()
    """Further problems of the same file."""

    @classmethod
    def of(cls, problem: Problem) -> ErrorBody:
        """Return the body of a problem, without the path of its file on the server."""
        place = problem.where
        where = None
        if place is not None:
            where = Where(PurePath(place.path).name, place.row, place.line, place.column)
        return cls(problem.code, problem.what, problem.fix, where)


class DatasetBody(msgspec.Struct, frozen=True):
    """A registered dataset."""

    name: str
    explanation: str
    """What it tests."""
    abilities: tuple[str, ...]
    """The abilities that it tests; the leaderboard groups by them."""
    metrics: tuple[str, ...]
    """The registered metrics; empty: the defaults of its methods."""
    headline: str | None
    """The metric that the leaderboard shows; null: the default of its method."""
    dialect: str
    """The dataset format."""
    provenance: str
    """`folder`: from a folder of the owner; `upload`: uploaded."""
    settings: dict[str, Any]
    """Default settings of evaluations on this dataset."""
    added_by: str
    added_at: str
    """UTC, ISO 8601."""

    @classmethod
    def of(cls, dataset: RegisteredDataset) -> DatasetBody:
        """Return the body of a dataset, without its path on the server."""
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
    """A dataset with its interpretation and its first rows."""

    dataset: DatasetBody
    tasks: tuple[CheckedTask, ...]
    """Its tasks; usually one."""


class NewModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model to register."""

    name: BoundedText
    """The name that evaluations use."""
    spec: BoundedText
    """A model as for `assay run --model`, such as `openai:qwen@http://127.0.0.1:8000/v1`."""
    args: dict[str, str] = {}
    """Arguments as for `--model-arg`. Pass a secret as the name of an environment variable: `key_env`."""
    description: BoundedText = ""
    workers: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Number of copies of the model, each in its own process, as for `--workers`."""
    on: BoundedText | None = None
    """The cluster for the workers, as for `--on`: `ray` or `ray:ADDRESS`."""


class ModelBody(msgspec.Struct, frozen=True):
    """A registered model."""

    name: str
    spec: str
    """The model as for `assay run --model`."""
    args: dict[str, str]
    description: str
    workers: int | None
    """Number of copies of the model."""
    on: str | None
    """The cluster of the workers."""
    registered_by: str
    registered_at: str
    """UTC, ISO 8601."""

    @classmethod
    def of(cls, model: RegisteredModel) -> ModelBody:
        """Return the body of a model."""
        return cls(**{**msgspec.structs.asdict(model), "registered_at": _time(model.registered_at)})


class ProgressBody(msgspec.Struct, frozen=True):
    """Progress of an evaluation; all values are 0 before it starts."""

    n_samples: int = 0
    n_done: int = 0
    n_failed: int = 0
    """Samples with a failed request, or with an answer that could not be scored."""
    n_requests: int = 0
    n_answered: int = 0
    n_journaled: int = 0
    """Requests answered by an earlier attempt."""
    n_cached: int = 0
    """Requests answered from the cache."""
    share_done: float = 0.0
    """From 0 to 1."""
    n_judge_prompts: int = 0
    """Prompts sent to a judge so far; judging starts after all samples of a task are answered."""
    n_judge_replies: int = 0
    n_judge_failed: int = 0
    """Failed requests to the judge."""


class EvaluationBody(msgspec.Struct, frozen=True):
    """An evaluation."""

    id: int
    state: str
    """`queued`, `running`, `stopping`, `stopped`, `complete` or `failed`."""
    model: str
    datasets: tuple[str, ...]
    settings: dict[str, Any]
    """Settings from the request and the datasets; all others have their defaults."""
    run: str
    """The name of its run; the page is /runs/RUN."""
    submitted_by: str
    priority: int
    submitted_at: str
    """UTC, ISO 8601, like all times."""
    started_at: str | None
    finished_at: str | None
    attempt: int
    """Number of times a worker started it; more than 1 after a worker died or the server restarted."""
    progress: ProgressBody
    problems: tuple[ErrorBody, ...]
    """Why it failed."""

    @classmethod
    def of(cls, job: Job) -> EvaluationBody:
        """Return the body of an evaluation."""
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
    """A queued evaluation."""

    evaluation: EvaluationBody
    tasks: tuple[CheckedTask, ...]
    """The interpretation of its datasets."""


class ResultsBody(msgspec.Struct, frozen=True):
    """The results of an evaluation."""

    id: int
    state: str
    run: str
    metrics: tuple[Metric, ...]
    """One for each task, method, metric and group; empty while the evaluation is not complete."""
    notes: tuple[str, ...]
    """Notes on what was inferred or tolerated."""


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
        """Return the body of a token."""
        expires = None if token.expires_at is None else _time(token.expires_at)
        return cls(token.name, token.role, _time(token.created_at), expires)


class VisitorBody(msgspec.Struct, frozen=True):
    """The visitor who sent the request."""

    name: str | None
    """The token's name, recorded with submitted evaluations; null without a token."""
    role: str
    """`reader`, `runner` or `owner`."""


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
