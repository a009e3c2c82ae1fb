"""Requests that tasks need before their samples: small tasks that run like any other.

They use the run's journal and cache, so a resumed run sends no request twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from assay.app.scorers import build_scorers
from assay.core.ports import Backend, Journal, ResponseCache
from assay.core.request import Request
from assay.core.run import Cost
from assay.core.sample import Sample
from assay.core.score import Score
from assay.core.tally import Tally
from assay.core.task import PreparingTask, Task
from assay.engine.execute import Execution
from assay.engine.spending import BudgetGate, Meter
from assay.scoring.aggregate import MeanAggregator


class PreliminaryTasks:
    """Runs the preliminary tasks of a run."""

    def __init__(
        self,
        backend: Backend,
        journal: Journal,
        cache: ResponseCache,
        on_progress: Callable[[Tally], None],
        meter: Meter | None = None,
        gate: BudgetGate | None = None,
    ) -> None:
        self._backend = backend
        self._journal = journal
        self._cache = cache
        self._on_progress = on_progress
        self._meter = meter
        self._gate = gate
        self.costs: list[Cost] = []
        """The cost of each task's preparation."""
        self.counters: Counter[str] = Counter()
        """Request counts; empty if nothing was sent."""

    def prepare(self, tasks: Sequence[Task]) -> list[str]:
        """Let every task run its preliminary requests; return notes about what was chosen."""
        notes: list[str] = []
        for task in tasks:
            if isinstance(task, PreparingTask):
                cost = Cost(task.spec.name, "preparation")
                notes += task.prepare(partial(self._run, cost))
                self.costs += [cost] if cost.n_requests else []
        return notes

    def _run(self, cost: Cost, tasks: Sequence[Task]) -> Sequence[Sequence[Score]]:
        collector = _ScoreCollector()
        execution = Execution(
            tasks,
            self._backend,
            {task.spec.name: build_scorers(task) for task in tasks},
            journal=self._journal,
            cache=self._cache,
            sink=collector,
            aggregator=MeanAggregator(),
            on_progress=self._on_progress,
            meter=self._meter,
            gate=self._gate,
        )
        tally = execution.run()
        for part in tally.costs.values():
            cost.add(part)
        self.counters["preparation_requests"] += tally.n_requests
        self.counters["preparation_journaled"] += tally.n_journaled
        self.counters["preparation_cached"] += tally.n_cached
        return [collector.scores.get(task.spec.name, []) for task in tasks]


class _ScoreCollector:
    """Collects the scores of each task, and nothing else."""

    def __init__(self) -> None:
        self.scores: dict[str, list[Score]] = {}

    def write(self, task: str, sample: Sample, requests: Sequence[Request], scores: Sequence[Score]) -> None:
        self.write_scores(scores)

    def write_scores(self, scores: Sequence[Score]) -> None:
        for score in scores:
            self.scores.setdefault(score.task, []).append(score)
