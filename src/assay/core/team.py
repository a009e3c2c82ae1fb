"""What a team server stores: evaluations, models, datasets and access tokens."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from assay.core.errors import Problem
from assay.core.roles import Role

LARGEST_NUMBER = 2**31 - 1
"""The largest job number that both databases support."""


class JobState(StrEnum):
    """The state of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    STOPPING = "stopping"
    """Its worker was asked to stop, and has not stopped yet."""
    STOPPED = "stopped"
    COMPLETE = "complete"
    FAILED = "failed"


ACTIVE_STATES = (JobState.RUNNING, JobState.STOPPING)
ENDED_STATES = (JobState.STOPPED, JobState.COMPLETE, JobState.FAILED)


class Job(msgspec.Struct, frozen=True):
    """The state of a job at one moment."""

    id: int
    state: JobState
    model: str
    datasets: tuple[str, ...]
    settings: dict[str, Any]
    plan: bytes
    run: str
    """The name of its run folder."""
    submitted_by: str
    priority: int
    submitted_at: float
    """Seconds since 1970, as all times here."""
    started_at: float | None
    """Time of the first claim."""
    finished_at: float | None
    attempt: int
    """Number of claims so far."""
    progress: dict[str, Any]
    """Progress as last reported by its worker."""
    problems: tuple[Problem, ...]
    """Why it failed."""
    version: int
    """Increases with every change."""

    @property
    def has_ended(self) -> bool:
        """Whether nothing more happens without an action by a user."""
        return self.state in ENDED_STATES


class RegisteredModel(msgspec.Struct, frozen=True):
    """A model that can be evaluated."""

    name: str
    spec: str
    """The argument of `--model`, such as `openai:qwen@http://127.0.0.1:8000/v1`."""
    args: dict[str, str] = {}
    """The arguments of `--model-arg`; a secret is the name of an environment variable (`key_env`)."""
    description: str = ""
    workers: int | None = None
    """The argument of `--workers`: the number of copies that answer."""
    on: str | None = None
    """The argument of `--on`: the cluster of the copies."""
    registered_by: str = ""
    registered_at: float = 0.0
    """Seconds since 1970."""


class Provenance(StrEnum):
    """How a dataset was added."""

    FOLDER = "folder"
    """From a folder given by the owner."""
    UPLOAD = "upload"


class RegisteredDataset(msgspec.Struct, frozen=True):
    """A dataset that models can be evaluated on."""

    name: str
    place: str
    """The argument of `assay run`: a path, or `folder:name`."""
    dialect: str
    """The format it is written in."""
    provenance: Provenance
    explanation: str = ""
    """What it tests, in one sentence."""
    abilities: tuple[str, ...] = ()
    """The abilities it tests, by which leaderboards group it."""
    metrics: tuple[str, ...] = ()
    headline: str | None = None
    """The metric that a leaderboard shows; None: the method's main metric."""
    settings: dict[str, Any] = {}
    """Default settings of its evaluations."""
    added_by: str = ""
    added_at: float = 0.0
    """Seconds since 1970."""


class Token(msgspec.Struct, frozen=True):
    """A token without its secret, for lists."""

    name: str
    role: Role
    created_at: float
    """Seconds since 1970."""
    expires_at: float | None
    """None: never."""
