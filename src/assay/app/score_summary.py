"""Compute totals from scores and write the result files of a folder.

Runs and later rescorings both end here, so their results cannot diverge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from assay.core.request import Request
from assay.core.run import RunManifest, RunStatus, UnscoredTask
from assay.core.sample import Sample
from assay.core.score import NO_RIGHT_ANSWERS, NOTHING_TO_SCORE_BY, Metric, Score
from assay.core.summary_group import SummaryGroup
from assay.core.task import CorpusScorer, Scorer, TaskSpec
from assay.results.pages.report_file import write_report_page
from assay.results.report import Highlights, render_report
from assay.results.store import RunFolder, ScoreWriter
from assay.scoring.aggregate import Disagreement, MeanAggregator
from assay.scoring.summary_groups import build_group_metrics, roll_up_subsets

_NO_FAULTS = (NO_RIGHT_ANSWERS, NOTHING_TO_SCORE_BY)


class ScoredSamples:
    """Writes finished samples; records where methods disagree and which samples to highlight."""

    def __init__(self, writer: ScoreWriter, scorers: Mapping[str, Sequence[Scorer | CorpusScorer]]) -> None:
        """`scorers`: the scorers of each task, one per method."""
        self._writer = writer
        self.disagreement = Disagreement({task: len(every) for task, every in scorers.items()})
        self.highlights = Highlights()

    def write(self, task: str, sample: Sample, requests: Sequence[Request], scores: Sequence[Score]) -> None:
        """Write one finished sample with the scores known so far."""
        self._writer.write(task, sample, requests, scores)
        self.disagreement.add(task, sample, scores)
        self._show(scores)

    def write_scores(self, scores: Sequence[Score]) -> None:
        """Write one sample's scores that had to wait for all samples."""
        self._writer.write_scores(scores)
        self.disagreement.add_late(scores)
        self._show(scores)

    def _show(self, scores: Sequence[Score]) -> None:
        for score in scores:
            self.highlights.add(score)


class Totals(NamedTuple):
    """The numbers of a scoring: of tasks, of datasets with several subsets, and of groups."""

    metrics: tuple[Metric, ...]
    members: Mapping[str, tuple[str, ...]]
    """The tasks of each group."""
    notes: Sequence[str]
    unscored: tuple[UnscoredTask, ...] = ()
    """The tasks and methods whose headline has no value."""

    @property
    def status(self) -> RunStatus:
        """Return the status of a run with these numbers."""
        scored = [
            one for one in self.metrics if one.is_listed and one.group is None and one.value is not None
        ]
        return RunStatus.COMPLETE if scored else RunStatus.UNSCORED


def compute_totals(
    aggregator: MeanAggregator, tasks: Sequence[TaskSpec], groups: Sequence[SummaryGroup]
) -> Totals:
    """Aggregate all scores."""
    own = tuple(aggregator.metrics())
    # The mean over a dataset's subsets gives way to a score that its author defines.
    defined = {group.name for group in groups}
    means = (one for one in roll_up_subsets(own, tasks) if one.group is not None or one.task not in defined)
    own = (*own, *means)
    grouped = build_group_metrics(own, groups)
    heads = [one for one in own if one.is_headline and one.group is None]
    unscored = tuple(
        UnscoredTask(one.task, one.method, why := one.why or NO_RIGHT_ANSWERS, is_fault=why not in _NO_FAULTS)
        for one in heads
        if one.value is None
    )
    lacking = [one for one in own if one.is_named and not one.is_headline and one.group is None]
    notes = [
        f"{one.task} {one.method}: {one.metric} has no value: {one.why}"
        for one in lacking
        if one.value is None and one.why is not None and one.why not in _NO_FAULTS
    ]
    return Totals((*own, *grouped.metrics), grouped.members, (*grouped.notes, *notes), unscored)


def write_run_results(
    folder: RunFolder, manifest: RunManifest, metrics: Sequence[Metric], highlights: Highlights
) -> None:
    """Write the summary, manifest and report of a complete run or of a rescoring."""
    folder.write_summary(metrics)
    folder.write_manifest(manifest)
    folder.write_report(render_report(manifest, metrics, highlights))
    write_report_page(folder.path)
