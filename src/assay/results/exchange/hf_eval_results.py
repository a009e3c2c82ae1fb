"""Results for a model's repository on the Hugging Face hub: `.eval_results/*.yaml` and a table for its card.

The hub shows the entries of `.eval_results/` on the model's page and on the leaderboards of the datasets. An
entry needs the id of a dataset on the hub, so tasks from local files are only in the table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from assay.core.run import RunManifest
from assay.core.score import Metric
from assay.core.task import TaskSpec
from assay.results.exchange.formats import LogFormat
from assay.results.read import StoredRun
from assay.results.rows import (
    format_metric_interval,
    format_metric_method,
    format_metric_value,
    is_perplexity,
    markdown_table,
)

NAME = "hf-eval-results"
FOLDER = ".eval_results"
CARD = "model_card_results.md"
_HUB_DATASET = re.compile(r"([\w.-]+/[\w.-]+)(?:@([0-9a-f]{7,40}))?")
_DIGITS = 4


def write(run: StoredRun, target: Path) -> Sequence[Path]:
    """Write a file for each task whose dataset is on the hub, and the table of all tasks."""
    manifest = run.manifest
    metrics = [one for one in run.metrics() if one.is_listed and one.group is None and one.value is not None]
    files: list[Path] = []
    target.mkdir(parents=True, exist_ok=True)
    for spec in manifest.tasks:
        heads = [one for one in metrics if one.task == spec.name and one.is_headline]
        for head in heads:
            if (entry := _build_entry(spec, head, manifest)) is None:
                continue
            # Every entry has its own file, because a person may submit only some of them.
            name = spec.name if len(heads) == 1 else f"{spec.name}_{head.method}"
            path = target / FOLDER / f"{re.sub(r'[^0-9A-Za-z._-]+', '-', name)}.yaml"
            path.parent.mkdir(exist_ok=True)
            path.write_text(yaml.safe_dump([entry], sort_keys=False, allow_unicode=True), encoding="utf-8")
            files.append(path)
    card = target / CARD
    card.write_text(_render_card(manifest, metrics), encoding="utf-8")
    return [*files, card]


def _build_entry(spec: TaskSpec, metric: Metric, manifest: RunManifest) -> dict[str, Any] | None:
    """Return the entry of a metric; None if its dataset is not on the hub."""
    found = _find_dataset(spec)
    if found is None or metric.value is None:
        return None
    dataset, revision = found
    named: dict[str, Any] = {"id": dataset}
    if (task_id := _find_task_id(spec)) is not None:
        named["task_id"] = task_id
    if revision is not None:
        named["revision"] = revision
    scale = 100 if metric.is_share and not is_perplexity(metric) else 1
    entry: dict[str, Any] = {"dataset": named, "value": round(scale * metric.value, _DIGITS)}
    if manifest.started:
        entry["date"] = datetime.fromisoformat(manifest.finished or manifest.started).isoformat()
    entry["notes"] = _describe(spec, metric, manifest)
    return entry


def _find_dataset(spec: TaskSpec) -> tuple[str, str | None] | None:
    """Return the dataset of a task on the hub with its commit; None if it is a local file."""
    for read in spec.settings.get("hub") or ():
        if (match := _HUB_DATASET.search(str(read))) is not None:
            return match[1], match[2]
    return None


def _find_task_id(spec: TaskSpec) -> str | None:
    """Return the task of the dataset's `eval.yaml` that the run used; None if it read the rows by itself."""
    said = spec.settings.get("said")
    task = said.get("eval_task") if isinstance(said, Mapping) else None
    name = task.get("id") if isinstance(task, Mapping) else None
    return name if isinstance(name, str) else None


def _describe(spec: TaskSpec, metric: Metric, manifest: RunManifest) -> str:
    parts = [f"{metric.metric} by {metric.method}"]
    if isinstance(shots := spec.settings.get("shots"), int):
        parts.append(f"{shots}-shot")
    if metric.low is not None:
        parts.append(f"95 % interval {format_metric_interval(metric)}")
    parts.append(f"{metric.n_counted} of {metric.n} samples")
    log = manifest.imported
    version = manifest.versions.get("assay") if log is None else log.assay
    parts.append(f"Assay {version}" if log is None else f"{log.format}, imported by Assay {version}")
    return ", ".join(parts)


def _render_card(manifest: RunManifest, metrics: Sequence[Metric]) -> str:
    """Return a section for the model's README."""
    headings = ("Task", "Method", "Shots", "Score", "95 % interval", "Samples")
    shots = {spec.name: spec.settings.get("shots") for spec in manifest.tasks}
    rows = []
    for one in metrics:
        shown = shots.get(one.task)
        unit = " %" if one.is_share and not is_perplexity(one) else ""
        interval = format_metric_interval(one)
        rows.append(
            [
                one.task,
                format_metric_method(one),
                str(shown) if isinstance(shown, int) else "-",
                f"{format_metric_value(one)}{unit}",
                interval,
                f"{one.n_counted:,} of {one.n:,}",
            ]
        )
    when = manifest.started[:10]
    said = f"Evaluated{f' on {when}' if when else ''}"
    log = manifest.imported
    by = f"Assay {manifest.versions.get('assay', '')}".strip() if log is None else log.format
    return f"## Evaluation\n\n{markdown_table(headings, rows)}\n\n{said} with {by}.\n"


FORMAT = LogFormat(
    NAME, "Hugging Face hub (.eval_results/*.yaml and a table for the model card)", write=write
)
