"""The JSON-line messages between the server or its workers and the processes that they start."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from assay.app.settings import RunSettings
from assay.app.team.plan import EvaluationPlan
from assay.app.team.settings import TeamSettings
from assay.core.errors import Problem
from assay.core.method import Method


class Evaluate(msgspec.Struct, frozen=True, tag=True):
    """Run an evaluation."""

    plan: EvaluationPlan
    out: str
    """The run folder."""
    allow_python: tuple[str, ...]
    """Folders whose Python code may run."""


class Check(msgspec.Struct, frozen=True, tag=True):
    """Check everything about an evaluation that can be checked without its model."""

    plan: EvaluationPlan
    allow_python: tuple[str, ...]
    folder: str | None = None
    """The folder that the datasets' paths are relative to; None: the paths are absolute."""
    n_rows: int = 0
    """Number of samples to show."""
    headline: str | None = None
    """A metric that the datasets, which are tables, must have."""
    memory_mb: int | None = None
    """Memory limit; None: no limit."""


class ListFolders(msgspec.Struct, frozen=True, tag=True):
    """Find the datasets in the owner's folders."""

    settings: TeamSettings


class TryModel(msgspec.Struct, frozen=True, tag=True):
    """Check whether a model can be opened, without loading or calling it."""

    values: RunSettings
    """The settings of a run with it."""


class Serve(msgspec.Struct, frozen=True, tag=True):
    """Work on evaluations until the connection to the server closes."""

    settings: TeamSettings
    worker: str
    """Its name in the queue."""


Order: TypeAlias = Evaluate | Check | ListFolders | TryModel | Serve


class EvaluationProgress(msgspec.Struct, frozen=True, tag=True):
    """The progress of an evaluation."""

    progress: dict[str, Any]
    n_new: int
    """Answers that no earlier attempt had."""


class Done(msgspec.Struct, frozen=True, tag=True):
    """The evaluation is complete, or the model can be opened."""


class Stopped(msgspec.Struct, frozen=True, tag=True):
    """The evaluation was interrupted; its answers are kept."""


class OrderFailed(msgspec.Struct, frozen=True, tag=True):
    """The order cannot be carried out, and why."""

    problems: tuple[Problem, ...]
    total: int


class CheckedTask(msgspec.Struct, frozen=True):
    """A dataset that compiles, as a person sees it."""

    name: str
    dialect: str
    methods: tuple[Method, ...]
    n_samples: int
    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    """The fields of the first samples."""
    findings: tuple[str, ...]
    """Warnings about it."""


class CheckPassed(msgspec.Struct, frozen=True, tag=True):
    """The evaluation can run, as far as can be known without the model."""

    tasks: tuple[CheckedTask, ...]


class FolderDataset(msgspec.Struct, frozen=True):
    """A dataset in a folder."""

    name: str
    place: str
    dialect: str
    explanation: str
    metrics: tuple[str, ...]
    headline: str | None


class FolderDatasets(msgspec.Struct, frozen=True, tag=True):
    """The datasets of the owner's folders."""

    datasets: tuple[FolderDataset, ...]
    problems: tuple[Problem, ...]
    """Why some folders, or parts of them, could not be read."""


Event: TypeAlias = EvaluationProgress | Done | Stopped | OrderFailed | CheckPassed | FolderDatasets

decode_order = msgspec.json.Decoder(Order).decode
decode_event = msgspec.json.Decoder(Event).decode
encode = msgspec.json.Encoder().encode
