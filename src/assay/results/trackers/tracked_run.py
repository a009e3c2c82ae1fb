"""What every tracker logs of a run: parameters, metrics, tags, files, and a table of samples."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.core.prompt import final_text
from assay.core.run import Cost, RunManifest
from assay.core.score import Metric
from assay.core.secrets import mask_user_info
from assay.core.text_preview import shorten_text
from assay.results.read import StoredRun
from assay.results.store import HTML_REPORT, MANIFEST, SCORES, SUMMARY

MOST_ROWS = 10_000
"""Rows of the table of samples; `scores.jsonl` has all."""
_MOST_CHARS = 500
_MOST_BYTES = 200_000_000
"""Larger files are not uploaded."""
_FILES = (HTML_REPORT, SUMMARY, MANIFEST, SCORES)
_COLUMNS = ("task", "method", "sample", "group", "question", "answer", "target", "verdict", "metric", "value")
_COUNTS = ("n", "n_counted", "n_unanswered", "n_truncated", "n_failed")


class TrackedDataset(NamedTuple):
    """A dataset that a run was scored on."""

    name: str
    source: str
    digest: str


class TrackedRun(NamedTuple):
    """A finished run as trackers log it. Contains no secrets."""

    name: str
    """The id of the run."""
    started: str
    """UTC, ISO 8601; empty if an imported log does not say."""
    finished: str | None
    parameters: dict[str, str | int | float | bool]
    metrics: dict[str, float]
    tags: dict[str, str]
    datasets: tuple[TrackedDataset, ...]
    files: tuple[Path, ...]
    columns: tuple[str, ...]
    rows: list[list[Any]]


def build_tracked_run(run: StoredRun) -> TrackedRun:
    """Return what trackers log of a finished run."""
    manifest = run.manifest
    return TrackedRun(
        name=manifest.id,
        started=manifest.started,
        finished=manifest.finished,
        parameters=_build_parameters(manifest),
        metrics=_build_metrics(manifest, run.metrics()),
        tags=_build_tags(manifest),
        datasets=tuple(
            TrackedDataset(task.name, mask_user_info(task.display_source), task.data_hash)
            for task in manifest.tasks
        ),
        files=tuple(
            path
            for path in (run.path / name for name in _FILES)
            if path.is_file() and path.stat().st_size <= _MOST_BYTES
        ),
        columns=_COLUMNS,
        rows=list(_build_rows(run)),
    )


def _build_parameters(manifest: RunManifest) -> dict[str, str | int | float | bool]:
    """Return the settings that have a value; those of tables as `model_args.dtype`."""
    found: dict[str, str | int | float | bool] = {}

    def add(name: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                add(f"{name}.{key}", inner)
        elif isinstance(value, bool | int | float):
            found[name] = value
        elif value not in (None, [], ()):
            text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            found[name] = mask_user_info(text)

    for name, setting in manifest.settings.items():
        add(name, setting.value)
    found["task"] = ",".join(task.name for task in manifest.tasks)
    found["method"] = ",".join(dict.fromkeys(str(one) for task in manifest.tasks for one in task.methods))
    return found


def _build_metrics(manifest: RunManifest, metrics: list[Metric]) -> dict[str, float]:
    """Return all metrics with their intervals, the counts behind them, and what the run cost."""
    found: dict[str, float] = {}
    for metric in metrics:
        group = "" if metric.group is None else f"/{metric.group}"
        place = f"{metric.task}/{metric.method}{group}"
        for suffix, value in (("", metric.value), ("_low", metric.low), ("_high", metric.high)):
            if value is not None:
                found[f"{place}/{metric.metric}{suffix}"] = value
        if metric.is_headline:
            found |= {f"{place}/{count}": float(getattr(metric, count)) for count in _COUNTS}
    for cost in manifest.costs:
        found |= {f"{cost.task}/{cost.method}/{name}": n for name, n in _list_costs(cost)}
    if manifest.seconds is not None:
        found["seconds"] = manifest.seconds
    return found


def _list_costs(cost: Cost) -> Iterator[tuple[str, float]]:
    for name in cost.__struct_fields__:
        value = getattr(cost, name)
        if isinstance(value, int | float) and value:
            yield ("model_seconds" if name == "seconds" else name), float(value)


def _build_tags(manifest: RunManifest) -> dict[str, str]:
    """Return the identity of model and datasets, so that runs can be found by it."""
    model = manifest.model
    tags = {
        "assay.run": manifest.id,
        "assay.version": manifest.versions.get("assay", ""),
        "assay.status": str(manifest.status),
        "assay.fingerprint": manifest.fingerprint,
        "model": mask_user_info(model.name),
        "model.backend": model.backend,
        "model.digest": model.digest,
        "model.weights": model.weights,
        "dataset": ",".join(mask_user_info(task.display_source) for task in manifest.tasks),
        "dataset.hash": ",".join(task.data_hash for task in manifest.tasks),
        "judge": "" if manifest.judge is None else mask_user_info(manifest.judge.name),
    }
    return {name: value for name, value in tags.items() if value}


def _build_rows(run: StoredRun) -> Iterator[list[Any]]:
    questions: dict[tuple[str, str], str] = {}
    samples = run.samples()
    for score in islice(run.scores(), MOST_ROWS):
        key = (score.task, score.sample_id)
        # Scores are in the order of the samples, a few methods of each.
        while key not in questions and (record := next(samples, None)) is not None:
            text = final_text(record.contexts[0]) if record.contexts else ""
            questions[record.task, record.sample.id] = text
        cells = (questions.get(key, ""), score.answer or "", score.target or "")
        yield [
            score.task,
            str(score.track),
            score.sample_id,
            score.group or "",
            *(shorten_text(text, _MOST_CHARS) for text in cells),
            str(score.verdict),
            score.metric,
            score.value,
        ]
