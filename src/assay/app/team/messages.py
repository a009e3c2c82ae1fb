"""What the server and its workers say to the processes that they start, and what those answer: JSON lines."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from assay.app.settings import RunSettings
from assay.app.team.plan import EvaluationPlan
from assay.app.team.settings import TeamSettings
from assay.core.errors import Problem


class Evaluate(msgspec.Struct, frozen=True, tag=True):
    """Do an evaluation."""

    plan: EvaluationPlan
    out: str
    """The run's folder."""
    allow_python: tuple[str, ...]
    """Folders whose Python may be run."""


class Check(msgspec.Struct, frozen=True, tag=True):
    """Find out everything that can be known about an evaluation without its model."""

    plan: EvaluationPlan
    allow_python: tuple[str, ...]
    folder: str | None = None
    """The folder from which the datasets' paths count; None: they are whole."""
    n_rows: int = 0
    """So many samples are shown."""
    headline: str | None = None
    """A metric that the datasets, which are tables, must have."""
    memory_mb: int | None = None
    """So much memory may be taken; None: as much as there is."""


class ListFolders(msgspec.Struct, frozen=True, tag=True):
    """Find the datasets of the folders that the owner named."""

    settings: TeamSettings


class TryModel(msgspec.Struct, frozen=True, tag=True):
    """Find out whether a model can be opened, without loading or calling it."""

    values: RunSettings
    """Those of a run with it."""


class Serve(msgspec.Struct, frozen=True, tag=True):
    """Be a worker: do evaluations until the line to the server is cut."""

    settings: TeamSettings
    worker: str
    """Its name in the queue."""


Order: TypeAlias = Evaluate | Check | ListFolders | TryModel | Serve


class EvaluationProgress(msgspec.Struct, frozen=True, tag=True):
    """How far an evaluation is."""

    progress: dict[str, Any]
    n_new: int
    """Answers that no earlier attempt had."""


class Done(msgspec.Struct, frozen=True, tag=True):
    """The evaluation is complete, or the model can be opened."""


class Stopped(msgspec.Struct, frozen=True, tag=True):
    """The evaluation was interrupted; what was answered is kept."""


class OrderFailed(msgspec.Struct, frozen=True, tag=True):
    """It cannot be done, and why."""

    problems: tuple[Problem, ...]
    total: int


class CheckedTask(msgspec.Struct, frozen=True):
    """A dataset that compiles, as a person sees it."""

    name: str
    dialect: str
    methods: tuple[str, ...]
    n_samples: int
    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    """The first samples' fields."""
    findings: tuple[str, ...]
    """What is odd about it."""


class CheckPassed(msgspec.Struct, frozen=True, tag=True):
    """Nothing is in the way of an evaluation, as far as can be known without the model."""

    tasks: tuple[CheckedTask, ...]


class FoundDataset(msgspec.Struct, frozen=True):
    """A dataset in a folder."""

    name: str
    place: str
    dialect: str
    explanation: str
    metrics: tuple[str, ...]
    headline: str | None


class FoundDatasets(msgspec.Struct, frozen=True, tag=True):
    """The datasets of the owner's folders."""

    datasets: tuple[FoundDataset, ...]
    problems: tuple[Problem, ...]
    """Why some folders, or parts of them, could not be read."""


Event: TypeAlias = EvaluationProgress | Done | Stopped | OrderFailed | CheckPassed | FoundDatasets

decode_order = msgspec.json.Decoder(Order).decode
decode_event = msgspec.json.Decoder(Event).decode
encode = msgspec.json.Encoder().encode
