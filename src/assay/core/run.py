"""What a run was: enough to repeat it, and to refuse to mix it with another."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from assay.core.ids import digest
from assay.core.model import ModelCard, ModelIdentity
from assay.core.summary_group import SummaryGroup
from assay.core.task import ComponentSpec, TaskSpec

SCHEMA_VERSION = 1


class RunStatus(StrEnum):
    """How far a run has come."""

    RUNNING = "running"
    ANSWERED = "answered"
    """The model's answers are all there, and are not scored yet."""
    COMPLETE = "complete"
    UNSCORED = "unscored"
    """The run is complete, and no task has a score."""

    @property
    def is_finished(self) -> bool:
        """Whether all answers were scored, or every attempt to score them was made."""
        return self in (RunStatus.COMPLETE, RunStatus.UNSCORED)


class UnscoredTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """A task whose headline metric has no value by one method."""

    task: str
    method: str
    why: str
    is_fault: bool = True
    """False where the dataset gives nothing to score by: no right answers, or no metric."""


class Setting(msgspec.Struct, frozen=True):
    """A value and where it came from: flag, env, file or default."""

    value: Any
    source: str


class Cost(msgspec.Struct):
    """What one method of one task took."""

    task: str
    method: str
    """Or `preparation`: what was asked before the samples."""
    n_requests: int = 0
    n_prompt_tokens: int = 0
    n_scored_tokens: int = 0
    n_generated_tokens: int = 0
    seconds: float = 0.0
    """Model time; rows answered by the journal count with the time they took then, cached ones with none."""
    n_shots: int = 0
    """Solved examples shown, over all samples."""
    n_shots_left_out: int = 0
    """Examples left out, since the model cannot read so much."""
    n_shortened: int = 0
    """Samples that were shown fewer examples for it."""

    def add(self, other: Cost) -> None:
        """Take what another took as part of this."""
        for name in self.__struct_fields__:
            if name not in ("task", "method"):
                setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def n_tokens(self) -> int:
        """Return all tokens read, scored or written."""
        return self.n_prompt_tokens + self.n_scored_tokens + self.n_generated_tokens


class Spread(msgspec.Struct, frozen=True):
    """How a number of values lie, in their own unit."""

    n: int
    mean: float
    p50: float
    p90: float
    p99: float
    max: float


class ServerSpeed(msgspec.Struct, frozen=True):
    """How fast a server answered a run's own requests; failed and cached ones are not among them."""

    n_requests: int
    seconds: float
    """Wall time in which they were answered, and others failed, over all starts of the run."""
    n_input_tokens: int
    n_output_tokens: int
    """As the server counted; 0 where it does not."""
    latency: Spread
    """Seconds from the first attempt to the whole answer."""
    first_text: Spread | None = None
    """Seconds to the first text, of the answers that came as streams."""


class Scoring(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a run's answers were scored again, after the run."""

    number: int
    """Of all scorings of the run; the run's own is the first."""
    label: str
    made: str
    """UTC, ISO 8601."""
    chosen: dict[str, Any] = {}
    """What was asked for, by the names of the command line; nothing: to score as the run did."""
    versions: dict[str, str] = {}
    journal_bytes: int = 0
    """How long the journal of answers was. It only grows, so a run that went on since has other answers."""


class RunManifest(msgspec.Struct, frozen=True):
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
    costs: tuple[Cost, ...] = ()
    stats: dict[str, float] = {}
    """Counters of the engine and the backend: requests, cache hits, padding."""
    notes: tuple[str, ...] = ()
    """What was inferred or let pass, in words."""
    disagreements: dict[str, int] = {}
    """For each task with several methods: samples on which their answers differ."""
    agreement_untold: dict[str, int] = {}
    """Samples of such tasks of which that cannot be told: one method answers with an option and another with
    a text, or with a value and no answer."""
    judge: ModelIdentity | None = None
    """The model that graded answers."""
    card: ModelCard | None = None
    """What the model could do, for whoever scores its answers when it is gone."""
    speed: ServerSpeed | None = None
    """How fast the model's server was, where it has one."""
    failures: dict[str, int] = {}
    """Failed samples by their first trouble: the kind of a request's failure, or `scoring`."""
    unscored: tuple[UnscoredTask, ...] = ()
    """The tasks and methods without a score."""
    groups: dict[str, tuple[str, ...]] = {}
    """Tasks that are also reported together, by the name of their group."""
    summary_groups: tuple[SummaryGroup, ...] = ()
    """How these groups are joined, for whoever scores the answers again."""
    scorers: dict[str, tuple[ComponentSpec, ...]] = {}
    """The named parts that score each task, one for a method; none where code of its author does, which
    cannot be stored."""
    scoring: Scoring | None = None
    """None: the score is the run's own."""
    schema_version: int = SCHEMA_VERSION

    @property
    def fingerprint(self) -> str:
        """Return the hash of what decides every answer and score; equal runs can be resumed."""
        return run_fingerprint(self.tasks, self.model, self.judge)


def run_fingerprint(
    tasks: tuple[TaskSpec, ...], model: ModelIdentity, judge: ModelIdentity | None = None
) -> str:
    """Return the hash that two runs share exactly when one may continue the other.

    How the dataset's path was written does not count; what is in the file does. Nor does what a task found
    out beforehand: it follows from what it asked the model, and that counts.
    """
    asked = [msgspec.structs.replace(task, source="", chosen={}) for task in tasks]
    models = [model.deciding] if judge is None else [model.deciding, judge.deciding]
    return digest((asked, *models))
