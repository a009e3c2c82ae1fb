"""Importing every_eval_ever records: one evaluation, or all evaluations of one model in a folder."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.core.method import Method
from assay.core.model import ModelIdentity
from assay.core.origin import Origin
from assay.core.prompt import Message, Prompt
from assay.core.request import Sampling
from assay.core.run import LoggedMetric
from assay.core.score import Verdict
from assay.results.exchange.assay_fields import (
    KEY,
    RunFields,
    read_run_fields,
    read_sample_fields,
    restore_run,
    restore_sample,
)
from assay.results.exchange.every_eval_ever.schema import (
    LIBRARY,
    NAME,
    SAMPLES_SUFFIX,
    SCHEMA_VERSION,
    Aggregate,
    EvaluationResult,
    Instance,
)
from assay.results.exchange.imported import (
    ImportedMetricFacts,
    ImportedReply,
    ImportedResult,
    ImportedRun,
    ImportedSample,
    ImportedTask,
)
from assay.results.exchange.kept_requests import restore_requests
from assay.results.exchange.log_files import (
    build_log_error,
    iter_bounded_lines,
    read_json_document,
    require_one_run,
)
from assay.results.exchange.typed_json import TypedReader

_instances = TypedReader(Instance, "every_eval_ever")
_aggregates = TypedReader(Aggregate, "every_eval_ever")
_BEGIN_BYTES = 4096
_PERCENT = "percent"


class _Metric(NamedTuple):
    """A metric of a record."""

    name: str
    task: str
    scale: float
    """What to divide the record's numbers by: percentages are shares here."""
    result: EvaluationResult


class _Record(NamedTuple):
    """One aggregate with what follows from it."""

    path: Path
    samples: Path | None
    aggregate: Aggregate
    metrics: Sequence[_Metric]
    fields: RunFields | None
    """What an export of Assay kept for itself."""


def find_mismatch(path: Path) -> str | None:
    """Return why a path is not a record of every_eval_ever or a folder of them."""
    if path.is_dir():
        found = any(_looks_like_record(one) for one in path.rglob("*.json"))
        return None if found else "no UUID.json with evaluation_results in the folder"
    if path.name.endswith(SAMPLES_SUFFIX):
        return None if _find_aggregate(path).is_file() else "the aggregate next to the samples is missing"
    if path.suffix != ".json":
        return "not .json"
    return None if _looks_like_record(path) else "the .json file does not begin like a record"


def read(path: Path) -> ImportedRun:
    """Return the run of one record, or of all records of one model in a folder."""
    if path.is_dir():
        paths = sorted(one for one in path.rglob("*.json") if _looks_like_record(one))
    else:
        paths = [_find_aggregate(path) if path.name.endswith(SAMPLES_SUFFIX) else path]
    if not paths:
        what = "no UUID.json with evaluation_results in the folder"
        raise build_log_error("LOG-002", what, "name a folder with records", path)
    records = _sort_records([_read_record(one) for one in paths])
    names = [metric.task for record in records for metric in record.metrics[:1]]
    models = {record.aggregate.model_info.id for record in records}
    if len(models) > 1 or len(set(names)) < len(names):
        require_one_run([str(one.relative_to(path)) for one in paths], path, str(paths[0]))
    first = records[0].aggregate
    run = ImportedRun(
        NAME,
        tuple(file for record in records for file in (record.path, record.samples) if file is not None),
        tuple(_iter_tasks(records)),
        lambda: (sample for record in records for sample in _iter_samples(record)),
        model=_build_model(first),
        settings={"evaluation_id": first.evaluation_id, "source_metadata": first.source_metadata},
        versions={first.eval_library.name: first.eval_library.version} if first.eval_library.name else {},
        started=_write_utc(first.evaluation_timestamp),
        metrics=tuple(_iter_logged(records)),
    )
    return restore_run(run, _join_fields(records))


def _sort_records(records: list[_Record]) -> list[_Record]:
    """Return records in the order of an exported run's tasks, other records in the order of their times."""
    fields = records[0].fields
    order = {} if fields is None else {task.name: number for number, task in enumerate(fields.tasks)}

    def find_place(record: _Record) -> tuple[int, str]:
        task = record.metrics[0].task if record.metrics else record.aggregate.evaluation_id.partition("/")[0]
        return order.get(task, len(order)), record.aggregate.evaluation_timestamp or ""

    # Sorting is stable: records of the same time stay in the order of their file names.
    return sorted(records, key=find_place)


def _looks_like_record(path: Path) -> bool:
    with open(path, "rb") as file:
        begin = file.read(_BEGIN_BYTES)
    return b'"schema_version"' in begin and b'"evaluation_id"' in begin


def _find_aggregate(samples: Path) -> Path:
    return samples.with_name(f"{samples.name.removesuffix(SAMPLES_SUFFIX)}.json")


def _read_record(path: Path) -> _Record:
    aggregate = _aggregates.convert(read_json_document(path), path)
    if aggregate.schema_version.partition(".")[0] != SCHEMA_VERSION.partition(".")[0]:
        raise build_log_error(
            "LOG-011",
            f"the record has version {aggregate.schema_version} of every_eval_ever's schema, "
            f"and Assay reads versions {SCHEMA_VERSION.partition('.')[0]}.x",
            "update Assay, or convert the record to an older version",
            path,
        )
    samples = path.with_name(f"{path.stem}{SAMPLES_SUFFIX}")
    kept = (aggregate.eval_library.additional_details or {}).get(KEY, "")
    fields = read_run_fields(_decode(kept)) if kept and aggregate.eval_library.name == LIBRARY else None
    return _Record(path, samples if samples.is_file() else None, aggregate, _list_metrics(aggregate), fields)


def _decode(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None


def _list_metrics(aggregate: Aggregate) -> list[_Metric]:
    """Return the metrics of a record, with names that are unique in their evaluation."""
    results = aggregate.evaluation_results
    wanted = [
        (one.evaluation_name, one.metric_config.metric_name or one.metric_config.metric_id or "score")
        for one in results
    ]
    found: list[_Metric] = []
    for result, (task, name) in zip(results, wanted, strict=True):
        if wanted.count((task, name)) > 1:
            name = result.evaluation_result_id or f"{name} {len(found) + 1}"
        scale = 100.0 if result.metric_config.metric_unit == _PERCENT else 1.0
        found.append(_Metric(name, task, scale, result))
    return found


def _iter_tasks(records: Sequence[_Record]) -> Iterator[ImportedTask]:
    for record in records:
        by_task: dict[str, list[_Metric]] = {}
        for metric in record.metrics:
            by_task.setdefault(metric.task, []).append(metric)
        for name, metrics in by_task.items():
            source = metrics[0].result.source_data
            yield ImportedTask(
                name=name,
                source=source.hf_repo or source.dataset_name or None,
                n_rows=source.samples_number,
                metrics={one.name: _read_facts(one) for one in metrics},
            )


def _read_facts(metric: _Metric) -> ImportedMetricFacts:
    config = metric.result.metric_config
    bounds = (config.min_score, config.max_score)
    is_share: bool | None = None
    if all(isinstance(bound, float | int) for bound in bounds):
        is_share = bounds == (0, metric.scale)
    elif any(isinstance(bound, str) for bound in bounds):
        is_share = False
    return ImportedMetricFacts(higher_is_better=not config.lower_is_better, is_share=is_share)


def _iter_logged(records: Sequence[_Record]) -> Iterator[LoggedMetric]:
    for record in records:
        for metric in record.metrics:
            details = metric.result.score_details
            uncertainty = details.uncertainty
            error = None if uncertainty is None else uncertainty.standard_error
            stderr = None if error is None or error.value is None else error.value / metric.scale
            n = None if uncertainty is None else uncertainty.num_samples
            yield LoggedMetric(metric.task, metric.name, details.score / metric.scale, stderr, n)


def _build_model(aggregate: Aggregate) -> ModelIdentity | None:
    info = aggregate.model_info
    engine = info.inference_engine
    backend = (engine.name if engine is not None else None) or info.inference_platform or ""
    return ModelIdentity(backend, info.id or info.name, server="named") if info.id or info.name else None


def _join_fields(records: Sequence[_Record]) -> RunFields | None:
    """Return what an export of Assay kept, without the tasks whose records are not here."""
    if any(record.fields is None for record in records):
        return None
    fields = records[0].fields
    assert fields is not None
    here = {metric.task for record in records for metric in record.metrics}
    here |= {record.aggregate.evaluation_id.partition("/")[0] for record in records}
    if here >= {task.name for task in fields.tasks}:
        return fields
    return msgspec.structs.replace(
        fields,
        tasks=tuple(task for task in fields.tasks if task.name in here),
        metrics=tuple(one for one in fields.metrics if one.task in here),
        summary_groups=(),
    )


def _iter_samples(record: _Record) -> Iterator[ImportedSample]:
    """Yield the samples of a record; the lines of one sample need not follow each other."""
    if record.samples is None:
        return
    sampling = _read_sampling(record)
    by_result = {one.result.evaluation_result_id: one for one in record.metrics}
    places: dict[tuple[str, str], list[tuple[int, int]]] = {}
    with open(record.samples, "rb") as file:
        at = 0
        for number, line in enumerate(iter_bounded_lines(file, record.samples), 1):
            if line.strip():
                row = _instances.read(line, Origin(str(record.samples), line=number))
                places.setdefault((_name_task(row, by_result), row.sample_id), []).append((at, number))
            at += len(line)
        for (task, _), where in places.items():
            rows = []
            for start, number in where:
                file.seek(start)
                rows.append(_instances.read(file.readline(), Origin(str(record.samples), line=number)))
            yield _build_sample(task, rows, where[0][1], record, by_result, sampling)


def _name_task(row: Instance, by_result: Mapping[str | None, _Metric]) -> str:
    metric = by_result.get(row.evaluation_result_id) if row.evaluation_result_id is not None else None
    return metric.task if metric is not None else row.evaluation_name


def _build_sample(
    task: str,
    rows: Sequence[Instance],
    line: int,
    record: _Record,
    by_result: Mapping[str | None, _Metric],
    sampling: Sampling | None,
) -> ImportedSample:
    by_method: dict[str, list[Instance]] = {}
    for row in rows:
        by_method.setdefault(str((row.metadata or {}).get("method", "")), []).append(row)
    built = [_build_one(task, mine, line, record, by_result, sampling) for mine in by_method.values()]
    return msgspec.structs.replace(built[0], results=tuple(one for sample in built for one in sample.results))


def _build_one(
    task: str,
    rows: Sequence[Instance],
    line: int,
    record: _Record,
    by_result: Mapping[str | None, _Metric],
    sampling: Sampling | None,
) -> ImportedSample:
    """Return a sample by one method, from its lines: one for each metric."""
    first = rows[0]
    references, choices = tuple(first.input.reference), tuple(first.input.choices or ())
    gold = tuple(choices.index(one) for one in references if one in choices)
    is_option = bool(gold) and len(gold) == len(references)
    values = {_name_value(row, record, by_result): row.evaluation.score for row in rows if _has_value(row)}
    values = {name: value for name, value in values.items() if math.isfinite(value)}
    sample = ImportedSample(
        task=task,
        id=first.sample_id,
        fields=_build_fields(first),
        line=line,
        file=str(record.samples),
        choices=choices,
        gold=gold if is_option else (),
        targets=() if is_option else references,
        results=(_build_result(first, values, sampling),),
    )
    kept = (first.metadata or {}).get(KEY)
    fields = read_sample_fields(kept)
    if fields is None or record.fields is None:
        return sample
    result = restore_requests(sample.results[0], fields, kept or {})
    return restore_sample(msgspec.structs.replace(sample, results=(result,)), fields)


def _has_value(row: Instance) -> bool:
    """Whether the number of a line is a score: the schema requires one for failed requests too."""
    return row.error is None or bool(row.output and row.output.raw) or bool(row.messages)


def _name_value(row: Instance, record: _Record, by_result: Mapping[str | None, _Metric]) -> str:
    if row.evaluation_result_id in by_result and row.evaluation_result_id is not None:
        return by_result[row.evaluation_result_id].name
    mine = [one.name for one in record.metrics if one.task == row.evaluation_name]
    return mine[0] if len(mine) == 1 else "score"


def _build_result(row: Instance, values: dict[str, float], sampling: Sampling | None) -> ImportedResult:
    found = [one for one in row.answer_attribution if one.is_terminal] or row.answer_attribution
    usage, times = row.token_usage, row.performance
    milliseconds = 0.0 if times is None else times.latency_ms or times.generation_time_ms or 0.0
    texts, traces = [], []
    turns: tuple[str, ...] = ()
    if row.output is not None:
        texts, traces = row.output.raw, row.output.reasoning_trace or []
    elif row.messages:
        turns = tuple(one.content or "" for one in row.messages if one.role == "assistant")
        texts = list(turns[-1:])
    replies = [
        ImportedReply(
            text=text,
            n_tokens=usage.output_tokens if usage is not None and not index else 0,
            n_prompt_tokens=usage.input_tokens if usage is not None and not index else 0,
            reasoning=traces[index] if index < len(traces) else None,
            turns=turns if len(turns) > 1 else (),
            seconds=milliseconds / 1000 if not index else 0.0,
        )
        for index, text in enumerate(texts)
    ]
    is_failed = row.error is not None and not values
    return ImportedResult(
        method=Method.GEN,
        values=values,
        verdict=Verdict.FAILED if is_failed else None,
        answer=found[-1].extracted_value if found else None,
        rule=found[-1].extraction_method if found else None,
        prompt=_read_prompt(row),
        sampling=sampling,
        replies=() if is_failed else tuple(replies),
        failure=row.error if is_failed else None,
    )


def _build_fields(row: Instance) -> dict[str, Any]:
    """Return what a line has of the dataset's record."""
    record: dict[str, Any] = {"question": row.input.raw}
    if row.input.choices:
        record["choices"] = row.input.choices
    record["reference"] = row.input.reference
    metadata = {name: value for name, value in (row.metadata or {}).items() if name != KEY}
    return {**record, **({"metadata": metadata} if metadata else {})}


def _read_prompt(row: Instance) -> Prompt | None:
    """Return what the model read: a text, or messages that are stored as JSON."""
    if row.messages:
        last = max((at for at, one in enumerate(row.messages) if one.role == "assistant"), default=0)
        turns = [one for one in row.messages[:last] if one.role in ("system", "user", "assistant")]
        return tuple(Message(one.role, one.content or "") for one in turns) or None  # type: ignore[arg-type]
    text = row.input.formatted
    if text is None:
        return None
    if text.startswith('[{"role"'):
        try:
            return tuple(Message(one["role"], one["content"]) for one in json.loads(text))
        except (ValueError, KeyError, TypeError):
            return text
    return text


def _read_sampling(record: _Record) -> Sampling | None:
    """Return how texts were sampled; None if the record does not say."""
    for metric in record.metrics:
        config = metric.result.generation_config
        args = (config.generation_args if config is not None else None) or {}
        most, temperature, top_p = args.get("max_tokens"), args.get("temperature"), args.get("top_p")
        if isinstance(most, int) and isinstance(temperature, int | float):
            return Sampling(most, float(temperature), float(top_p) if isinstance(top_p, int | float) else 1.0)
    return None


def _write_utc(stamp: str | None) -> str | None:
    """Return a time in the form of Assay's manifests, from Unix seconds or an ISO text."""
    if not stamp:
        return None
    try:
        time = datetime.fromtimestamp(float(stamp), UTC)
    except (ValueError, OverflowError, OSError):
        try:
            time = datetime.fromisoformat(stamp)
        except ValueError:
            return None
        time = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    return time.astimezone(UTC).isoformat(timespec="seconds")
