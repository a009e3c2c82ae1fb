"""The JSON that commands print with --json. These types are the schema; tests decode every answer with them.

docs/reference/json.md describes them. `kind` names the type of an answer. Later versions may add fields and
values, but never remove a field.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from assay.app.allowed_failures import is_failed
from assay.app.benchmarks import ListedBenchmark, ListedSource
from assay.app.config_report import ConfigReport
from assay.app.dataset_list import ListedDataset
from assay.app.dataset_state import DatasetState
from assay.app.hub_datasets import ListedHubDataset
from assay.app.tracking import TrackingResult
from assay.core.annotation import Annotation
from assay.core.errors import Problem
from assay.core.estimate import Estimate
from assay.core.method import Method
from assay.core.model import ModelIdentity, Token
from assay.core.prompt import Prompt
from assay.core.response import Response
from assay.core.run import Charge, RunManifest, RunStatus, Scoring, UnscoredTask
from assay.core.sample import Sample
from assay.core.score import Attempt, Metric, Score
from assay.results.charges import compute_total_usd
from assay.results.comparison import Flips, RunComparison
from assay.results.gate import Gate
from assay.results.leaderboard.board import Board
from assay.results.records import AskRecord
from assay.results.run_difference import RunDifference, SampleDifference
from assay.results.scoring_changes import ScoringChanges

if TYPE_CHECKING:
    from assay.app.explain import Explanation
    from assay.app.run_groups import GroupResult


class AnnotationsAnswer(msgspec.Struct, frozen=True, tag="annotations", tag_field="kind"):
    """The tags and notes of a run and its samples: `assay note`."""

    annotations: tuple[Annotation, ...]


class ThinkingCounts(msgspec.Struct, frozen=True):
    """The thoughts of one method of a task."""

    task: str
    method: str
    n_thoughts: int
    n_thinking_tokens: int
    """0: the server does not report them."""
    n_cut: int
    """Thoughts truncated before the answer began."""


class TaskCost(msgspec.Struct, frozen=True):
    """What one method of a task cost, without its judge."""

    task: str
    method: str
    usd: float
    n_unpriced: int


class CostAnswer(msgspec.Struct, frozen=True):
    """What a run cost."""

    usd: float
    """US dollars, of all requests whose cost is known."""
    is_complete: bool
    """Whether the cost of every answer is known."""
    charges: tuple[Charge, ...]
    """The cost of the model and of the judge."""
    tasks: tuple[TaskCost, ...]


class RunAnswer(msgspec.Struct, frozen=True, tag="run", tag_field="kind"):
    """A run: `assay run`, `assay report`, and each run of `assay ls`."""

    id: str
    folder: str
    status: RunStatus
    model: str
    tasks: tuple[str, ...]
    metrics: tuple[Metric, ...]
    """As in summary.json; empty while the run is not complete."""
    n_samples: int
    n_failed: int
    failures: dict[str, int]
    """Failed samples by the reason of their first failure."""
    is_failed: bool
    """Whether more samples failed than `--allow-failures` permits, scoring a task failed, or no task has a
    score: then the exit status of a run is 3."""
    unscored: tuple[UnscoredTask, ...]
    """The tasks and methods without a score, and why."""
    notes: tuple[str, ...]
    """Notes and warnings about the run."""
    started: str
    finished: str | None
    seconds: float | None
    thinking: tuple[ThinkingCounts, ...] = ()
    """How much the model thought, for each task and method; empty if it did not think."""
    cost: CostAnswer | None = None
    """None: not known, as for a local model."""
    label: str | None = None
    """The name that the user gave the model."""
    prompt: str | None = None
    """The name of the prompt template."""
    tracking: tuple[TrackingResult, ...] = ()
    """Where `--track` logged the run."""


class GroupMemberAnswer(msgspec.Struct, frozen=True):
    """One run of a group."""

    model: str
    """The model's label, or its name without the address of a server."""
    prompt: str | None
    run: RunAnswer | None
    """None if the run failed before it began."""
    problems: tuple[Problem, ...]
    """Why the run failed; empty if it did not."""


class RunGroupAnswer(msgspec.Struct, frozen=True, tag="run_group", tag_field="kind"):
    """Several runs: `assay run` with several models or prompts, and `assay report` of a group."""

    id: str
    folder: str
    runs: tuple[GroupMemberAnswer, ...]
    """In the order of the command."""
    comparison: RunComparison | None
    """As in `assay compare`; its sides are the runs with scores. None if fewer than two have scores."""
    page: str | None
    """The page that compares the runs."""
    notes: tuple[str, ...]
    """Why runs are not compared."""
    started: str
    finished: str | None


class RunsAnswer(msgspec.Struct, frozen=True, tag="runs", tag_field="kind"):
    """`assay ls`."""

    runs: tuple[RunAnswer, ...]
    """Latest last, each with its headline metrics."""
    benchmarks: tuple[str, ...]
    """Folders of serving benchmarks."""
    problems: tuple[Problem, ...] = ()
    """Problems of runs that cannot be read and are not listed."""
    groups: tuple[str, ...] = ()
    """Folders of groups of runs."""


class ScoringAnswer(msgspec.Struct, frozen=True, tag="scoring", tag_field="kind"):
    """`assay score`."""

    run: str
    """Folder of the run; the new scoring is its current one."""
    scoring: Scoring | None
    judge: ModelIdentity | None
    metrics: tuple[Metric, ...]
    changes: ScoringChanges
    """Changes from the run's own scoring."""
    n_failed: int
    failures: dict[str, int]
    notes: tuple[str, ...]


class ListedScoringAnswer(msgspec.Struct, frozen=True):
    """One scoring of a run."""

    name: str
    is_shown: bool
    is_of_older_answers: bool
    scoring: Scoring | None
    """None for the run's own scoring."""
    judge: ModelIdentity | None
    metrics: tuple[Metric, ...]
    """The headline metric of each task and method."""
    differences: tuple[float | None, ...]
    """The difference of each from the run's own scoring."""


class ScoringsAnswer(msgspec.Struct, frozen=True, tag="scorings", tag_field="kind"):
    """`assay score --list-scorings` and `--use`."""

    scorings: tuple[ListedScoringAnswer, ...]


class ScorersAnswer(msgspec.Struct, frozen=True, tag="scorers", tag_field="kind"):
    """`assay score --list`."""

    extractors: tuple[str, ...]
    metrics: tuple[str, ...]


class DatasetsAnswer(msgspec.Struct, frozen=True, tag="datasets", tag_field="kind"):
    """`assay ls datasets`."""

    datasets: tuple[ListedDataset, ...]
    hub: tuple[ListedHubDataset, ...] = ()
    """The named datasets on the hub."""


class FindingAnswer(msgspec.Struct, frozen=True):
    """A finding about a dataset."""

    is_warning: bool
    text: str


class PromptAnswer(msgspec.Struct, frozen=True):
    """A prompt as it will be sent."""

    sample: str
    method: Method
    prompt: Prompt


class TaskAnswer(msgspec.Struct, frozen=True):
    """How Assay interprets a dataset or one subset of it."""

    name: str
    dialect: str
    type: str
    """The type of dataset, in one word."""
    methods: tuple[Method, ...]
    n_rows: int
    n_samples: int
    facts: dict[str, str]
    """Facts by name."""
    notes: tuple[str, ...]
    findings: tuple[FindingAnswer, ...]
    prompts: tuple[PromptAnswer, ...]


class CheckedAnswer(msgspec.Struct, frozen=True):
    """The result of checking one dataset."""

    name: str
    state: DatasetState
    methods: tuple[Method, ...]
    n_rows: int
    problems: tuple[Problem, ...]
    """The first problems, or the missing data; when checking many datasets, only the first of each."""
    n_problems: int


class CheckAnswer(msgspec.Struct, frozen=True, tag="check", tag_field="kind"):
    """`assay check`. Problems of a dataset are its answer, with exit status 1."""

    datasets: tuple[CheckedAnswer, ...]
    tasks: tuple[TaskAnswer, ...]
    """Details of a single dataset; empty when checking many, or if it has errors."""
    findings: tuple[FindingAnswer, ...]
    """Findings about the files themselves."""
    skipped: tuple[str, ...]
    """Files of a folder that are not datasets."""
    n_warnings: int
    estimate: Estimate | None = None
    """What a run would need: with --estimate."""


class AskAnswer(msgspec.Struct, frozen=True):
    """One ask with its tokens, response and extraction."""

    ask: AskRecord
    tokens: tuple[Token, ...]
    """The tokens of the prompt; empty with --no-tokens."""
    response: Response | None
    attempts: tuple[Attempt, ...]
    """Every extraction rule tried on the output."""


class ExplainAnswer(msgspec.Struct, frozen=True, tag="explanation", tag_field="kind"):
    """`assay explain`."""

    task: str
    sample: Sample
    contexts: tuple[Prompt, ...]
    """The distinct prompts; asks refer to them by index."""
    asks: tuple[AskAnswer, ...]
    scores: tuple[Score, ...]


class FileAnswer(msgspec.Struct, frozen=True):
    """A file that a script wrote."""

    path: str
    n_rows: int
    change: str
    """`new`, `changed` or `as before`."""


class PreparedAnswer(msgspec.Struct, frozen=True):
    """One dataset folder and the result of its script."""

    folder: str
    state: DatasetState
    files: tuple[FileAnswer, ...]
    n_left_out: int
    """Raw rows that the script omitted, if known."""
    problem: Problem | None


class PrepareAnswer(msgspec.Struct, frozen=True, tag="prepared", tag_field="kind"):
    """`assay prepare`."""

    folders: tuple[PreparedAnswer, ...]


class NewAnswer(msgspec.Struct, frozen=True, tag="new", tag_field="kind"):
    """`assay new`."""

    dataset: str
    """What `assay run` takes."""
    files: tuple[str, ...]
    lacks: str | None
    """A package that must be installed first."""
    to_change: str
    """What to change to adapt it to your data."""


class InitAnswer(msgspec.Struct, frozen=True, tag="init", tag_field="kind"):
    """`assay init`."""

    dataset: str
    """What `assay run` takes."""
    meta_file: str
    """The written file."""
    meta: dict[str, Any]
    """Its content."""


class PageAnswer(msgspec.Struct, frozen=True):
    """A README and its disagreements with the configs."""

    path: str
    state: str
    """`up to date`, `wrote` or `changed`; with --check `would write` or `would change`."""
    disagreements: tuple[str, ...]


class DocsAnswer(msgspec.Struct, frozen=True, tag="docs", tag_field="kind"):
    """`assay docs`."""

    pages: tuple[PageAnswer, ...]
    problems: tuple[Problem, ...]
    """Problems of configs that do not load."""


class LeaderboardAnswer(msgspec.Struct, frozen=True, tag="leaderboard", tag_field="kind"):
    """`assay leaderboard`."""

    board: Board
    problems: tuple[Problem, ...]
    """Problems of runs that cannot be read and are not on the board."""


class ComparisonAnswer(msgspec.Struct, frozen=True, tag="comparison", tag_field="kind"):
    """`assay compare`."""

    comparison: RunComparison
    """All metrics that two sides share."""
    flips: tuple[Flips, ...]
    """At most `--flips` samples in each direction."""
    gate: Gate | None = None
    """The outcome of `--fail-if`."""


class GateAnswer(msgspec.Struct, frozen=True, tag="gate", tag_field="kind"):
    """`assay gate`."""

    run: RunAnswer
    gate: Gate
    comparison: RunComparison
    flips: tuple[Flips, ...]


class BaselineAnswer(msgspec.Struct, frozen=True, tag="baseline", tag_field="kind"):
    """`assay baseline`."""

    file: str
    run: str
    """The id of the run."""
    n_samples: int
    n_bytes: int
    n_failed: int
    """Samples that failed, and cannot be compared."""


class DiffAnswer(msgspec.Struct, frozen=True, tag="diff", tag_field="kind"):
    """`assay diff`."""

    diff: RunDifference


class SampleDiffAnswer(msgspec.Struct, frozen=True, tag="sample_diff", tag_field="kind"):
    """`assay diff --sample`."""

    sample: SampleDifference


class BenchmarksAnswer(msgspec.Struct, frozen=True, tag="benchmarks", tag_field="kind"):
    """`assay ls benchmarks`."""

    sources: tuple[ListedSource, ...]
    benchmarks: tuple[ListedBenchmark, ...]


class TrackingAnswer(msgspec.Struct, frozen=True, tag="tracking", tag_field="kind"):
    """`assay track`."""

    tracking: tuple[TrackingResult, ...]


class ConfigAnswer(msgspec.Struct, frozen=True, tag="config", tag_field="kind"):
    """`assay config`."""

    config: ConfigReport


CommandAnswer: TypeAlias = (
    RunAnswer
    | RunGroupAnswer
    | RunsAnswer
    | ScoringAnswer
    | ScoringsAnswer
    | ScorersAnswer
    | DatasetsAnswer
    | BenchmarksAnswer
    | ConfigAnswer
    | TrackingAnswer
    | CheckAnswer
    | ExplainAnswer
    | PrepareAnswer
    | NewAnswer
    | InitAnswer
    | DocsAnswer
    | LeaderboardAnswer
    | ComparisonAnswer
    | GateAnswer
    | BaselineAnswer
    | DiffAnswer
    | SampleDiffAnswer
)


def build_run_answer(
    folder: Path,
    manifest: RunManifest,
    metrics: Sequence[Metric],
    tracking: tuple[TrackingResult, ...] = (),
) -> RunAnswer:
    """Return the JSON answer of a run."""
    return RunAnswer(
        id=manifest.id,
        folder=str(folder),
        status=manifest.status,
        model=manifest.model.name,
        tasks=tuple(task.name for task in manifest.tasks),
        metrics=tuple(metrics),
        n_samples=sum(task.n_samples for task in manifest.tasks),
        n_failed=sum(manifest.failures.values()),
        failures=manifest.failures,
        is_failed=is_failed(manifest),
        unscored=manifest.unscored,
        notes=manifest.notes,
        started=manifest.started,
        finished=manifest.finished,
        seconds=manifest.seconds,
        thinking=tuple(
            ThinkingCounts(
                cost.task, cost.method, cost.n_thoughts, cost.n_thinking_tokens, cost.n_cut_thoughts
            )
            for cost in manifest.costs
            if cost.n_thoughts
        ),
        cost=_build_cost_answer(manifest),
        label=manifest.label,
        prompt=manifest.prompt,
        tracking=tracking,
    )


def _build_cost_answer(manifest: RunManifest) -> CostAnswer | None:
    usd = compute_total_usd(manifest)
    if usd is None:
        return None
    return CostAnswer(
        usd,
        not any(charge.n_unpriced for charge in manifest.charges),
        manifest.charges,
        tuple(TaskCost(cost.task, cost.method, cost.usd, cost.n_unpriced) for cost in manifest.costs),
    )


def build_group_answer(result: GroupResult, page: Path | None) -> RunGroupAnswer:
    """Return the JSON answer of a group of runs."""
    group = result.group.group
    members = zip(group.runs, result.rows, result.runs, strict=True)
    return RunGroupAnswer(
        id=group.id,
        folder=str(result.folder),
        runs=tuple(
            GroupMemberAnswer(
                row.model,
                row.prompt,
                None if run is None else build_run_answer(run.path, run.manifest, row.metrics),
                member.problems,
            )
            for member, row, run in members
        ),
        comparison=result.comparison,
        page=None if page is None else str(page),
        notes=result.notes,
        started=group.started,
        finished=group.finished,
    )


def build_explain_answer(explanation: Explanation) -> ExplainAnswer:
    """Return the JSON answer of an explained sample."""
    record = explanation.sample
    return ExplainAnswer(
        record.task,
        record.sample,
        record.contexts,
        tuple(AskAnswer(one.record, one.tokens, one.response, one.attempts) for one in explanation.asks),
        explanation.scores,
    )
