"""What a run was: enough to repeat it, and to refuse to mix it with another."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from assay.core.ids import digest
from assay.core.model import ModelIdentity
from assay.core.task import TaskSpec

SCHEMA_VERSION = 1


class RunStatus(StrEnum):
    """How far a run has come."""

    RUNNING = "running"
    COMPLETE = "complete"


class Setting(msgspec.Struct, frozen=True):
    """A value and where it came from: flag, env, file or default."""

    value: Any
    source: str


class RunManifest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A state: stored as manifest.json when the run starts, and again when it ends."""

    id: str
    tasks: tuple[TaskSpec, ...]
    model: ModelIdentity
    settings: dict[str, Setting]
    versions: dict[str, str]
    started: str
    """UTC, ISO 8601."""
    status: RunStatus = RunStatus.RUNNING
    finished: str | None = None
    seconds: float | None = None
    stats: dict[str, float] = {}
    """Counters of the engine and the backend: requests, cache hits, tokens."""
    disagreements: dict[str, int] = {}
    """For each task with several methods: samples on which their answers differ."""
    schema_version: int = SCHEMA_VERSION

    @property
    def fingerprint(self) -> str:
        """Return the hash of what decides every answer and score; equal runs can be resumed."""
        return run_fingerprint(self.tasks, self.model)


def run_fingerprint(tasks: tuple[TaskSpec, ...], model: ModelIdentity) -> str:
    """Return the hash that two runs share exactly when one may continue the other."""
    return digest((tasks, model))
