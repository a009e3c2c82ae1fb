"""What tasks ask the model before their samples: small tasks of their own, run like any other.

They go through the run's journal and cache, so a run that goes on asks nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.app.scorers import scorers_of
from assay.core.ports import Backend, Journal, ResponseCache
from assay.core.request import Request
from assay.core.sample import Sample
from assay.core.score import Score
from assay.core.task import PreparingTask, Task
from assay.engine.execute import Execution, Tally
from assay.scoring.aggregate import MeanAggregator


class Rehearsals:
    """Runs the small tasks of a run."""

    def __init__(
        self,
        backend: Backend,
        journal: Journal,
        cache: ResponseCache,
        on_progress: Callable[[Tally], None],
    ) -> None:
        self._backend = backend
        self._journal = journal
        self._cache = cache
        self._on_progress = on_progress
        self._tallies: list[Tally] = []

    def prepare(self, tasks: Sequence[Task]) -> list[str]:
        """Let every task find out what it needs; return in words what was chosen."""
        preparing = (task for task in tasks if isinstance(task, PreparingTask))
        return [note for task in preparing for note in task.prepare(self._run)]

    def counters(self) -> dict[str, float]:
        """Return how much was asked, if anything was."""
        if not self._tallies:
            return {}
        return {
            "preparation_requests": sum(tally.n_requests for tally in self._tallies),
            "preparation_journaled": sum(tally.n_journaled for tally in self._tallies),
            "preparation_cached": sum(tally.n_cached for tally in self._tallies),
        }

    def _run(self, tasks: Sequence[Task]) -> Sequence[Sequence[Score]]:
        kept = _Kept()
        execution = Execution(
            tasks,
            self._backend,
            {task.spec.name: scorers_of(task) for task in tasks},
            journal=self._journal,
            cache=self._cache,
            sink=kept,
            aggregator=MeanAggregator(),
            on_progress=self._on_progress,
        )
        self._tallies.append(execution.run())
        return [kept.scores.get(task.spec.name, []) for task in tasks]


class _Kept:
    """Keeps the scores of each task, and nothing else."""

    def __init__(self) -> None:
        self.scores: dict[str, list[Score]] = {}

    def write(self, task: str, sample: Sample, requests: Sequence[Request], scores: Sequence[Score]) -> None:
        self.write_scores(scores)

    def write_scores(self, scores: Sequence[Score]) -> None:
        for score in scores:
            self.scores.setdefault(score.task, []).append(score)
