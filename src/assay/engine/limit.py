"""A task limited to some of its samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec

from assay.core.limit import Limit
from assay.core.request import Kind, Request
from assay.core.sample import Sample
from assay.core.task import (
    ComponentSpec,
    CorpusScorer,
    PreparingTask,
    Rehearse,
    Scorer,
    Task,
    TaskSpec,
)

_KEPT_SAMPLES = 4096
"""Up to this limit, the drawn samples stay in memory, so that the dataset is read only once."""


class LimitedTask:
    """A task limited to some of its samples."""

    def __init__(self, task: Task, limit: Limit, seed: int) -> None:
        self._task = task
        self._limit = limit
        self._seed = seed
        self._ids: frozenset[str] | None = None
        self._build_view: tuple[Sample, ...] | None = None
        spec = task.spec
        self._spec = msgspec.structs.replace(
            spec,
            n_samples=min(spec.n_samples, limit.n),
            settings={**spec.settings, "limit": msgspec.to_builtins(limit), "limit_seed": seed},
        )

    @property
    def unlimited(self) -> Task:
        """Return the task without the limit."""
        return self._task

    @property
    def spec(self) -> TaskSpec:
        """Return what the manifest records, including the limit."""
        return self._spec

    @property
    def kinds(self) -> frozenset[Kind]:
        """Return the kinds of ask it will make."""
        return self._task.kinds

    def samples(self) -> Iterator[Sample]:
        """Yield the selected samples in the order of the dataset; draw them in the first call."""
        # The first samples are found without reading the whole dataset.
        if self._limit.which == "first":
            return islice(self._task.samples(), self._limit.n)
        if self._limit.n <= _KEPT_SAMPLES:
            if self._build_view is None:
                self._build_view = self._draw()
            return iter(self._build_view)
        if self._ids is None:
            self._ids = self._limit.select_ids((sample.id for sample in self._task.samples()), self._seed)
        chosen = self._ids
        return (sample for sample in self._task.samples() if sample.id in chosen)

    def _draw(self) -> tuple[Sample, ...]:
        """Draw the samples in one pass over the dataset."""
        return self._limit.draw(self._task.samples(), self._seed, lambda sample: sample.id)

    def requests(self, sample: Sample, *, shots: int | None = None) -> Sequence[Request]:
        """Return the requests for a sample."""
        return self._task.requests(sample, shots=shots)

    def scorers(self) -> Sequence[ComponentSpec | Scorer | CorpusScorer]:
        """Return how its tracks are scored."""
        return self._task.scorers()


class LimitedPreparingTask(LimitedTask):
    """A limited task that must be prepared with the model; the task itself decides with how many samples."""

    def prepare(self, rehearse: Rehearse) -> Sequence[str]:
        """Prepare the task."""
        assert isinstance(self._task, PreparingTask)
        notes = self._task.prepare(rehearse)
        self._build_view = None  # Samples may differ now.
        self._spec = msgspec.structs.replace(self._spec, chosen=self._task.spec.chosen)
        return notes


def limit_task(task: Task, limit: Limit, seed: int) -> Task:
    """Return a task limited to some of its samples, or the task itself if the limit excludes none."""
    if not limit.is_below(task.spec.n_samples):
        return task
    kind = LimitedPreparingTask if isinstance(task, PreparingTask) else LimitedTask
    return kind(task, limit, seed)
