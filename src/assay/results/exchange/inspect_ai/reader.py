"""Importing inspect_ai logs: one log, or the logs of one run in a folder."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.core.model import ModelIdentity
from assay.core.request import Sampling
from assay.core.response import Finish
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
from assay.results.exchange.imported import (
    ImportedMetricFacts,
    ImportedResult,
    ImportedRun,
    ImportedSample,
    ImportedTask,
)
from assay.results.exchange.inspect_ai.log_file import SUFFIXES, OpenLog, opening_log
from assay.results.exchange.inspect_ai.messages import read_prompt, read_question, read_replies
from assay.results.exchange.inspect_ai.schema import NAME, PROGRAM, Header, Sample
from assay.results.exchange.inspect_ai.values import (
    ACCURACY,
    NO_ANSWER,
    SPREADS,
    LogMetrics,
    ReducedValues,
    average,
    find_score,
    list_scores,
    read_metrics,
    read_number,
)
from assay.results.exchange.kept_requests import restore_requests
from assay.results.exchange.log_files import build_log_error, require_one_run

_CHOICE_SOLVER = "multiple_choice"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SETTINGS = (
    "task_args",
    "task_version",
    "solver",
    "solver_args",
    "tags",
    "model_generate_config",
    "model_roles",
    "config",
    "scorers",
    "metadata",
)


class _Log(NamedTuple):
    """The header of one log with what follows from it."""

    path: Path
    header: Header
    metrics: LogMetrics
    fields: RunFields | None
    """What an export of Assay kept for itself."""


def find_mismatch(path: Path) -> str | None:
    """Return why a path is not an inspect_ai log or a folder of them."""
    if path.is_dir():
        names = [one for one in _list_files(path) if one.suffix == ".eval" or _looks_like_log(one)]
        return None if names else "no .eval or .json log in the folder"
    if path.suffix == ".eval":
        return None
    if path.suffix != ".json":
        return "not .eval or .json"
    return None if _looks_like_log(path) else "the .json file does not begin like a log"


def read(path: Path) -> ImportedRun:
    """Return the run of a log, or of all logs in a folder that one run wrote."""
    paths = [path]
    if path.is_dir():
        paths = [one for one in _list_files(path) if one.suffix == ".eval" or _looks_like_log(one)]
    if not paths:
        raise build_log_error(
            "LOG-002", "no .eval or .json log in the folder", "name a folder with logs", path
        )
    logs = _sort_logs([_read_log(one) for one in paths])
    runs = {log.header.eval.eval_set_id or log.header.eval.run_id for log in logs}
    models = {log.header.eval.model for log in logs}
    if len(runs) > 1 or len(models) > 1:
        require_one_run([one.name for one in paths], path, str(paths[0]))
    by_task: dict[str, list[_Log]] = {}
    for log in logs:
        by_task.setdefault(log.header.eval.task, []).append(log)
    for task, same in by_task.items():
        if len(same) > 1 and any(log.fields is None for log in same):
            raise build_log_error(
                "LOG-004",
                f"the folder has {len(same)} logs of the task {task!r}",
                f"import one of them: assay import {same[0].path}",
                path,
            )
    return _build_run(logs, by_task)


def _sort_logs(logs: list[_Log]) -> list[_Log]:
    """Return logs in the order of an exported run's tasks; other logs by the time of their creation."""
    fields = logs[0].fields
    order = {} if fields is None else {task.name: number for number, task in enumerate(fields.tasks)}
    # Sorting is stable: logs of the same time stay in the order of their file names.
    return sorted(
        logs, key=lambda log: (order.get(log.header.eval.task, len(order)), log.header.eval.created)
    )


def _list_files(folder: Path) -> list[Path]:
    return sorted(one for one in folder.iterdir() if one.suffix in SUFFIXES and one.is_file())


def _looks_like_log(path: Path) -> bool:
    with open(path, "rb") as file:
        begin = file.read(4096)
    squeezed = b"".join(begin.split())
    return squeezed.startswith(b'{"version":') and b'"status":' in squeezed and b'"eval":{' in squeezed


def _read_log(path: Path) -> _Log:
    with opening_log(path) as log:
        header = log.header
    results = header.results
    fields = read_run_fields((results.metadata or {}).get(KEY)) if results else None
    return _Log(path, header, read_metrics(header, header.eval.task), fields)


def _build_run(logs: Sequence[_Log], by_task: Mapping[str, Sequence[_Log]]) -> ImportedRun:
    first = logs[0].header
    started, finished = first.stats.started_at or first.eval.created, logs[-1].header.stats.completed_at
    run = ImportedRun(
        NAME,
        tuple(log.path for log in logs),
        tuple(_build_task(same[0]) for same in by_task.values()),
        lambda: _iter_samples(by_task),
        model=_build_model(first),
        settings=_build_settings(logs),
        versions={PROGRAM: first.eval.packages.get(PROGRAM, "unknown"), **first.eval.packages},
        started=_write_utc(started),
        finished=_write_utc(finished),
        seconds=_count_seconds(started, finished),
        metrics=_list_logged(logs),
        judge=_build_judge(first),
        notes=tuple(_list_notes(logs)),
    )
    return restore_run(run, _join_fields(logs))


def _list_logged(logs: Sequence[_Log]) -> tuple[LoggedMetric, ...]:
    return tuple(metric for log in logs for metric in log.metrics.logged)


def _build_task(log: _Log) -> ImportedTask:
    spec = log.header.eval
    facts = {
        column.metric: ImportedMetricFacts(
            higher_is_better=True,
            is_share=True if column.metric.rpartition("/")[2].startswith(ACCURACY) else None,
        )
        for column in log.metrics.columns
    }
    for logged in log.metrics.logged:
        if logged.metric.rpartition("/")[2].partition("@")[0] in SPREADS:
            facts[logged.metric] = ImportedMetricFacts(is_share=False)
    return ImportedTask(
        name=spec.task,
        source=spec.dataset.location or spec.dataset.name,
        n_rows=spec.dataset.samples,
        settings={
            "plan": log.header.plan.steps,
            "scores": msgspec.to_builtins([] if log.header.results is None else log.header.results.scores),
        },
        metrics=facts,
    )


def _build_model(header: Header) -> ModelIdentity | None:
    name = header.eval.model
    if not name or name == "none/none":
        return None
    config = {**header.eval.model_generate_config, **header.plan.config}
    args = {key: value for key, value in config.items() if isinstance(value, str | int | float | bool)}
    return ModelIdentity(name.partition("/")[0], name, args=args, server="named")


def _build_judge(header: Header) -> ModelIdentity | None:
    """Return the model that graded, if the log names it."""
    role = (header.eval.model_roles or {}).get("grader")
    name = role.get("model") if isinstance(role, dict) else None
    return ModelIdentity(str(name).partition("/")[0], str(name), server="named") if name else None


def _build_settings(logs: Sequence[_Log]) -> dict[str, Any]:
    spec = msgspec.to_builtins(logs[0].header.eval)
    found = {name: spec[name] for name in _SETTINGS if spec.get(name)}
    found["status"] = logs[0].header.status
    if logs[0].header.plan.config:
        found["generate_config"] = logs[0].header.plan.config
    return found


def _list_notes(logs: Sequence[_Log]) -> Iterator[str]:
    for log in logs:
        header = log.header
        named = f"the log of {header.eval.task!r}" if len(logs) > 1 else "the log"
        if header.status != "success":
            why = f": {header.error.message}" if header.error is not None else ""
            yield f"{named} has the status {header.status!r}, so it may not have all samples{why[:300]}"
        if header.invalidated:
            yield f"{named} is marked as invalidated"
        if header.results is None and header.eval.scorers:
            yield f"{named} has no metrics; Assay computed them from the scores of its samples"


def _join_fields(logs: Sequence[_Log]) -> RunFields | None:
    """Return what an export of Assay kept, without the tasks and methods whose logs are not here."""
    if any(log.fields is None for log in logs):
        return None
    fields = logs[0].fields
    assert fields is not None
    here = {(log.header.eval.task, _read_method(log.header)) for log in logs}
    every = {(task.name, method.value) for task in fields.tasks for method in task.methods}
    if here == every:
        return fields
    tasks = tuple(
        msgspec.structs.replace(task, methods=tuple(m for m in task.methods if (task.name, m.value) in here))
        for task in fields.tasks
        if any((task.name, method.value) in here for method in task.methods)
    )
    metrics = tuple(one for one in fields.metrics if (one.task, one.method) in here)
    return msgspec.structs.replace(fields, tasks=tasks, metrics=metrics, summary_groups=())


def _read_method(header: Header) -> str:
    """Return the method of a log that Assay exported."""
    return str((header.eval.metadata or {}).get("method", ""))


def _iter_samples(by_task: Mapping[str, Sequence[_Log]]) -> Iterator[ImportedSample]:
    for task, same in by_task.items():
        with ExitStack() as stack:
            opened = [_LogSamples(stack.enter_context(opening_log(log.path)), log) for log in same]
            for id_ in opened[0].ids:
                first = opened[0].build(task, id_)
                others = [result for one in opened[1:] for result in one.build(task, id_).results]
                yield msgspec.structs.replace(first, results=(*first.results, *others))


class _LogSamples:
    """The samples of one open log."""

    def __init__(self, opened: OpenLog, log: _Log) -> None:
        self._opened = opened
        self._log = log
        self._epochs = opened.list_epochs()
        self._reduced = ReducedValues(opened.reductions() if log.header.results else [])
        spec = log.header.eval
        wanted = [str(id_) for id_ in spec.dataset.sample_ids or ()]
        in_order = [id_ for id_ in wanted if id_ in self._epochs]
        self.ids = list(dict.fromkeys([*in_order, *self._epochs]))
        self._sampling = _build_sampling({**spec.model_generate_config, **log.header.plan.config})
        self._has_letters = any(step.get("solver") == _CHOICE_SOLVER for step in log.header.plan.steps)

    def build(self, task: str, id_: str) -> ImportedSample:
        """Return a sample with its epochs as repeats."""
        epochs = [self._opened.read_sample(where) for where in self._epochs.get(id_, ())]
        if not epochs:
            return ImportedSample(task=task, id=id_)
        first = epochs[0]
        metadata = dict(first.metadata)
        kept = metadata.pop(KEY, None)
        fields = read_sample_fields(kept)
        targets = (first.target,) if isinstance(first.target, str) else tuple(first.target)
        choices = tuple(first.choices or ())
        gold = _read_gold(targets, choices) if fields is None else ()
        key = self._log.metrics.group_key
        sample = ImportedSample(
            task=task,
            id=id_,
            fields=metadata if fields is not None else _build_record(first, metadata),
            file=str(self._log.path),
            choices=choices,
            gold=gold,
            targets=() if gold else tuple(one for one in targets if one),
            group=None if key is None or key not in metadata else str(metadata[key]),
            results=(self._build_result(id_, epochs),),
        )
        if fields is None or not self._agrees(sample, fields.scores):
            return sample
        result = sample.results[0]
        prompt = first.input if isinstance(first.input, str) and first.input else result.prompt
        result = restore_requests(msgspec.structs.replace(result, prompt=prompt), fields, kept)
        return restore_sample(msgspec.structs.replace(sample, results=(result,)), fields)

    def _agrees(self, sample: ImportedSample, scores: Sequence[Any]) -> bool:
        """Whether the values that Assay kept are those of the log, which another program may have changed."""
        values = sample.results[0].values
        named = {one.name: values[one.metric] for one in self._log.metrics.columns if one.metric in values}
        return all(
            score.value is None
            or score.metric not in named
            or math.isclose(named[score.metric], score.value, rel_tol=1e-9)
            for score in scores
        )

    def _build_result(self, id_: str, epochs: Sequence[Sample]) -> ImportedResult:
        first = epochs[0]
        values: dict[str, float] = {}
        unscored: str | None = None
        columns = self._log.metrics.columns
        for column in columns:
            number = self._reduced.find(column, id_)
            if number is None:
                number = average(column, epochs)
            if number is None:
                continue
            if math.isfinite(number):
                values[column.metric] = number
            elif column is columns[0]:
                unscored = _explain_unscored([find_score(column, epoch)[1] for epoch in epochs])
        if not columns:
            values = _read_undeclared(epochs)
        metric = columns[0].metric if columns else next(iter(values), "")
        headline = [find_score(columns[0], epoch)[1] for epoch in epochs] if columns else []
        answered = [score for score in headline if score is not None]
        error = next((epoch.error.message for epoch in epochs if epoch.error is not None), None)
        is_failed = unscored is not None or (error is not None and metric not in values)
        verdict = Verdict.FAILED if is_failed else None
        if not is_failed and answered and all(score.value == NO_ANSWER for score in answered):
            verdict = Verdict.UNANSWERED
        model = self._log.header.eval.model
        replies = tuple(reply for epoch in epochs for reply in read_replies(epoch, model))
        return ImportedResult(
            metric=metric,
            values=values,
            verdict=verdict,
            answer=next((score.answer for score in answered if score.answer is not None), None),
            rule=columns[0].scorer or None if columns else None,
            prompt=read_prompt(first),
            sampling=self._sampling,
            replies=replies,
            failure=(error or unscored) if is_failed else None,
            is_truncated=any(reply.finish is Finish.LENGTH for reply in replies)
            or any(epoch.limit is not None for epoch in epochs),
            details=tuple(_describe_epoch(epoch) for epoch in epochs if epoch.scores or epoch.error),
        )


def _build_record(sample: Sample, metadata: Mapping[str, Any]) -> dict[str, Any]:
    record: dict[str, Any] = {"input": read_question(sample)}
    if sample.choices:
        record["choices"] = sample.choices
    record["target"] = sample.target
    return {**record, **({"metadata": metadata} if metadata else {})}


def _read_gold(targets: Sequence[str], choices: Sequence[str]) -> tuple[int, ...]:
    """Return the indexes of the right options, if the targets are letters of options."""
    found = [_LETTERS.find(one) for one in targets if len(one) == 1]
    is_letters = choices and targets and len(found) == len(targets)
    return tuple(found) if is_letters and all(0 <= one < len(choices) for one in found) else ()


def _build_sampling(config: Mapping[str, Any]) -> Sampling | None:
    """Return how texts were sampled; None if the log leaves parameters to the model's provider."""
    most, temperature = config.get("max_tokens"), config.get("temperature")
    if not isinstance(most, int) or not isinstance(temperature, int | float):
        return None
    top_p, seed = config.get("top_p"), config.get("seed")
    stop = config.get("stop_seqs")
    return Sampling(
        most,
        float(temperature),
        float(top_p) if isinstance(top_p, int | float) else 1.0,
        tuple(str(one) for one in stop) if isinstance(stop, list) else (),
        seed if isinstance(seed, int) else None,
    )


def _read_undeclared(epochs: Sequence[Sample]) -> dict[str, float]:
    """Return the means of scores over epochs, if the log does not say which metrics they have."""
    found: dict[str, list[float]] = {}
    for epoch in epochs:
        for name, score in list_scores(epoch).items():
            parts = score.value.items() if isinstance(score.value, dict) else [("", score.value)]
            for key, value in parts:
                number = read_number(value)
                if number is not None and math.isfinite(number):
                    found.setdefault(f"{name}/{key}" if key else name, []).append(number)
    return {name: sum(numbers) / len(numbers) for name, numbers in found.items()}


def _explain_unscored(scores: Sequence[Any]) -> str:
    found = [score for score in scores if score is not None]
    parts = [part for score in found[:1] for part in (score.reason, score.explanation) if part]
    return ": ".join(["the scorer gave no score", *parts])


def _describe_epoch(epoch: Sample) -> dict[str, Any]:
    """Return the scores of one epoch as the log has them. One without a value (NaN) has none here either."""
    described: dict[str, Any] = {"epoch": epoch.epoch}
    if epoch.scores:
        described["scores"] = {
            name: {key: value for key, value in msgspec.to_builtins(score).items() if not _is_missing(value)}
            for name, score in epoch.scores.items()
        }
    if epoch.error is not None:
        described["error"] = epoch.error.message
    if epoch.limit is not None:
        described["limit"] = msgspec.to_builtins(epoch.limit)
    return described


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _write_utc(time: str) -> str | None:
    """Return a time in the form of Assay's manifests; None if the log has none."""
    parsed = _parse_time(time)
    return None if parsed is None else parsed.astimezone(UTC).isoformat(timespec="seconds")


def _count_seconds(started: str, finished: str) -> float | None:
    begin, end = _parse_time(started), _parse_time(finished)
    return None if begin is None or end is None else (end - begin).total_seconds()


def _parse_time(time: str) -> datetime | None:
    try:
        parsed = datetime.fromisoformat(time)
    except ValueError:
        return None
    return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
