"""Indexed data of a run, outside its folder: enough to rank models and compare runs sample by sample.

The database index stores it, and the leaderboard uses it. The run's folder remains the source of truth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from assay.core.model import ModelIdentity
from assay.core.run import RunStatus
from assay.core.score import Metric

Numbers: TypeAlias = NDArray[np.float64]
Digests: TypeAlias = NDArray[np.uint64]
"""Eight-byte hashes, instead of names that can be long."""


class IndexedTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """One task of a run, with everything that decides whether values of other runs are comparable."""

    name: str
    data_hash: str
    n_samples: int
    n_rows: int
    family: str | None = None
    """The dataset of which it is a subset."""
    categories: tuple[str, ...] = ()
    about: str = ""
    """The ability it evaluates, as described by its registry."""
    headline: str | None = None
    """The metric that its registry shows on a leaderboard."""
    shots: dict[str, str] = {}
    """Solved examples, by method."""
    settings: dict[str, str] = {}
    """Everything else that determines a prompt or a score, as text; a long value as its hash."""
    scorers: dict[str, str] = {}
    """How answers are scored, by method, in the same form; empty if an author's code does."""

    @property
    def is_registered(self) -> bool:
        """Whether a registry lists it as a separate dataset with its own headline metric."""
        return bool(self.headline or self.about)


class IndexedRun(msgspec.Struct, frozen=True, omit_defaults=True):
    """One run, from its manifest."""

    host: str
    """The machine that stores the folder."""
    root: str
    """The folder of runs that contains it."""
    name: str
    """The name of the folder."""
    stamp: str
    """Identifies when the folder's files were written; read the run again if it changes."""
    id: str
    fingerprint: str
    status: RunStatus
    started: str
    finished: str | None
    model: ModelIdentity
    judge: ModelIdentity | None
    tasks: tuple[IndexedTask, ...]
    groups: dict[str, tuple[str, ...]] = {}
    """Tasks that are reported together."""
    usd: float | None = None
    """Cost of the run in US dollars; None: not known."""
    label: str | None = None
    """The name that the user gave the model."""
    prompt: str | None = None
    """The name of the prompt template."""


class TaskSamples(NamedTuple):
    """The samples of one task of a run."""

    ids: Digests
    """In ascending order."""
    clusters: Digests | None = None
    """For each sample; None: each sample is its own cluster."""


class MetricValues(NamedTuple):
    """The value of each sample of a task by one metric."""

    values: Numbers
    """In the order of the sample ids; NaN if a sample has no value."""
    weights: Numbers | None = None
    """For a ratio of sums: the denominators; the values are the numerators."""
    is_exponential: bool = False
    """Whether the metric is e to the power of that ratio."""


class RunIndexEntry(NamedTuple):
    """Everything that the index stores about one run."""

    run: IndexedRun
    metrics: tuple[Metric, ...] = ()
    samples: Mapping[str, TaskSamples] = {}
    """By task."""
    values: Mapping[tuple[str, str, str], MetricValues] = {}
    """By task, method and metric: metrics that are computed from values of samples."""


class SampleValues(NamedTuple):
    """The samples that have a value by one metric."""

    ids: Digests
    values: Numbers
    weights: Numbers | None
    clusters: Digests | None
    is_exponential: bool

    @classmethod
    def of(cls, samples: TaskSamples, metric: MetricValues) -> SampleValues:
        """Return the values of a metric, with the samples that have one."""
        has_value = ~np.isnan(metric.values)
        return cls(
            samples.ids[has_value],
            metric.values[has_value],
            None if metric.weights is None else metric.weights[has_value],
            None if samples.clusters is None else samples.clusters[has_value],
            metric.is_exponential,
        )
