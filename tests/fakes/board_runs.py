"""Runs as the index knows them, made by hand: what a leaderboard is made of."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from assay.core.model import ModelIdentity
from assay.core.run import RunStatus
from assay.core.run_index import IndexedRun, IndexedTask, MetricValues, SampleValues, TaskSamples
from assay.core.score import Metric
from assay.results.leaderboard.entries import BoardRun
from assay.scoring.statistics import RunningMean


def task(name: str, **changed: Any) -> IndexedTask:
    made = IndexedTask(name, f"data-{name}", 100, 100, shots={"gen": "0", "ppl": "0"})
    return msgspec.structs.replace(made, **changed)


class Shelf:
    """Gathers runs, and what their samples are worth."""

    def __init__(self) -> None:
        self.runs: list[BoardRun] = []
        self._values: dict[tuple[Hashable, str, str, str], SampleValues] = {}

    def values_of(self, key: Hashable, task: str, method: str, metric: str) -> SampleValues | None:
        return self._values.get((key, task, method, metric))

    def add(
        self,
        model: str | ModelIdentity,
        tasks: Mapping[str, Sequence[float]] | None = None,
        *,
        specs: Mapping[str, IndexedTask] | None = None,
        more: Sequence[Metric] = (),
        method: str = "gen",
        metric: str = "accuracy",
        day: int = 1,
        judge: ModelIdentity | None = None,
        **facts: Any,
    ) -> BoardRun:
        """Add a run of one model: the values of each task's samples, NaN for one that failed."""
        key = len(self.runs)
        specs = specs or {}
        described = [
            specs.get(name, task(name, n_samples=len(v), n_rows=len(v))) for name, v in (tasks or {}).items()
        ]
        run = IndexedRun(
            host="",
            root="/runs",
            name=f"run-{key}",
            stamp="",
            id=f"run-{key}",
            fingerprint=f"{key}",
            status=RunStatus.COMPLETE,
            started=f"2026-01-{day:02}T00:00:00+00:00",
            finished=f"2026-01-{day:02}T00:01:00+00:00",
            model=ModelIdentity("mock", model) if isinstance(model, str) else model,
            judge=judge,
            tasks=tuple(described),
        )
        run = msgspec.structs.replace(run, **facts)
        metrics = []
        for name, values in (tasks or {}).items():
            metrics.append(self._keep(key, name, method, metric, values))
        self.runs.append(BoardRun(key, run, [*metrics, *more]))
        return self.runs[-1]

    def _keep(self, key: int, name: str, method: str, metric: str, values: Sequence[float]) -> Metric:
        ids = np.array(
            [
                int.from_bytes(hashlib.sha256(f"{name}{at}".encode()).digest()[:8])
                for at in range(len(values))
            ],
            dtype=np.uint64,
        )
        order = np.argsort(ids)
        numbers = np.array(values, dtype=float)[order]
        self._values[key, name, method, metric] = SampleValues.of(
            TaskSamples(ids[order]), MetricValues(numbers)
        )
        return mean_of(name, method, metric, [one for one in values if not math.isnan(one)], n=len(values))


def mean_of(
    name: str, method: str, metric: str, values: Sequence[float], *, n: int | None = None, **changed: Any
) -> Metric:
    estimate = RunningMean.of(values).estimate()
    made = Metric(
        *(name, method, metric, None, estimate.value, estimate.low, estimate.high),
        n=len(values) if n is None else n,
        n_scored=len(values),
        n_unanswered=0,
        n_truncated=0,
        n_failed=0 if n is None else n - len(values),
        stderr=estimate.stderr,
        is_headline=True,
    )
    return msgspec.structs.replace(made, **changed)
