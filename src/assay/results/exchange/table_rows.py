"""A run as a table: one row per sample and method, for csv and parquet.

A table from elsewhere needs a column `value` and a column `id` or `question`; all others are optional.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay.core.method import Method
from assay.core.model import ModelIdentity
from assay.core.origin import Origin
from assay.core.prompt import Message, Prompt
from assay.core.request import Sampling
from assay.core.response import Finish
from assay.core.score import Verdict
from assay.results.exchange.assay_fields import (
    KEY,
    build_run_fields,
    build_sample_fields,
    read_run_fields,
    read_sample_fields,
    restore_run,
    restore_sample,
)
from assay.results.exchange.imported import (
    ImportedOption,
    ImportedReply,
    ImportedResult,
    ImportedRun,
    ImportedSample,
    ImportedTask,
)
from assay.results.exchange.log_files import build_log_error
from assay.results.exchange.stored_samples import StoredResult, StoredSample, iter_stored_samples
from assay.results.read import StoredRun

COLUMNS = {
    "task": str,
    "id": str,
    "row": int,
    "group": str,
    "cluster": str,
    "record": str,
    "question": str,
    "right_answer": str,
    "method": str,
    "prompt": str,
    "sampling": str,
    "response": str,
    "finish": str,
    "n_tokens": int,
    "options": str,
    "answer": str,
    "metric": str,
    "value": float,
    "verdict": str,
    "error": str,
    "other_metrics": str,
    "model": str,
    KEY: str,
    f"{KEY}_run": str,
}
"""The columns and the types of their values. `record`, `sampling`, `options` and `other_metrics` are JSON;
`prompt` is JSON if it is a conversation, and `response` if there are several. Only the first row has
`assay_run`."""
RUN_COLUMN = f"{KEY}_run"
_UNNAMED_TASK = "table"


def build_rows(run: StoredRun) -> Iterator[dict[str, Any]]:
    """Yield one row per sample and method; None where a column does not apply."""
    run_fields: str | None = _encode(build_run_fields(run))
    for stored in iter_stored_samples(run):
        for number, result in enumerate(stored.results):
            row = _build_row(stored, result)
            row["model"] = run.manifest.model.name
            # The fields of a sample cover all of its methods.
            row[KEY] = _encode(build_sample_fields(stored)) if number == 0 else None
            row[RUN_COLUMN] = run_fields
            run_fields = None
            yield row


def _build_row(stored: StoredSample, result: StoredResult) -> dict[str, Any]:
    sample = stored.record.sample
    score = result.score
    outputs = result.outputs()
    asks = [ask for ask in result.asks if ask.role != "unconditional"]
    first = asks[0] if asks else None
    texts = [output.text for output in outputs]
    failure = result.failure()
    right = [sample.choices[at] for at in sample.gold if at < len(sample.choices)] or list(sample.targets)
    return dict.fromkeys(COLUMNS) | {
        "task": stored.record.task,
        "id": sample.id,
        "row": sample.origin.row,
        "group": sample.group,
        "cluster": sample.cluster,
        "record": _encode(sample.fields),
        "right_answer": None if not right else right[0] if len(right) == 1 else _encode(right),
        "method": str(result.method),
        "prompt": None if first is None else _format_prompt(stored.prompt(first)),
        "sampling": None if first is None or first.sampling is None else _encode(first.sampling),
        "response": None if not texts else texts[0] if len(texts) == 1 else _encode(texts),
        "finish": str(outputs[0].finish) if outputs else None,
        "n_tokens": outputs[0].n_tokens if outputs else None,
        "options": _format_options(stored, result),
        "answer": None if score is None else score.answer,
        "metric": None if score is None else score.metric,
        "value": None if score is None else score.value,
        "verdict": None if score is None else str(score.verdict),
        "error": failure.message if failure is not None else None if score is None else score.why,
        "other_metrics": None if score is None or not score.also else _encode(score.also),
    }


def _format_prompt(prompt: Prompt) -> str:
    return prompt if isinstance(prompt, str) else _encode(prompt)


def _format_options(stored: StoredSample, result: StoredResult) -> str | None:
    probs = result.label_probs()
    if probs is not None:
        labels = next(ask.labels for ask in result.asks if ask.labels)
        return _encode(
            [{"text": one[0], "prob": prob} for one, prob in zip(labels, probs.probs, strict=True)]
        )
    found = []
    alone = {ask.index: likelihood for ask, likelihood in result.likelihoods("unconditional")}
    for role in ("option", "text"):
        for ask, likelihood in result.likelihoods(role):
            if likelihood is not None:
                without = alone.get(ask.index)
                option = ImportedOption(
                    text=ask.text,
                    sum_logprob=likelihood.sum_logprob,
                    is_greedy=likelihood.is_greedy,
                    n_tokens=likelihood.n_tokens,
                    unconditional=None if without is None else without.sum_logprob,
                )
                found.append(option)
    return _encode(found) if found else None


def read_table(
    format_name: str, path: Path, columns: Iterable[str], rows: Iterable[tuple[int, Mapping[str, Any]]]
) -> ImportedRun:
    """Return the run in a table. `rows`: line numbers and rows, iterated twice."""
    known = set(columns)
    _, first = next(iter(rows), (0, {}))
    fields = read_run_fields(_decode(first.get(RUN_COLUMN)))
    names = [str(first.get("task") or _UNNAMED_TASK)]
    run = ImportedRun(
        format_name,
        (path,),
        tuple(ImportedTask(name=name) for name in names),
        lambda: _read_samples(path, known, rows),
        model=_read_model(first.get("model")),
    )
    return restore_run(run, fields)


def describe_missing_columns(columns: Iterable[str]) -> str | None:
    """Return which columns a table needs to be a log; None if it has them."""
    known = set(columns)
    if "value" not in known:
        return "no column `value`"
    return None if known & {"id", "question"} else "no column `id` or `question`"


def _read_model(name: Any) -> ModelIdentity | None:
    return ModelIdentity("", str(name)) if name else None


def _read_samples(
    path: Path, columns: set[str], rows: Iterable[tuple[int, Mapping[str, Any]]]
) -> Iterator[ImportedSample]:
    """Yield the samples; the rows of one sample follow one another."""
    before: ImportedSample | None = None
    fields: Any = None
    for line, row in rows:
        sample = _read_sample(path, line, row, columns)
        if before is not None and (before.task, before.id) == (sample.task, sample.id):
            methods = {result.method for result in before.results}
            if not methods & {result.method for result in sample.results}:
                before = msgspec.structs.replace(before, results=(*before.results, *sample.results))
                continue
        if before is not None:
            yield restore_sample(before, read_sample_fields(fields))
        before, fields = sample, _decode(row.get(KEY))
    if before is not None:
        yield restore_sample(before, read_sample_fields(fields))


def _read_sample(path: Path, line: int, row: Mapping[str, Any], columns: set[str]) -> ImportedSample:
    place = Origin(str(path), line=line)
    record = _decode(row.get("record"))
    if not isinstance(record, dict):
        # A table from elsewhere: every further column is a part of the record.
        record = {name: value for name, value in row.items() if name not in COLUMNS or name == "question"}
        record = {name: value for name, value in record.items() if value not in (None, "")}
    question = row.get("question")
    id_ = row.get("id")
    right = row.get("right_answer")
    return ImportedSample(
        task=str(row.get("task") or _UNNAMED_TASK),
        id=str(id_ if id_ not in (None, "") else question if question else line),
        fields=record,
        row=_read_integer(row.get("row"), "row", place),
        line=line,
        file=str(path),
        targets=() if right in (None, "") else (str(right),),
        group=_read_text(row.get("group")),
        cluster=_read_text(row.get("cluster")),
        results=(_read_result(row, place),),
    )


def _read_result(row: Mapping[str, Any], place: Origin) -> ImportedResult:
    method = _read_name(row.get("method") or Method.GEN, Method, "method", place)
    verdict = None
    if row.get("verdict"):
        verdict = _read_name(row["verdict"], Verdict, "verdict", place)
    value = _read_number(row.get("value"), "value", place)
    metric = str(row.get("metric") or "value")
    others = _decode(row.get("other_metrics"))
    values = {} if value is None else {metric: value}
    if isinstance(others, dict):
        for name, other in others.items():
            number = _read_number(other, "other_metrics", place)
            values |= {} if number is None else {str(name): number}
    sampling = _convert(_decode(row.get("sampling")), Sampling)
    return ImportedResult(
        method=method,
        metric=metric,
        values=values,
        verdict=verdict,
        answer=_read_text(row.get("answer")),
        prompt=_read_prompt(row.get("prompt")),
        sampling=sampling,
        replies=_read_replies(row, place),
        options=_convert(_decode(row.get("options")), tuple[ImportedOption, ...]) or (),
        failure=_read_text(row.get("error")) if value is None and verdict in (None, Verdict.FAILED) else None,
    )


def _read_replies(row: Mapping[str, Any], place: Origin) -> tuple[ImportedReply, ...]:
    response = row.get("response")
    if response is None:
        return ()
    texts = _decode(response) if str(response).startswith('["') else None
    if isinstance(texts, list) and all(isinstance(one, str) for one in texts):
        return tuple(ImportedReply(text=text) for text in texts)
    if not response and not row.get("finish"):
        return ()
    finish = row.get("finish")
    known = {str(one) for one in Finish}
    return (
        ImportedReply(
            text=str(response),
            finish=Finish(finish) if finish in known else Finish.UNKNOWN,
            n_tokens=_read_integer(row.get("n_tokens"), "n_tokens", place) or 0,
        ),
    )


def _read_prompt(value: Any) -> Prompt | None:
    if value is None or value == "":
        return None
    text = str(value)
    if text.startswith('[{"role"'):
        return _convert(_decode(text), tuple[Message, ...]) or text
    return text


def _read_text(value: Any) -> str | None:
    return None if value in (None, "") else str(value)


def _read_number(value: Any, column: str, place: Origin) -> float | None:
    if value is None or value == "":
        return None
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise build_log_error(
            "LOG-003",
            f"{value!r} is not a number",
            f"write numbers into the column {column!r}, or leave a cell empty",
            place.at(column),
        ) from error
    return None if math.isnan(number) else number


def _read_integer(value: Any, column: str, place: Origin) -> int | None:
    number = _read_number(value, column, place)
    if number is None or number.is_integer():
        return None if number is None else int(number)
    raise build_log_error("LOG-003", f"{value!r} is not a whole number", "correct the cell", place.at(column))


def _read_name(value: Any, kind: Any, column: str, place: Origin) -> Any:
    try:
        return kind(str(value))
    except ValueError as error:
        names = ", ".join(str(one) for one in kind)
        raise build_log_error(
            "LOG-003", f"{value!r} is not one of {names}", "correct the cell", place.at(column)
        ) from error


def _encode(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _decode(value: Any) -> Any:
    if not isinstance(value, str) or not value:
        return None
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return None


def _convert(value: Any, kind: Any) -> Any:
    if value is None:
        return None
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None
