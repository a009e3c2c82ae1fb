"""The records of a run: enough to repeat it, and to detect that another run must not continue it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from assay.core.billing import Price
from assay.core.difference import AppliedDifference
from assay.core.ids import digest
from assay.core.model import ModelCard, ModelIdentity
from assay.core.summary_group import SummaryGroup
from assay.core.task import ComponentSpec, TaskSpec

SCHEMA_VERSION = 1


class RunStatus(StrEnum):
    """The state of a run."""

    RUNNING = "running"
    ANSWERED = "answered"
    """All answers are stored but not scored yet."""
    COMPLETE = "complete"
    UNSCORED = "unscored"
    """The run is complete, but no task has a score."""
    STOPPED = "stopped"
    """The run reached its budget; its answers are stored."""

    @property
    def is_finished(self) -> bool:
        """Whether all answers were scored, or every attempt to score them was made."""
        return self in (RunStatus.COMPLETE, RunStatus.UNSCORED)


class UnscoredTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """A task whose headline metric has no value for one method."""

    task: str
    method: str
    why: str
    is_fault: bool = True
    """False if the dataset has nothing to score by: no right answers, or no metric."""


class Setting(msgspec.Struct, frozen=True):
    """A value and its origin: flag, env, file or default."""

    value: Any
    source: str


class Cost(msgspec.Struct):
    """The cost of one method of one task."""

    task: str
    method: str
    """A `Method`, or `preparation`: requests before those of the samples."""
    n_requests: int = 0
    n_prompt_tokens: int = 0
    n_scored_tokens: int = 0
    n_generated_tokens: int = 0
    n_thinking_tokens: int = 0
    """Those of the generated tokens that belong to thoughts."""
    n_thoughts: int = 0
    """Answers with a thought."""
    n_cut_thoughts: int = 0
    """Those of them whose text was truncated before the answer began."""
    seconds: float = 0.0
    """Model time. Journaled answers count with their original time, cached ones with zero."""
    usd: float = 0.0
    """Cost of the requests whose cost is known. Cached answers cost nothing."""
    n_unpriced: int = 0
    """Answers whose cost is not known."""
    n_shots: int = 0
    """Solved examples shown, over all samples."""
    n_shots_left_out: int = 0
    """Examples omitted because they do not fit into the model's context."""
    n_shortened: int = 0
    """Samples with fewer examples for that reason."""

    def add(self, other: Cost) -> None:
        """Add the cost of another to this one."""
        for name in self.__struct_fields__:
            if name not in ("task", "method"):
                setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def n_tokens(self) -> int:
        """Return all tokens read, scored or written."""
        return self.n_prompt_tokens + self.n_scored_tokens + self.n_generated_tokens


class Charge(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run's requests to one model cost."""

    role: str
    """`model` or `judge`."""
    model: str
    usd: float
    n_priced: int = 0
    """Requests whose cost is known."""
    n_unpriced: int = 0
    """Answers whose cost is not known: they are missing in `usd`."""
    n_reused: int = 0
    """Answers that cost nothing: from the cache, or to a request that another one repeats."""
    n_input_tokens: int = 0
    n_cached_input_tokens: int = 0
    """Those that the provider read from its prompt cache."""
    n_output_tokens: int = 0
    price: Price | None = None
    """The price in assay.toml; None: the server reported the cost."""
    is_batch: bool = False


class Spread(msgspec.Struct, frozen=True):
    """The distribution of values, in their own unit."""

    n: int
    mean: float
    p50: float
    p90: float
    p99: float
    max: float


class ServerSpeed(msgspec.Struct, frozen=True):
    """How fast a server answered a run's own requests, without failed and cached ones."""

    n_requests: int
    seconds: float
    """Wall time of all requests, including failed ones, over all starts of the run."""
    n_input_tokens: int
    n_output_tokens: int
    """As counted by the server; 0 if it does not report them."""
    latency: Spread
    """Seconds from the first attempt to the complete answer."""
    first_text: Spread | None = None
    """Seconds to the first text of streamed answers."""


class Scoring(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a run's answers were scored again, after the run."""

    number: int
    """Among all scorings of the run; the run's own is the first."""
    label: str
    made: str
    """UTC, ISO 8601."""
    chosen: dict[str, Any] = {}
    """The requested options, by their command-line names; empty: score as the run did."""
    versions: dict[str, str] = {}
    journal_bytes: int = 0
    """Length of the journal of answers. It only grows, so a resumed run has other answers."""


class LogFact(StrEnum):
    """A fact about a run or its samples that a log of another program may not hold. In words for people."""

    MODEL = "model"
    STARTED = "start time"
    DURATION = "duration"
    VERSIONS = "software versions"
    SETTINGS = "settings"
    N_ROWS = "size of the dataset"
    QUESTIONS = "questions"
    RIGHT_ANSWERS = "right answers"
    PROMPTS = "prompts"
    RESPONSES = "responses"
    N_TOKENS = "token counts"
    TIMES = "time per request"
    SAMPLING = "sampling parameters"
    FINISH = "why generation ended"
    EXTRACTED = "extracted answers"
    UNANSWERED = "unanswered samples"
    """Whether a wrong sample has a wrong answer or none."""
    FAILED = "failed samples"


class LoggedMetric(msgspec.Struct, frozen=True, omit_defaults=True):
    """A number that an imported log gives for a task. Assay computes its own beside it."""

    task: str
    metric: str
    value: float
    stderr: float | None = None
    n: int | None = None
    """Number of samples; None: not in the log."""
    method: str | None = None
    """None: the task's only method."""
    group: str | None = None
    """The part of the task; None: the whole task."""


class ImportedLog(msgspec.Struct, frozen=True, omit_defaults=True):
    """The log of another program that a run was imported from, and what that log does not say."""

    format: str
    """The name of its format, as in `assay import --from`."""
    path: str
    """The file or folder as the user named it."""
    digest: str
    """Hash of the log's files."""
    made: str
    """When it was imported: UTC, ISO 8601."""
    assay: str
    """The version of Assay that imported it."""
    settings: dict[str, Any] = {}
    """The settings of the original run, under its own names."""
    unknown: tuple[LogFact, ...] = ()
    """Facts that the log does not hold for any sample. Empty and zero values of these facts in the run's
    other files mean that they are not in the log."""
    metrics: tuple[LoggedMetric, ...] = ()
    """The log's own numbers."""


class RunManifest(msgspec.Struct, frozen=True):
    """A state: stored as manifest.json when the run starts, and again when it ends."""

    id: str
    tasks: tuple[TaskSpec, ...]
    model: ModelIdentity
    settings: dict[str, Setting]
    versions: dict[str, str]
    started: str
    """UTC, ISO 8601; empty if an imported log does not say."""
    status: RunStatus = RunStatus.RUNNING
    finished: str | None = None
    seconds: float | None = None
    costs: tuple[Cost, ...] = ()
    stats: dict[str, float] = {}
    """Counters of the engine and the backend: requests, cache hits, padding."""
    notes: tuple[str, ...] = ()
    """What was inferred or tolerated, in words."""
    disagreements: dict[str, int] = {}
    """For each task with several methods: the number of samples on which their answers differ."""
    agreement_untold: dict[str, int] = {}
    """The number of samples of such tasks for which this cannot be determined: one method answers with an
    option and another with a text, or with a value that is not an answer."""
    judge: ModelIdentity | None = None
    """The model that graded answers."""
    card: ModelCard | None = None
    """The model's capabilities, for scoring its answers later without it."""
    charges: tuple[Charge, ...] = ()
    """What the model and the judge cost, if that is known."""
    speed: ServerSpeed | None = None
    """How fast the model's server was, if it has one."""
    failures: dict[str, int] = {}
    """Failed samples by their first error: the kind of a request's failure, or `scoring`."""
    unscored: tuple[UnscoredTask, ...] = ()
    """The tasks and methods without a score."""
    groups: dict[str, tuple[str, ...]] = {}
    """Tasks that are also reported together, by the name of their group."""
    summary_groups: tuple[SummaryGroup, ...] = ()
    """How these groups are aggregated, for scoring the answers again."""
    scorers: dict[str, tuple[ComponentSpec, ...]] = {}
    """The named components that score each task, one per method; empty if the author's code does, which
    cannot be stored."""
    scoring: Scoring | None = None
    """None: the run's own score."""
    imported: ImportedLog | None = None
    """The log of another program that the run was imported from; None for a run of Assay itself."""
    label: str | None = None
    """The name that the user gave the model; not part of its identity."""
    prompt: str | None = None
    """The name of the prompt template, if the command named it; not part of the task's identity."""
    schema_version: int = SCHEMA_VERSION

    @property
    def model_title(self) -> str:
        """Return the model's name for tables and pages: its label, or its name without a server's address."""
        return self.label or self.model.title

    @property
    def title(self) -> str:
        """Return the model's name, with that of the prompt if it has one."""
        return f"{self.model_title} · {self.prompt}" if self.prompt else self.model_title

    def lacks(self, fact: LogFact) -> bool:
        """Whether the run was imported from a log that does not hold a fact."""
        return self.imported is not None and fact in self.imported.unknown

    @property
    def fingerprint(self) -> str:
        """Return the hash of everything that determines answers and scores; equal runs can be resumed."""
        return run_fingerprint(self.tasks, self.model, self.judge)


def run_fingerprint(
    tasks: tuple[TaskSpec, ...], model: ModelIdentity, judge: ModelIdentity | None = None
) -> str:
    """Return a hash that is equal for two runs exactly if one may continue the other.

    The path and the name of the dataset do not count, but its content does. The outcome of a task's
    preparation does not count either: it follows from the requests to the model, which do. Differences from
    an original count by name and by whether the run reproduced the original, not by their words.
    """
    asked = [
        msgspec.structs.replace(
            task,
            source="",
            benchmark=None,
            chosen={},
            differences=tuple(_drop_words(one) for one in task.differences),
        )
        for task in tasks
    ]
    models = [model.deciding] if judge is None else [model.deciding, judge.deciding]
    return digest((asked, *models))


def _drop_words(difference: AppliedDifference) -> AppliedDifference:
    return AppliedDifference(difference.name, "", "", is_reproduced=difference.is_reproduced)
