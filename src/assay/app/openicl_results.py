"""The files that OpenCompass and AISBench leave behind, written from a run beside its own folder.

    predictions/MODEL/DATASET.json     OpenCompass: one dict, the rows by their numbers
    predictions/MODEL/DATASET.jsonl    AISBench: a line for each text; failed rows in a file of their own
    results/MODEL/DATASET.json         the values, shares from 0 to 100, and details where asked for

A row that failed has an `error` in the place of a prediction, where the originals would have an empty text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from assay.app.answered_rows import AnsweredRow, mean_loss, options_of, rows_by_task, shown_prompt, texts_of
from assay.app.opencompass_files import OpenCompassRows
from assay.core.metric_order import in_order
from assay.core.score import Metric, Verdict
from assay.core.task import TaskSpec
from assay.results.read import StoredRun
from assay.results.records import SampleRecord

System: TypeAlias = Literal["opencompass", "aisbench"]

PREDICTIONS, RESULTS = "predictions", "results"


class Details(NamedTuple):
    """What a result file holds beside the values."""

    rows: bool
    """Each row with its prompt, its prediction and the right answer."""
    extract_rate: bool = False
    """In how many of 100 texts an answer was found."""


def write_predictions(run: StoredRun, folder: Path, model: str, system: System) -> None:
    """Write what the model answered, scored or not."""
    for spec, rows in rows_by_task(run).items():
        of_task = next(task for task in run.manifest.tasks if task.name == spec)
        place = folder / PREDICTIONS / file_name(model) / file_name(of_task.name)
        place.parent.mkdir(parents=True, exist_ok=True)
        if system == "opencompass":
            shapes = OpenCompassRows(of_task)
            _write(_with_suffix(place, ".json"), {str(row.number): shapes.prediction(row) for row in rows})
            continue
        good = [line for row in rows if row.failure is None for line in _lines(of_task.name, row)]
        bad = [line for row in rows if row.failure is not None for line in _lines(of_task.name, row)]
        _write_lines(_with_suffix(place, ".jsonl"), good)
        failed = _with_suffix(place, "_failed.jsonl")
        failed.unlink(missing_ok=True)
        if bad:
            _write_lines(failed, bad)


def write_results(run: StoredRun, folder: Path, model: str, details: Details, system: System) -> None:
    """Write what the answers are worth."""
    metrics = run.metrics()
    by_task = rows_by_task(run) if details.rows else {}
    for spec in run.manifest.tasks:
        own = shown_metrics(spec, metrics)
        content: dict[str, Any] = {one.metric: shown_value(one) for one in own}
        if details.extract_rate and own and own[0].n:
            content["extract_rate"] = 100 - 100 * own[0].n_unanswered / own[0].n
        if details.rows and system == "opencompass":
            content["details"] = OpenCompassRows(spec).details(by_task.get(spec.name, ()))
        elif details.rows:
            kind = "GEN" if spec.methods[0] == "gen" else "PPL"
            rows = {str(row.number): _detail(row) for row in by_task.get(spec.name, ())}
            content["details"] = {"type": kind, **rows}
        place = folder / RESULTS / file_name(model) / file_name(spec.name)
        place.parent.mkdir(parents=True, exist_ok=True)
        _write(_with_suffix(place, ".json"), content)


def shown_metrics(spec: TaskSpec, metrics: Sequence[Metric]) -> list[Metric]:
    """Return the metrics of a task as the originals would have them, what it is told by first.

    Where options are compared, Assay also has other normalisations and how sure the model was.
    """
    method = spec.methods[0]
    own = [one for one in metrics if (one.task, one.method, one.group) == (spec.name, method, None)]
    return in_order(own if method == "gen" else [one for one in own if one.is_listed])


def shown_value(metric: Metric) -> float | None:
    """Return a value on the originals' scale: shares from 0 to 100."""
    return metric.value if metric.value is None or not metric.is_share else 100 * metric.value


def file_name(name: str) -> PurePosixPath:
    """Return a name as a place below a folder; a slash in it makes folders, and none leads out."""
    parts = [part for part in PurePosixPath(name).parts if part not in ("/", "..")]
    return PurePosixPath(*parts) if parts else PurePosixPath("_")


def _gold(record: SampleRecord) -> Any:
    sample = record.sample
    right: Sequence[str] = [sample.labels[at] for at in sample.gold] or sample.targets
    return right[0] if len(right) == 1 else list(right)


def _lines(task: str, row: AnsweredRow) -> Iterator[dict[str, Any]]:
    """Yield the lines of AISBench's predictions for one row: one for each text."""
    record, failure = row.record, row.failure
    head = {"data_abbr": task, "id": row.number, "success": failure is None}
    prompt = shown_prompt(record.contexts[0]) if record.contexts else ""
    gold = {} if (right := _gold(record)) in (None, "", []) else {"gold": right}
    if failure is not None:
        yield {
            **head,
            "uuid": record.sample.id,
            "origin_prompt": prompt,
            "prediction": "",
            **gold,
            "error_info": f"{failure.kind}: {failure.message}",
        }
        return
    options = [{"label": label, "ppl": mean_loss(outcome)} for label, _, outcome in options_of(row)]
    if options:
        answer = None if row.score is None else row.score.answer
        more = {"ppl_list": options, "prediction": answer}
        yield {**head, "uuid": record.sample.id, "origin_prompt": prompt, **more, **gold}
        return
    texts = texts_of(row)
    for at, text in enumerate(texts):
        name = record.sample.id if len(texts) == 1 else f"{record.sample.id}.{at}"
        yield {**head, "uuid": name, "origin_prompt": prompt, "prediction": text, **gold}


def _detail(row: AnsweredRow) -> dict[str, Any]:
    """Return one row of the details: what was asked, what came, and what it was worth."""
    made: dict[str, Any] = {}
    options = list(options_of(row))
    if options:
        made["origin_prediction"] = {
            label: {"prompt": shown_prompt(row.record.ask(ask).prompt), "PPL": mean_loss(outcome)}
            for label, ask, outcome in options
        }
    else:
        texts = texts_of(row)
        made["prompt"] = shown_prompt(row.record.contexts[0]) if row.record.contexts else ""
        made["origin_prediction"] = texts[0] if len(texts) == 1 else texts
    score = row.score
    if score is None or score.verdict is Verdict.FAILED:
        failure = row.failure
        why = f"{failure.kind}: {failure.message}" if failure is not None else score and score.why
        return {**made, "error": why or "not scored"}
    made["predictions"] = score.answer if score.answer is not None else ""
    made["references"] = score.target if score.target is not None else _gold(row.record)
    if score.verdict is Verdict.UNANSWERED or score.value in (0.0, 1.0):
        made["correct"] = score.value == 1.0
    elif score.value is not None:
        made[score.metric] = score.value
    return made


def _with_suffix(place: Path, suffix: str) -> Path:
    return place.with_name(place.name + suffix)


def _write(path: Path, content: Mapping[str, Any]) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=4) + b"\n")


def _write_lines(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
