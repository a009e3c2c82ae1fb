"""The contract between dialects and the engine: tasks, their settings and their scorers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import msgspec

from assay.core.difference import AppliedDifference
from assay.core.limit import Limit
from assay.core.method import Method
from assay.core.request import Kind, Request, WindowScheme
from assay.core.response import Response
from assay.core.sample import Sample
from assay.core.score import Metric, Score


class ComponentSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A component named by a person or a dialect, from which the application creates an object."""

    name: str
    args: dict[str, Any] = {}


class TaskSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """The user's settings for a task in any dialect. None: the dataset decides, then the dialect."""

    methods: tuple[Method, ...] | None = None
    is_chat: bool = False
    """Whether prompts are conversations for the model's chat template instead of plain text."""
    shots: int | None = None
    """Number of solved examples before each question; 0 if the dataset does not specify it either."""
    shots_from: str | None = None
    """A file or split with solved examples; None: the dataset itself, without the sample."""
    shot_policy: str | None = None
    """`first` or `random`."""
    seed: int = 0
    has_default_seed: bool = True
    """Whether the user chose no seed. A faithful run then uses the original's default."""
    is_faithful: bool = False
    """Whether to reproduce the original system's behaviour where Assay differs."""
    score_by: str | None = None
    """The normalisation that decides between options; None: the dialect's default."""
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: tuple[str, ...] | None = None
    windows: WindowScheme | None = None
    """How texts longer than the model's context are scored."""
    window_tokens: int | None = None
    stride: int | None = None
    samples: int | None = None
    """Number of answers per question, for a vote or for pass@k; 1 if not specified."""
    cot: str | None = None
    """The kind of reasoning, under the dataset's own name for it."""
    is_scored: bool = True
    """Whether this run scores answers. If not, a dataset needs no right answers."""
    limit: Limit | None = None
    """For dialects that must limit a dataset themselves."""
    takes_parameters: bool = False
    """Whether the model accepts further sampling parameters under the names of UltraEval's servers."""
    include_path: tuple[str, ...] = ()
    """Further folders of lm-eval's task files."""
    dataset_args: dict[str, str] = {}
    """Settings of a single dialect, under its own names."""


class TaskSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A task as stored in the manifest."""

    name: str
    dialect: str
    source: str
    """The file or dataset that it was compiled from."""
    data_hash: str
    """Hash of every file that samples and examples come from."""
    methods: tuple[Method, ...]
    n_samples: int
    """Number of samples to evaluate, after any limit."""
    n_rows: int
    """Number of rows in the dataset."""
    settings: dict[str, Any] = {}
    """Everything that determines a prompt or a score: templates, columns, shots, limit, seed."""
    differences: tuple[AppliedDifference, ...] = msgspec.field(default=(), name="quirks")
    """The differences from the original system that affect this task."""
    family: str | None = None
    """The dataset of which it is a subset; subsets of one dataset are also reported together."""
    categories: tuple[str, ...] = ()
    """The categories of the dataset that it belongs to."""
    chosen: dict[str, Any] = {}
    """The outcome of preparing with the model, such as the order of examples. It follows from everything else
    and from the model, so it does not distinguish runs."""
    benchmark: str | None = None
    """The benchmark as the user named it, such as `opencompass:gsm8k_gen`; `source` then is its file."""

    @property
    def display_source(self) -> str:
        """Return the dataset as the user named it."""
        return self.benchmark or self.source


class AnsweredRequest(NamedTuple):
    """A request with its response."""

    request: Request
    response: Response


@runtime_checkable
class Scorer(Protocol):
    """Turns the responses of one track into scores, one sample at a time."""

    track: Method

    def score(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Score:
        """Return the sample's score. A failed request gives a FAILED score, never a wrong one."""


class Evaluation(NamedTuple):
    """The result of scoring a whole list."""

    scores: Sequence[Score]
    """One per sample, in order."""
    metrics: Sequence[Metric] = ()
    """Values that are not means over the samples, such as a corpus BLEU."""
    lower_is_better: frozenset[str] = frozenset()
    """Names of metrics where lower is better."""
    off_scale: frozenset[str] = frozenset()
    """Names of metrics that are not shares between 0 and 1."""
    notes: Sequence[str] = ()
    """Notes for the user about how it was scored."""
    digits: int | None = None
    """Decimals to which values over all samples are rounded; None: not rounded."""
    judged_by: frozenset[tuple[str, str, str]] = frozenset()
    """Tasks, tracks and metrics that the table of results lists, in addition to those of `scores`."""


@runtime_checkable
class RunningScorer(Scorer, Protocol):
    """Scores samples as they arrive, and returns results over all of them at the end."""

    def finish(self) -> Evaluation:
        """Return the results over all scored samples, without their scores."""


class CorpusScorer(Protocol):
    """Scores a track after all of its samples arrived, because its metrics need whole lists."""

    track: Method

    def add(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> None:
        """Add one sample; keeps what it needs of the answers."""

    def finish(self) -> Evaluation:
        """Return the scores of all added samples."""


class Task(Protocol):
    """A controller: code created by a dialect, never stored."""

    @property
    def spec(self) -> TaskSpec:
        """Return what the manifest records."""

    @property
    def kinds(self) -> frozenset[Kind]:
        """Return the kinds of ask it will make, so that a backend can be checked first."""

    def samples(self) -> Iterator[Sample]:
        """Yield the samples in the order of the dataset, reading lazily."""

    def requests(self, sample: Sample, *, shots: int | None = None) -> Sequence[Request]:
        """Return the requests for a sample. Depends only on the sample and the seed.

        `shots` limits the solved examples in a prompt; further examples are omitted completely. The requests
        record how many they show and omit. None: all examples of the task.
        """

    def scorers(self) -> Sequence[ComponentSpec | Scorer | CorpusScorer]:
        """Return how its tracks are scored: by name, or by the author's own code."""


Rehearse: TypeAlias = Callable[[Sequence[Task]], Sequence[Sequence[Score]]]
"""Runs small tasks through the run's own journal and cache; returns the scores of each task, in the order of
its samples."""


@runtime_checkable
class PreparingTask(Protocol):
    """A task that may need answers of the model before it can make the requests for its samples."""

    def prepare(self, rehearse: Rehearse) -> Sequence[str]:
        """Prepare the task; return what was chosen, in words. `spec.chosen` then contains it."""
