"""LEAP's result files, written from a complete run.

    FOLDER/result.json     the arguments, and the time and metrics (4 decimals) of each task
    FOLDER/TASK.json       each document: prompts, model outputs, reference answer, values

A document that failed has an `error` instead of its values, where the original would have stopped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay.core.prompt import Prompt
from assay.core.request import Kind, Request
from assay.core.response import Failure
from assay.core.run import RunManifest
from assay.core.score import Metric
from assay.core.task import AnsweredRequest
from assay.dialects.leap.evaluation import ORIGINAL_DIGITS
from assay.dialects.leap.task import LeapTask
from assay.results.read import StoredRun
from assay.results.records import AskRecord, SampleRecord
from assay.results.response_index import ResponseIndex

RESULT = "result"
_UNTIL = "until"
"""What the original appends to the prompt of a text: the keys of the argument of greedy_until."""


def write_results(
    run: StoredRun, tasks: Sequence[LeapTask], folder: Path, configs: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Write the files of a complete run; return the results of each task."""
    metrics = run.metrics()
    results = {task.spec.name: _result(task, metrics, run.manifest) for task in tasks}
    _write(folder / f"{RESULT}.json", {"configs": configs, "results": results})
    documents: dict[str, list[dict[str, Any]]] = {name: [] for name in results}
    by_name = {task.spec.name: task for task in tasks}
    with run.response_index() as responses:
        for record in run.samples():
            task_documents = documents[record.task]
            numbered = {"doc_id": len(task_documents), **_document(by_name[record.task], record, responses)}
            task_documents.append(numbered)
    for name, several in documents.items():
        _write(folder / f"{name}.json", several)
    return results


def _result(task: LeapTask, metrics: Sequence[Metric], manifest: RunManifest) -> dict[str, Any]:
    """Return the time a task took, and the metrics that its class names."""
    spec = task.spec
    seconds = sum(cost.seconds for cost in manifest.costs if cost.task == spec.name)
    known: Sequence[str] = spec.settings["metrics"]
    own = [
        one
        for one in metrics
        if (one.task, one.method, one.group) == (spec.name, spec.methods[0], None)
        and one.metric.partition(".")[0] in known
    ]
    return {
        "time": str(timedelta(seconds=int(seconds))),
        **{one.metric: None if one.value is None else round(one.value, ORIGINAL_DIGITS) for one in own},
    }


def _document(task: LeapTask, record: SampleRecord, responses: ResponseIndex) -> dict[str, Any]:
    """Return all details of one document."""
    evaluation = task.evaluation()
    is_faithful = task.spec.settings["fidelity"] == "faithful"
    asks = [ask for ask in record.asks if ask.track == task.spec.methods[0]]
    answers = [
        AnsweredRequest(_request(record, ask), response)
        for ask in asks
        if (response := responses.get(ask.id)) is not None
    ]
    results = evaluation.results(record.sample, answers)
    values = evaluation.values(record.sample, answers)
    prompts = {f"prompt_{at}": _prompt(record, ask, is_faithful) for at, ask in enumerate(asks)}
    outputs = {} if isinstance(results, Failure) else {f"logit_{at}": one for at, one in enumerate(results)}
    scored = (
        {"error": f"{values.kind}: {values.message}"}
        if isinstance(values, Failure)
        else {name: _format_value(value) for name, value in values.items()}
    )
    return {**prompts, **outputs, "truth": evaluation.truth(record.sample), **scored}


def _request(record: SampleRecord, ask: AskRecord) -> Request:
    return Request(
        ask.id, record.task, record.sample.id, ask.track, ask.role, ask.index, record.ask(ask), ask.n_shots
    )


def _prompt(record: SampleRecord, ask: AskRecord, is_faithful: bool) -> Any:
    """Return a prompt with the scored text appended; a conversation as its messages."""
    prompt: Prompt = record.ask(ask).prompt
    if not isinstance(prompt, str):
        return msgspec.to_builtins(prompt)
    return prompt + _UNTIL if is_faithful and ask.kind is Kind.GENERATE else prompt


def _format_value(value: Any) -> str:
    # The original's numpy version prints numbers inside a pair without their type.
    with np.printoptions(legacy="1.25"):
        return str(value)


def _write(path: Path, content: Any) -> None:
    # A task's name may contain a slash.
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False, indent=4) + "\n", encoding="utf-8")
