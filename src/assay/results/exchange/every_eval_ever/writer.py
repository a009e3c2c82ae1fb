"""Exporting runs as every_eval_ever records: one for each task, with a line for each sample and metric."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from assay.core.method import Method
from assay.core.model import ModelIdentity
from assay.core.prompt import Message, Prompt
from assay.core.request import Sampling
from assay.core.response import Output
from assay.core.score import Metric, Score, Verdict
from assay.core.task import TaskSpec
from assay.results.exchange.assay_fields import KEY, build_run_fields
from assay.results.exchange.every_eval_ever.schema import LIBRARY, SAMPLES_SUFFIX, SCHEMA_VERSION
from assay.results.exchange.kept_requests import build_result_fields
from assay.results.exchange.stored_samples import StoredResult, StoredSample, iter_stored_samples
from assay.results.read import StoredRun

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_CANONICAL = {"accuracy": "accuracy", "exact_match": "exact-match", "f1": "f1", "bleu": "bleu"}
"""Metrics under the names that records of all programs share."""
_LOCAL = ("hf", "vllm", "mock", "gguf")
"""Backends that run a model on the user's own machines."""
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_encode = msgspec.json.Encoder().encode


def write(run: StoredRun, target: Path) -> list[Path]:
    """Write the records of a run below `target/data`, as the data store of every_eval_ever orders them."""
    records = {task.name: _Record(run, task, target) for task in run.manifest.tasks}
    _read_samplings(run, records)
    try:
        for stored in iter_stored_samples(run):
            records[stored.record.task].add(stored)
        return [path for record in records.values() for path in record.finish()]
    finally:
        for record in records.values():
            record.close()


def name_model(model: ModelIdentity) -> str:
    """Return a model's name as `developer/model`; without a hub repository, the backend comes first."""
    if _HUB_NAME.fullmatch(model.name) and not model.name.startswith("."):
        return model.name
    named = model.name.partition("@")[0].rstrip("/")
    last = _UNSAFE.sub("-", named.rpartition("/")[2]).strip("-.") or "unnamed"
    return f"{_UNSAFE.sub('-', model.backend).strip('-.') or 'unknown'}/{last}"


def _read_samplings(run: StoredRun, records: Mapping[str, _Record]) -> None:
    """Read how texts were sampled from the first sample of each task."""
    waiting = {name for name, record in records.items() if Method.GEN in record.task.methods}
    for stored in run.samples():
        if not waiting:
            return
        if stored.task in waiting:
            waiting.remove(stored.task)
            found = next((ask.sampling for ask in stored.asks if ask.track == Method.GEN), None)
            records[stored.task].sampling = found


class _Column(NamedTuple):
    """A metric of a sample that has a number for the whole task."""

    result_id: str | None
    value: float


class _Record:
    """The record of one task."""

    def __init__(self, run: StoredRun, task: TaskSpec, target: Path) -> None:
        self.task = task
        self.sampling: Sampling | None = None
        self._run = run
        manifest = run.manifest
        self._model = name_model(manifest.model)
        self._stamp = _read_stamp(manifest.finished or manifest.started)
        self._id = f"{task.name}/{self._model}/{self._stamp}"
        developer, _, model = self._model.partition("/")
        name = uuid.UUID(bytes=hashlib.sha256(f"{manifest.id}/{task.name}".encode()).digest()[:16], version=4)
        parts = ("data", _UNSAFE.sub("-", task.name).strip("-.") or "task", developer, model)
        self._folder = target.joinpath(*parts)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._path = self._folder / f"{name}.json"
        self._samples_name = f"{name}{SAMPLES_SUFFIX}"
        self._place = "/".join((*parts, self._samples_name))
        self._file: BinaryIO = open(self._folder / self._samples_name, "wb")  # noqa: SIM115
        self._hashed = hashlib.sha256()
        self._n_rows = 0
        self._metrics = [one for one in run.metrics() if one.task == task.name and one.value is not None]
        self._result_ids = {
            (one.method, one.metric): _name_result(one) for one in self._metrics if one.group is None
        }

    def add(self, stored: StoredSample) -> None:
        """Write the lines of a sample."""
        for result in stored.results:
            for line in self._build_rows(stored, result):
                content = _encode(line) + b"\n"
                self._file.write(content)
                self._hashed.update(content)
                self._n_rows += 1

    def close(self) -> None:
        """Close the file of samples."""
        self._file.close()

    def finish(self) -> list[Path]:
        """Write the aggregate; return the files."""
        self.close()
        samples = self._folder / self._samples_name
        aggregate = self._build_aggregate()
        if self._n_rows:
            aggregate["detailed_evaluation_results"] = {
                "format": "jsonl",
                "file_path": self._place,
                "hash_algorithm": "sha256",
                "checksum": self._hashed.hexdigest(),
                "total_rows": self._n_rows,
            }
        else:
            samples.unlink()
        self._path.write_bytes(msgspec.json.format(_encode(aggregate), indent=2) + b"\n")
        return [self._path, *([samples] if self._n_rows else [])]

    def _build_aggregate(self) -> dict[str, Any]:
        manifest = self._run.manifest
        return {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": self._id,
            "evaluation_timestamp": str(_read_stamp(manifest.started)),
            "retrieved_timestamp": str(self._stamp),
            "source_metadata": {
                "source_name": "Assay",
                "source_type": "evaluation_run",
                "source_organization_name": "unknown",
                "evaluator_relationship": "other",
            },
            "eval_library": {
                "name": LIBRARY,
                "version": manifest.versions.get("assay", "unknown"),
                "additional_details": {KEY: _encode(build_run_fields(self._run)).decode()},
            },
            "model_info": _build_model(manifest.model, self._model, manifest.versions),
            "evaluation_results": [self._build_result(metric) for metric in self._metrics],
        }

    def _build_result(self, metric: Metric) -> dict[str, Any]:
        name = self.task.name if metric.group is None else f"{self.task.name}.{metric.group}"
        built: dict[str, Any] = {
            "evaluation_result_id": _name_result(metric),
            "evaluation_name": name,
            "source_data": _build_source(self.task),
            "metric_config": _build_metric_config(metric),
            "score_details": _build_score_details(metric),
        }
        if metric.method == Method.GEN and self.sampling is not None:
            sampling = self.sampling
            built["generation_config"] = {
                "generation_args": {
                    "temperature": sampling.temperature,
                    "top_p": sampling.top_p,
                    "max_tokens": max(1, sampling.max_tokens),
                }
            }
        return built

    def _build_rows(self, stored: StoredSample, result: StoredResult) -> Iterator[dict[str, Any]]:
        """Yield a line for each metric of a sample that the aggregate has; at least one."""
        row = self._build_row(stored, result)
        kept = build_result_fields(stored, result, with_record=True)
        for index, column in enumerate(self._list_columns(result)):
            built = dict(row)
            if column.result_id is not None:
                built["evaluation_result_id"] = column.result_id
            built["evaluation"] = {"score": column.value, "is_correct": column.value >= 1.0}
            built["metadata"] = {"method": result.method.value, **({} if index else {KEY: kept})}
            yield built

    def _list_columns(self, result: StoredResult) -> list[_Column]:
        score = result.score
        if score is None:
            return [_Column(None, 0.0)]
        values = {score.metric: score.value, **score.also}
        found = [
            _Column(self._result_ids.get((result.method, name)), value)
            for name, value in values.items()
            if value is not None and (name == score.metric or (result.method, name) in self._result_ids)
        ]
        # The schema requires a number. `error` says that one without an answer is none.
        return found or [_Column(self._result_ids.get((result.method, score.metric)), 0.0)]

    def _build_row(self, stored: StoredSample, result: StoredResult) -> dict[str, Any]:
        sample, score = stored.record.sample, result.score
        prompt = stored.prompt(result.asks[0]) if result.asks else ""
        reference = [sample.choices[index] for index in sample.gold if index < len(sample.choices)]
        reference = reference or list(sample.targets)
        question = _find_question(prompt)
        outputs = result.outputs()
        row: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": self._id,
            "model_id": self._model,
            "evaluation_name": self.task.name,
            "sample_id": sample.id,
            "sample_hash": hashlib.sha256((question + "".join(reference)).encode()).hexdigest(),
            "interaction_type": "single_turn",
            "input": {"raw": question, "formatted": _write_prompt(prompt), "reference": reference},
            "answer_attribution": _list_attributions(score),
        }
        if sample.choices:
            row["input"]["choices"] = sample.choices
        if outputs and outputs[0].turns:
            row["interaction_type"] = "multi_turn"
            row["messages"] = list(_list_messages(prompt, outputs[0], result.asks[0].turns))
        else:
            row["output"] = _build_output(outputs, score)
        if (usage := _count_tokens(result)) is not None:
            row["token_usage"] = usage
        if seconds := result.seconds():
            row["performance"] = {"latency_ms": seconds * 1000}
        if (error := _find_error(result)) is not None:
            row["error"] = error
        return row


def _name_result(metric: Metric) -> str:
    parts = (metric.task, metric.method, metric.metric, *([] if metric.group is None else [metric.group]))
    return "/".join(parts)


def _build_model(model: ModelIdentity, id_: str, versions: Mapping[str, str]) -> dict[str, Any]:
    built: dict[str, Any] = {
        "name": model.name,
        "id": id_,
        "additional_details": {
            "deployment_type": "self_deployed" if model.backend in _LOCAL else "unknown",
            "model_availability": "open_weights" if model.revision else "unknown",
        },
    }
    if model.backend:
        built["inference_engine"] = {"name": model.backend}
        for package in (model.backend, "transformers" if model.backend == "hf" else ""):
            if package in versions:
                built["inference_engine"]["version"] = versions[package]
    return built


def _build_source(task: TaskSpec) -> dict[str, Any]:
    named = {"dataset_name": task.family or task.name}
    details = {"source": task.source, "data_hash": task.data_hash, "rows": str(task.n_rows)}
    if task.source.startswith(("http://", "https://")):
        return {**named, "source_type": "url", "url": [task.source], "additional_details": details}
    return {**named, "source_type": "other", "additional_details": details}


def _build_metric_config(metric: Metric) -> dict[str, Any]:
    config: dict[str, Any] = {
        "metric_id": _CANONICAL.get(metric.metric, f"{LIBRARY}.{metric.metric}"),
        "metric_name": metric.metric,
        "lower_is_better": not metric.higher_is_better,
        "metric_parameters": {"method": metric.method},
    }
    value = metric.value or 0.0
    if metric.is_share and 0.0 <= value <= 1.0:
        config |= {
            "metric_unit": "proportion",
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0,
        }
    elif metric.metric.startswith("perplexity"):
        config |= {"score_type": "continuous", "min_score": 1.0, "max_score": "Infinity"}
    return config


def _build_score_details(metric: Metric) -> dict[str, Any]:
    uncertainty: dict[str, Any] = {"num_samples": metric.n_counted}
    if metric.stderr is not None:
        uncertainty["standard_error"] = {"value": metric.stderr}
    if metric.low is not None and metric.high is not None:
        uncertainty["confidence_interval"] = {
            "lower": metric.low,
            "upper": metric.high,
            "confidence_level": 0.95,
        }
    counts = ("n", "n_counted", "n_scored", "n_unanswered", "n_truncated", "n_failed")
    return {
        "score": metric.value,
        "details": {name: str(getattr(metric, name)) for name in counts},
        "uncertainty": uncertainty,
    }


def _build_output(outputs: Sequence[Output], score: Score | None) -> dict[str, Any]:
    built: dict[str, Any] = {"raw": [output.text for output in outputs]}
    if not outputs and score is not None and score.answer is not None:
        built["raw"] = [score.answer]
    traces = [output.reasoning for output in outputs if output.reasoning is not None]
    return {**built, "reasoning_trace": traces} if traces else built


def _list_messages(prompt: Prompt, output: Output, later: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the turns of a conversation in order."""
    messages = [Message("user", prompt)] if isinstance(prompt, str) else list(prompt)
    for index, answer in enumerate(output.turns):
        messages.append(Message("assistant", answer))
        if index < len(later):
            messages.append(Message("user", later[index]))
    for number, message in enumerate(messages):
        yield {"turn_idx": number, "role": message.role, "content": message.display_text}


def _list_attributions(score: Score | None) -> list[dict[str, Any]]:
    if score is None or score.answer is None:
        return []
    return [
        {
            "turn_idx": 0,
            "source": "output.raw",
            "extracted_value": score.answer,
            "extraction_method": score.rule or "custom",
            "is_terminal": True,
        }
    ]


def _count_tokens(result: StoredResult) -> dict[str, int] | None:
    n_read, n_written = result.count_tokens()
    if not n_read and not n_written:
        return None
    return {"input_tokens": n_read, "output_tokens": n_written, "total_tokens": n_read + n_written}


def _find_error(result: StoredResult) -> str | None:
    """Return why a sample has no score of its own."""
    score = result.score
    if score is None or score.verdict is Verdict.UNGRADED:
        return "not graded: no right answer is known, or the metric is not a mean over samples"
    if score.verdict is Verdict.UNANSWERED:
        return "no answer was found in the reply; it counts as wrong"
    if score.verdict is Verdict.FAILED:
        failure = result.failure()
        why = score.why or (failure.message if failure is not None else "")
        return f"failed, and not part of the score: {why}"
    return None


def _find_question(prompt: Prompt) -> str:
    if isinstance(prompt, str):
        return prompt
    return next((one.display_text for one in reversed(prompt) if one.role == "user"), "")


def _write_prompt(prompt: Prompt) -> str:
    if isinstance(prompt, str):
        return prompt
    return json.dumps([{"role": one.role, "content": one.display_text} for one in prompt], ensure_ascii=False)


def _read_stamp(time: str) -> int:
    try:
        return int(datetime.fromisoformat(time).timestamp())
    except ValueError:
        return 0
