"""What is kept of a run outside its folder: enough to rank models, and to compare any two sample by sample.

The index in the database stores these, a leaderboard is made of them. The run's folder stays the truth.
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
"""Eight bytes of a hash each, in the place of names that may be long."""


class IndexedTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """One task of a run: what decides whether another run's value may stand beside its own."""

    name: str
    data_hash: str
    n_samples: int
    n_rows: int
    family: str | None = None
    """The dataset that it is a subset of."""
    categories: tuple[str, ...] = ()
    about: str = ""
    """The ability that it evaluates, in its registry's words."""
    headline: str | None = None
    """The metric that its registry has a leaderboard show."""
    shots: dict[str, str] = {}
    """Solved examples, by method."""
    settings: dict[str, str] = {}
    """All else that decides a prompt or a score, as text; a long value by its hash."""
    scorers: dict[str, str] = {}
    """How answers are scored, by method, as text in the same way; nothing where an author's code does."""

    @property
    def is_registered(self) -> bool:
        """Whether a registry has it as a dataset of its own, with a headline of its own."""
        return bool(self.headline or self.about)


class IndexedRun(msgspec.Struct, frozen=True, omit_defaults=True):
    """One run, as its manifest tells it."""

    host: str
    """The machine whose disk has the folder."""
    root: str
    """The folder of runs that it lies in."""
    name: str
    """The folder's own name."""
    stamp: str
    """Tells when the folder's files were written; another stamp: read it again."""
    id: str
    fingerprint: str
    status: RunStatus
    started: str
    finished: str | None
    model: ModelIdentity
    judge: ModelIdentity | None
    tasks: tuple[IndexedTask, ...]
    groups: dict[str, tuple[str, ...]] = {}
    """Tasks that are told together."""


class TaskSamples(NamedTuple):
    """The samples of one task of a run."""

    ids: Digests
    """In ascending order."""
    clusters: Digests | None = None
    """For each sample; None: each stands alone."""


class MetricValues(NamedTuple):
    """What each sample of a task is worth by one metric."""

    values: Numbers
    """In the order of the samples' ids; NaN where the sample has none."""
    weights: Numbers | None = None
    """Where the metric is a ratio of sums: the denominators, the values being the numerators."""
    is_exponential: bool = False
    """Whether the metric is e to the power of that ratio."""


class RunIndexEntry(NamedTuple):
    """All that the index keeps of one run."""

    run: IndexedRun
    metrics: tuple[Metric, ...] = ()
    samples: Mapping[str, TaskSamples] = {}
    """By task."""
    values: Mapping[tuple[str, str, str], MetricValues] = {}
    """By task, method and metric: those whose value over a task is made of its samples' values."""


class SampleValues(NamedTuple):
    """The samples that have a value by one metric, and nothing of the others."""

    ids: Digests
    values: Numbers
    weights: Numbers | None
    clusters: Digests | None
    is_exponential: bool

    @classmethod
    def of(cls, samples: TaskSamples, metric: MetricValues) -> SampleValues:
        """Return the values of a metric beside the samples that have one."""
        has_value = ~np.isnan(metric.values)
        return cls(
            samples.ids[has_value],
            metric.values[has_value],
            None if metric.weights is None else metric.weights[has_value],
            None if samples.clusters is None else samples.clusters[has_value],
            metric.is_exponential,
        )
