"""The contract between an authoring language and the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import msgspec

from assay.core.limit import Limit
from assay.core.request import Kind, Request, WindowScheme
from assay.core.response import Response
from assay.core.sample import Sample
from assay.core.score import Metric, Score


class ComponentSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part named by a person or a dialect; the wiring turns it into an object."""

    name: str
    args: dict[str, Any] = {}


class TaskSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a person asks of a task in any dialect; None leaves it to the dataset, then to the dialect."""

    methods: tuple[str, ...] | None = None
    """`ppl`, `prob`, `gen`."""
    is_chat: bool = False
    """Whether prompts are conversations for the model's chat template, or plain text."""
    shots: int | None = None
    """Solved examples before each question; where the dataset names no number either, none are shown."""
    shots_from: str | None = None
    """A file or a split to take solved examples from; None: the dataset itself, the sample left out."""
    shot_policy: str | None = None
    """`first` or `random`."""
    seed: int = 0
    has_default_seed: bool = True
    """Whether nobody chose the seed: an original's own default then applies where it is reproduced."""
    is_faithful: bool = False
    """Whether the original system's quirks are reproduced."""
    score_by: str | None = None
    """The normalisation that decides between options; None: as the dialect has it."""
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: tuple[str, ...] | None = None
    windows: WindowScheme | None = None
    """How texts longer than the model's context are scored."""
    window_tokens: int | None = None
    stride: int | None = None
    samples: int | None = None
    """Answers asked for each question: voted on, or counted for pass@k; where nobody says, one."""
    cot: str | None = None
    """The way of reasoning, by the dataset's own name for it."""
    is_scored: bool = True
    """Whether answers are scored in this run: where they are not, a dataset needs no right answers."""
    limit: Limit | None = None
    """For dialects that must cut a dataset down themselves."""
    takes_parameters: bool = False
    """Whether the model takes further sampling parameters by the names of UltraEval's servers."""
    dataset_args: dict[str, str] = {}
    """What only one dialect knows, by its own names."""


class OriginalDifference(msgspec.Struct, frozen=True):
    """A place where the original system and Assay differ, and what this run did."""

    name: str
    original: str
    """What the original does."""
    here: str
    """What this run did."""


class TaskSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A task as it is written into the manifest."""

    name: str
    dialect: str
    source: str
    """The dataset as the person named it."""
    data_hash: str
    """Hash of every file the samples and the shots come from."""
    methods: tuple[str, ...]
    n_samples: int
    """Samples that will be evaluated, after any limit."""
    n_rows: int
    """Rows the dataset has."""
    settings: dict[str, Any] = {}
    """Everything that decides a prompt or a score: templates, columns, shots, limit, seed."""
    quirks: tuple[OriginalDifference, ...] = ()
    """The quirks that touched this task."""
    family: str | None = None
    """The dataset that it is a subset of; subsets of one dataset are also reported together."""
    categories: tuple[str, ...] = ()
    """The dataset's categories that it belongs to."""
    chosen: dict[str, Any] = {}
    """What was found out by asking the model before the samples, such as the order of examples. It follows
    from all the rest and from the model, so it does not make one run another."""


class AnsweredRequest(NamedTuple):
    """A request together with what came back for it."""

    request: Request
    response: Response


@runtime_checkable
class Scorer(Protocol):
    """Turns the responses of one track into scores, one sample at a time."""

    track: str

    def score(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Score:
        """Return the sample's score. A failed request gives a FAILED score, never a wrong one."""


class Evaluation(NamedTuple):
    """What came out when a whole list was scored."""

    scores: Sequence[Score]
    """One for each sample, in order."""
    metrics: Sequence[Metric] = ()
    """Values that are no mean over the samples, such as a corpus's BLEU."""
    lower_is_better: frozenset[str] = frozenset()
    """Names of metrics of which less is more."""
    off_scale: frozenset[str] = frozenset()
    """Names of metrics that are no shares between 0 and 1."""
    notes: Sequence[str] = ()
    """What a person should know about how it was scored."""
    digits: int | None = None
    """Decimals that values over all samples are rounded to; None: they are left as they are."""
    judged_by: frozenset[tuple[str, str, str]] = frozenset()
    """Tasks, tracks and metrics that the table of results lists, beside those of `scores`."""


@runtime_checkable
class RunningScorer(Scorer, Protocol):
    """Scores samples as they come, and has something to say of all of them in the end."""

    def finish(self) -> Evaluation:
        """Return what there is to say of all samples that were scored, without their scores."""


class CorpusScorer(Protocol):
    """Scores a track when all of its samples are there, since its metrics look at whole lists."""

    track: str

    def add(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> None:
        """Take one sample; keeps what it needs of the answers."""

    def finish(self) -> Evaluation:
        """Return the scores of all samples taken."""


class Task(Protocol):
    """A controller: code made by a dialect, never stored."""

    @property
    def spec(self) -> TaskSpec:
        """Return what the manifest records."""

    @property
    def kinds(self) -> frozenset[Kind]:
        """Return the kinds of ask it will make, so that a backend can be checked first."""

    def samples(self) -> Iterator[Sample]:
        """Yield the samples in the dataset's order, reading as it goes."""

    def requests(self, sample: Sample, *, shots: int | None = None) -> Sequence[Request]:
        """Return what to ask the model about a sample. Depends on the sample and the seed alone.

        `shots` asks for the same with at most so many solved examples in a prompt, the others left out
        whole; the requests say how many they show and lack. None: as many as the task has.
        """

    def scorers(self) -> Sequence[ComponentSpec | Scorer | CorpusScorer]:
        """Return how its tracks are scored: by name, or by the author's own code."""


Rehearse: TypeAlias = Callable[[Sequence[Task]], Sequence[Sequence[Score]]]
"""Asks the model what small tasks ask, through the run's own journal and cache; returns the scores of each
task, in the order of its samples."""


@runtime_checkable
class PreparingTask(Protocol):
    """A task that may have to ask the model something before it knows what to ask about its samples."""

    def prepare(self, rehearse: Rehearse) -> Sequence[str]:
        """Find out what is needed; return in words what was chosen. `spec.chosen` then holds it."""
