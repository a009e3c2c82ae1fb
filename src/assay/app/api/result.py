"""The result of a run: scores with intervals, samples, tables, and how it compares with another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from assay.app.api.comparison import Comparison
from assay.app.api.estimates import Estimate, format_metric_line, select_metric, to_estimate
from assay.app.api.result_html import render_result
from assay.app.api.samples import Samples, read_samples
from assay.app.rescore import RescoreResult
from assay.app.run import FinishedRun
from assay.core.errors import Problem, UsageError, listing, suggest_name
from assay.core.score import Metric
from assay.core.tally import Tally
from assay.results.read import StoredRun
from assay.results.subset_families import select_headline_metrics

Records: TypeAlias = list[dict[str, Any]]


class ResultPart:
    """The scores and samples of one task, one method, or both: `result["quiz", "gen"]`."""

    def __init__(self, result: RunResult, task: str | None, method: str | None) -> None:
        self._result = result
        self.task = task
        self.method = method

    @property
    def accuracy(self) -> Estimate:
        """The share of right answers, with its 95 % interval."""
        return self.metric("accuracy")

    @property
    def headline(self) -> Estimate:
        """The main metric."""
        return self.metric()

    def metric(self, name: str | None = None, *, group: str | None = None) -> Estimate:
        """Return a metric with its interval; without a name, the headline metric.

        `group`: a value of the column that groups the rows; None: all rows.
        """
        found = select_metric(self._result._metrics, name, task=self.task, method=self.method, group=group)
        return to_estimate(found)

    @property
    def samples(self) -> Samples:
        """The samples of this part, each with the answers of its methods."""
        from dataclasses import replace

        chosen = [one for one in self._result.samples if self.task in (None, one.task)]
        if self.method is None:
            return Samples(chosen)
        own = [(one, one.answers.get(self.method)) for one in chosen]
        return Samples(
            [replace(one, answers={answer.method: answer}) for one, answer in own if answer is not None]
        )

    def __repr__(self) -> str:
        heads = [
            one
            for one in self._result._headlines
            if self.task in (None, one.task) and self.method in (None, one.method)
        ]
        return "\n".join(format_metric_line(one) for one in heads)


class RunResult:
    """A complete run. Large data are read from the run folder when they are first used.

    In a notebook, a result shows a table with intervals and the first wrong samples.
    """

    def __init__(self, finished: FinishedRun) -> None:
        self.folder = finished.folder
        """The run folder."""
        self.manifest: dict[str, Any] = msgspec.to_builtins(finished.manifest)
        self.metrics: Records = msgspec.to_builtins(finished.metrics)
        """One dict per task, method, metric and group, as in summary.json."""
        self.tracking: Records = msgspec.to_builtins(finished.tracked)
        """One dict per tracker of the setting `track`: where the run was logged, or the problem."""
        self._finished = finished
        self._metrics: Sequence[Metric] = finished.metrics
        self._stored = StoredRun(finished.folder)

    # --- scores ---

    @property
    def accuracy(self) -> Estimate:
        """The share of right answers of the only task and method: `.value`, `.low`, `.high`, `.n`.

        Fractions between 0 and 1. With several tasks or methods, choose: `result["quiz", "gen"].accuracy`.
        """
        return self._whole.accuracy

    @property
    def headline(self) -> Estimate:
        """The main metric of the only task and method, with its interval."""
        return self._whole.headline

    def metric(self, name: str | None = None, *, group: str | None = None) -> Estimate:
        """Return a metric of the only task and method with its interval, for all rows or for one group."""
        return self._whole.metric(name, group=group)

    @property
    def tasks(self) -> list[str]:
        """The names of the tasks that have scores."""
        return list(dict.fromkeys(metric.task for metric in self._metrics))

    @property
    def methods(self) -> list[str]:
        """The methods that have scores: `ppl`, `prob`, `gen`."""
        return list(dict.fromkeys(metric.method for metric in self._metrics))

    def __getitem__(self, wanted: str | tuple[str, str]) -> ResultPart:
        """Return the part of a task, of a method, or of both: `result["quiz"]`, `result["quiz", "gen"]`."""
        if isinstance(wanted, tuple):
            task, method = wanted
            if task in self.tasks and method in self.methods:
                return ResultPart(self, task, method)
        elif wanted in self.tasks:
            return ResultPart(self, wanted, None)
        elif wanted in self.methods:
            return ResultPart(self, None, wanted)
        known = [*self.tasks, *self.methods]
        names = (wanted,) if isinstance(wanted, str) else tuple(map(str, wanted))
        unknown = next((name for name in names if name not in known), names[0])
        what = f"the run has no task or method {unknown!r}{suggest_name(unknown, known)}"
        fix = f"use a task ({listing(self.tasks)}), a method ({listing(self.methods)}), or [task, method]"
        raise UsageError(Problem("USAGE-007", what, fix))

    def score(
        self, method: str | None = None, task: str | None = None, metric: str | None = None
    ) -> float | None:
        """Return the value of one method of one task; without names, of the only one.

        `metric`: default is the headline metric.
        """
        return select_metric(self._metrics, metric, task=task, method=method).value

    # --- samples ---

    @cached_property
    def samples(self) -> Samples:
        """The samples: `samples[0]`, `samples["id"]`, `samples.wrong`; each with prompt, reply and score."""
        return read_samples(self._stored)

    @cached_property
    def scores(self) -> Records:
        """One dict per sample and method, as in scores.jsonl."""
        return [msgspec.to_builtins(score) for score in self._stored.scores()]

    @cached_property
    def rows(self) -> Records:
        """One dict per sample: its id, its fields, and for each method the answer and its value."""
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        for record in self._stored.samples():
            sample = record.sample
            rows[record.task, sample.id] = {"task": record.task, "id": sample.id, **sample.fields}
        for score in self._stored.scores():
            row = rows[score.task, score.sample_id]
            row[f"{score.track}_answer"] = score.answer
            row[f"{score.track}_{score.metric}"] = score.value
            row[f"{score.track}_verdict"] = str(score.verdict)
        return list(rows.values())

    def frame(self, what: Literal["metrics", "scores", "rows"] = "metrics") -> Any:
        """Return metrics, scores or rows as a DataFrame: of pandas, or of polars if pandas is missing."""
        data: Records = getattr(self, what)
        if find_spec("pandas") is not None:
            import pandas

            return pandas.DataFrame(data)
        if find_spec("polars") is not None:
            import polars

            return polars.DataFrame(data, infer_schema_length=None)
        raise UsageError(
            Problem(
                "USAGE-007",
                "a DataFrame needs pandas or polars",
                "install one: pip install pandas; or use the plain lists",
            )
        )

    # --- other runs ---

    def compare(
        self, other: RunResult | str | Path, *, metric: str | None = None, n_flips: int = 5
    ) -> Comparison:
        """Compare with another run on the same samples, sample by sample; the difference is other minus this.

        `n_flips`: the number of samples to show that only one of the two has right, in each direction.
        """
        stored = other._stored if isinstance(other, RunResult) else StoredRun(Path(other))
        return Comparison.of(self._stored, stored, metric, n_flips)

    def rescore(self, **choices: Any) -> RunResult:
        """Score the answers again, without the model; same as `assay.score(result.folder, ...)`.

        This result stays unchanged.
        """
        from assay.app.api.stored import rescore_folder

        done = rescore_folder(self.folder, choices)
        if self._stored.path == done.folder:
            # The run folder shows the new scoring from now on.
            self._stored = StoredRun(done.shown_before)
        return build_rescored_result(done)

    # --- display ---

    def __repr__(self) -> str:
        return "\n".join([f"RunResult({self.folder})", *map(format_metric_line, self._headlines)])

    def _repr_html_(self) -> str:
        return render_result(self._finished.manifest, self._metrics, self._headlines, self.samples)

    @property
    def _whole(self) -> ResultPart:
        return ResultPart(self, None, None)

    @property
    def _headlines(self) -> list[Metric]:
        return select_headline_metrics(self._metrics, self._finished.manifest)


def open_result(run: StoredRun) -> RunResult:
    """Return the result of a stored run."""
    return RunResult(FinishedRun(run.path, run.manifest, tuple(run.metrics()), Tally()))


def build_rescored_result(done: RescoreResult) -> RunResult:
    """Return the result of a rescoring."""
    # Use the scoring's own folder: the run's folder shows another scoring after the next rescoring.
    folder = done.entry.path
    return RunResult(FinishedRun(folder, done.manifest, done.metrics, done.tally, done.run_notes))
