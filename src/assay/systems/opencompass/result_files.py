"""The result files of OpenCompass and AISBench, written from a run next to its own folder.

    predictions/MODEL/DATASET.json     OpenCompass: one dict, rows by number
    predictions/MODEL/DATASET.jsonl    AISBench: one line per text; failed rows in a separate file
    results/MODEL/DATASET.json         the values, shares from 0 to 100, and details if requested

A row that failed has an `error` instead of a prediction, where the originals would have an empty text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from assay.core.method import Method
from assay.core.metric_order import sort_metrics
from assay.core.score import NO_METRIC, Metric
from assay.core.task import TaskSpec
from assay.results.read import StoredRun
from assay.results.records import SampleRecord
from assay.systems.opencompass.answered_rows import read_rows_by_task
from assay.systems.opencompass.prediction_rows import OpenCompassRows

System: TypeAlias = Literal["opencompass", "aisbench"]

PREDICTIONS, RESULTS = "predictions", "results"


class DetailOptions(NamedTuple):
    """What a result file contains besides the values."""

    rows: bool
    """Whether each row is included with its prompt, prediction and reference answer."""
    extract_rate: bool = False
    """Whether the percentage of texts with an answer is included."""


def write_predictions(run: StoredRun, folder: Path, model: str, *, lists_answers: bool = False) -> None:
    """Write the predictions, scored or not; `lists_answers`: several answers to a row as a list."""
    for spec, rows in read_rows_by_task(run).items():
        of_task = next(task for task in run.manifest.tasks if task.name == spec)
        place = folder / PREDICTIONS / to_relative_path(model) / to_relative_path(of_task.name)
        place.parent.mkdir(parents=True, exist_ok=True)
        shapes = OpenCompassRows(of_task)
        write_json(append_suffix(place, ".json"), shapes.predictions(rows, lists_answers=lists_answers))


def write_results(run: StoredRun, folder: Path, model: str, details: DetailOptions) -> None:
    """Write the scores."""
    metrics = run.metrics()
    by_task = read_rows_by_task(run) if details.rows else {}
    for spec in run.manifest.tasks:
        own = select_metrics(spec, metrics)
        if not own:
            continue  # The originals write no result without scores.
        content: dict[str, Any] = {one.metric: scale_value(one) for one in own}
        if details.rows:
            content["details"] = OpenCompassRows(spec).details(by_task.get(spec.name, ()))
        place = folder / RESULTS / to_relative_path(model) / to_relative_path(spec.name)
        place.parent.mkdir(parents=True, exist_ok=True)
        write_json(append_suffix(place, ".json"), content)


def select_metrics(spec: TaskSpec, metrics: Sequence[Metric]) -> list[Metric]:
    """Return the metrics of a task that the originals have, its headline first.

    For compared options, Assay also has other normalisations and the model's confidence; omit these.
    """
    method = spec.methods[0]
    own = [
        one
        for one in metrics
        if (one.task, one.method, one.group) == (spec.name, method, None) and one.metric != NO_METRIC
    ]
    return sort_metrics(own if method == Method.GEN else [one for one in own if one.is_listed])


def scale_value(metric: Metric) -> float | None:
    """Return a value on the originals' scale: shares from 0 to 100."""
    if metric.value is None or not metric.is_share:
        return metric.value
    return float(f"{100 * metric.value:.12g}")  # 100 * 0.55 is 55.00000000000001.


def to_relative_path(name: str) -> PurePosixPath:
    """Return a name as a relative path; a slash in it makes folders, and no part leads outside."""
    parts = [part for part in PurePosixPath(name).parts if part not in ("/", "..")]
    return PurePosixPath(*parts) if parts else PurePosixPath("_")


def right_answer(record: SampleRecord) -> Any:
    """Return a sample's reference answer, or the list of several."""
    sample = record.sample
    right: Sequence[str] = [sample.labels[at] for at in sample.gold] or sample.targets
    return right[0] if len(right) == 1 else list(right)


def append_suffix(place: Path, suffix: str) -> Path:
    """Return a path with a suffix appended; dots in its name stay."""
    return place.with_name(place.name + suffix)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON document."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=4) + b"\n")


def write_lines(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Write JSON lines."""
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
