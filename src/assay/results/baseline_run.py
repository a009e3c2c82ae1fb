"""A baseline as one side of a comparison, instead of a run folder."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TypeAlias

from assay.core.score import Metric, Score
from assay.results.baseline import Baseline
from assay.results.read import StoredRun
from assay.results.score_columns import ScoreColumns


class BaselineRun:
    """A baseline file, as `PairedRuns` reads it."""

    def __init__(
        self, path: Path, baseline: Baseline, excluded: Mapping[str, Collection[str]] | None = None
    ) -> None:
        """`excluded`: for each task, the ids of samples that are not compared."""
        self.path = path
        self.baseline = baseline
        self.manifest = baseline.build_manifest()
        self._excluded = excluded or {}

    def metrics(self) -> list[Metric]:
        """Return the metrics, without intervals."""
        return self.baseline.build_metrics()

    def scores(self) -> list[Score]:
        """Return the scores of the samples that are compared."""
        return [
            Score(
                task,
                sample.id,
                track,
                score.metric,
                score.verdict,
                score.value,
                score.answer,
                score.target,
                also=score.also,
                ratios=score.ratios,
                group=sample.group,
                cluster=sample.cluster,
            )
            for task, samples in self.baseline.samples.items()
            for sample in samples
            if sample.id not in self._excluded.get(task, ())
            for track, score in sample.scores.items()
        ]


ScoredRun: TypeAlias = StoredRun | BaselineRun
"""A side of a comparison."""


class BaselineColumns:
    """The scores of a baseline by task and method, like `RunColumns`."""

    def __init__(self, run: BaselineRun) -> None:
        self._scores = run.scores()
        self.by_method: dict[tuple[str, str], ScoreColumns] = {}
        for place, score in enumerate(self._scores):
            key = (score.task, str(score.track))
            if key not in self.by_method:
                self.by_method[key] = ScoreColumns()
            self.by_method[key].add(score, place)
        for columns in self.by_method.values():
            columns.finish()

    def scores(self, columns: ScoreColumns, rows: Collection[int]) -> list[Score]:
        """Return complete scores by their rows."""
        return [self._scores[columns.places[row]] for row in rows]
