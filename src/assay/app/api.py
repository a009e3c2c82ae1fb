"""The Python API: run an evaluation from a script or notebook and get plain data back."""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from assay.app.allowed_failures import SETTING as ALLOW_FAILURES
from assay.app.allowed_failures import AllowedFailures
from assay.app.export_run import export_run as write_run
from assay.app.import_log import import_log as read_log
from assay.app.rescore import RescoreResult
from assay.app.rescore import rescore as rescore_run
from assay.app.run import FinishedRun
from assay.app.run import run as evaluate
from assay.app.scorer_selection import ScoringChoices
from assay.app.settings import resolve_settings
from assay.core.errors import Problem, UsageError, listing, suggest_name
from assay.core.score import Metric
from assay.core.tally import Tally
from assay.results.read import StoredRun
from assay.results.rows import format_metric_interval, format_metric_value, is_perplexity
from assay.results.subset_families import select_headline_metrics

Rows: TypeAlias = list[dict[str, Any]]
T = TypeVar("T")


class RunResult:
    """A complete run as lists of dicts. Large data is read from the run folder on first use."""

    def __init__(self, finished: FinishedRun) -> None:
        self.folder = finished.folder
        """The run folder."""
        self.manifest: dict[str, Any] = msgspec.to_builtins(finished.manifest)
        self.metrics: Rows = msgspec.to_builtins(finished.metrics)
        """One dict per task, method, metric and group, as in summary.json."""
        self.tracking: Rows = msgspec.to_builtins(finished.tracked)
        """One dict per tracker of the setting `track`: where the run was logged, or the problem."""
        self._finished = finished
        self._stored = StoredRun(finished.folder)

    @cached_property
    def scores(self) -> Rows:
        """One dict per sample and method, as in scores.jsonl."""
        return [msgspec.to_builtins(score) for score in self._stored.scores()]

    @cached_property
    def rows(self) -> Rows:
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

    def score(
        self, method: str | None = None, task: str | None = None, metric: str | None = None
    ) -> float | None:
        """Return the value of one method of one task; without names, of the only one.

        `metric`: default is the headline metric.
        """
        first: dict[tuple[str, str], Metric] = {}
        for one in self._finished.metrics:
            is_wanted = one.is_headline if metric is None else one.metric == metric
            fits = method in (None, one.method) and task in (None, one.task)
            if is_wanted and fits and one.group is None:
                first.setdefault((one.task, one.method), one)
        if len(first) != 1:
            have = ", ".join(f"{task}/{method}" for task, method in first) or "none"
            fix = "name the method and the task: score(method=..., task=...)"
            if metric is not None and not first:
                known = dict.fromkeys(one.metric for one in self._finished.metrics)
                fix = f"name one of the metrics {listing(known)}"
            raise UsageError(Problem("USAGE-007", f"{len(first)} scores match: {have}", fix))
        (only,) = first.values()
        return only.value

    def rescore(self, **choices: Any) -> RunResult:
        """Score the answers again, without the model; same as `assay.score(result.folder, ...)`.

        This result stays unchanged.
        """
        done = _rescore_folder(self.folder, choices)
        if self._stored.path == done.folder:
            # The run folder shows the new scoring from now on.
            self._stored = StoredRun(done.shown_before)
        return _build_result(done)

    def frame(self, what: Literal["metrics", "scores", "rows"] = "metrics") -> Any:
        """Return metrics, scores or rows as a DataFrame: of pandas, or of polars if pandas is missing."""
        data: Rows = getattr(self, what)
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

    def __repr__(self) -> str:
        heads = select_headline_metrics(self._finished.metrics, self._finished.manifest)
        return f"RunResult({self.folder})\n" + "\n".join(_line(metric) for metric in heads)


def _line(metric: Metric) -> str:
    unit = "perplexity" if is_perplexity(metric) else "%"
    value, interval = format_metric_value(metric), format_metric_interval(metric)
    return (
        f"{metric.task} {metric.method}: {value} {unit} [{interval}], "
        f"{metric.n_counted} of {metric.n} counted"
    )


def run(datasets: str | Path | Iterable[str | Path], **settings: Any) -> RunResult:
    """Evaluate a model on one or more datasets and return the result.

    Settings have the names of the command line's flags: `assay.run("data.csv", model="smollm2",
    method=["ppl", "gen"], shots=5)`. Pass meta file settings as `table={...}`. Also works inside a running
    event loop.
    """
    named = (datasets,) if isinstance(datasets, (str, Path)) else tuple(datasets)
    paths = tuple(str(name) for name in named)
    resolved = resolve_settings(_stringify_settings(settings), os.environ, Path.cwd(), _format_argument)
    # An offline run seals its thread permanently.
    finished = _run_off_loop(lambda: evaluate(paths, resolved), must_leave=resolved.values.offline)
    for one in finished.tracked:
        if one.problem is not None:
            warnings.warn(str(one.problem), stacklevel=2)
    return RunResult(finished)


def _format_argument(name: str) -> str:
    """Return a setting as Python code writes it."""
    table, _, key = name.partition(".")
    return f"{table}[{key!r}]" if key else repr(name)


def score(run: str | Path, **choices: Any) -> RunResult:
    """Score the answers of a run folder again, without its model, and return the result.

    Choices have the names of the command line's flags: `assay.score("runs/mine", extract="number")`.
    `judge_prompt` is the text itself. Assay keeps the run's own score and all other scorings.
    """
    return _build_result(_rescore_folder(Path(run), choices))


def import_log(
    path: str | Path,
    *,
    format_name: str | None = None,
    out: str | Path | None = None,
    runs_dir: str | Path = "runs",
) -> RunResult:
    """Read the log of another evaluation program as a run, and return the result.

    `format_name`: None: by the content. `out`: the run folder; None: one under `runs_dir`.
    """
    done = read_log(
        Path(path), format_name=format_name, out=None if out is None else Path(out), runs_dir=Path(runs_dir)
    )
    run = done.run
    return RunResult(FinishedRun(run.path, run.manifest, tuple(run.metrics()), Tally()))


def export_run(run: str | Path, format_name: str, out: str | Path | None = None) -> list[Path]:
    """Write a run folder in the format of another program; return the files."""
    return list(write_run(StoredRun(Path(run)), format_name, None if out is None else Path(out))[1])


def _rescore_folder(run: Path, choices: Mapping[str, Any]) -> RescoreResult:
    given = {_CHOICES.get(name, name): value for name, value in choices.items() if value is not None}
    label, offline = given.pop("name", None), given.pop("offline", False)
    allow_failures = given.pop(ALLOW_FAILURES, None)
    allowed = None if allow_failures is None else AllowedFailures.parse(allow_failures)
    if unknown := [name for name in given if name not in ScoringChoices.__struct_fields__]:
        known = [
            *_CHOICES,
            "name",
            "offline",
            ALLOW_FAILURES,
            *(set(ScoringChoices.__struct_fields__) - set(_CHOICES.values())),
        ]
        what = f"unknown choice {unknown[0]!r}{suggest_name(unknown[0], known)}"
        raise UsageError(Problem("USAGE-001", what, f"use one of {listing(sorted(known))}"))
    for name in _CHOICES.values():
        if isinstance(given.get(name), str):
            given[name] = given[name].split(",")
    for name in ("metric_args", "judge_args"):
        if isinstance(given.get(name), Mapping):
            given[name] = {key: str(value) for key, value in given[name].items()}
    try:
        chosen = msgspec.convert(given, ScoringChoices)
    except msgspec.ValidationError as error:
        raise UsageError(Problem("USAGE-001", str(error), "correct the value")) from error
    # An offline run is also scored offline, which seals the thread.
    return _run_off_loop(
        lambda: rescore_run(run, chosen, label=label, offline=offline, allowed=allowed), must_leave=True
    )


_CHOICES = {"metric": "metrics", "method": "methods", "task": "tasks"}
"""Choices that may have several values: flag name -> field name."""


def _build_result(done: RescoreResult) -> RunResult:
    # Use the scoring's own folder: the run's folder shows another scoring after the next rescoring.
    folder = done.entry.path
    return RunResult(FinishedRun(folder, done.manifest, done.metrics, done.tally, done.run_notes))


def _stringify_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = {
        name: str(value) if isinstance(value, Path) else value for name, value in settings.items()
    }
    if isinstance(plain.get("model_args"), Mapping):
        plain["model_args"] = {name: str(value) for name, value in plain["model_args"].items()}
    if isinstance(plain.get("include_path"), list | tuple):
        plain["include_path"] = tuple(map(str, plain["include_path"]))
    return plain


def _run_off_loop(work: Callable[[], T], *, must_leave: bool) -> T:
    """Call `work` here, or on a new thread if this one runs an event loop or must not be sealed."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        if not must_leave:
            return work()
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()
