"""Exporting runs as inspect_ai logs: one log for each task and method."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.core.ids import digest
from assay.core.method import Method
from assay.core.request import Sampling
from assay.core.response import Completion, Finish, Output
from assay.core.score import MACRO, Metric, Score, Verdict
from assay.core.task import TaskSpec
from assay.results.exchange.assay_fields import KEY, build_run_fields
from assay.results.exchange.inspect_ai.log_writer import LogWriter, open_log_writer
from assay.results.exchange.inspect_ai.messages import build_messages, build_reply
from assay.results.exchange.inspect_ai.option_tables import describe_options
from assay.results.exchange.inspect_ai.schema import (
    LOG_VERSION,
    NAME,
    PROGRAM,
    EvalScore,
    EvalSpec,
    Header,
    Results,
)
from assay.results.exchange.inspect_ai.values import (
    ACCURACY,
    CORRECT,
    INCORRECT,
    MEAN,
    NO_ANSWER,
    ScoreKey,
    read_metrics,
)
from assay.results.exchange.kept_requests import build_result_fields
from assay.results.exchange.log_files import build_log_error
from assay.results.exchange.stored_samples import StoredResult, StoredSample, iter_stored_samples
from assay.results.read import StoredRun

_UNSAFE = re.compile(r"[^A-Za-z0-9.]+")
_NAN = msgspec.Raw(b"NaN")
"""inspect_ai writes it into JSON for a score without a value."""
_SOLVERS = {Method.GEN: "generate", Method.PPL: "option likelihoods", Method.PROB: "label probabilities"}


def write(run: StoredRun, target: Path) -> list[Path]:
    """Write a log for each task and method into a folder; or the only one into a file.

    A name that ends in `.json` or `.eval` is a file.
    """
    tracks = [(task, method) for task in run.manifest.tasks for method in task.methods]
    is_file = target.suffix in (".json", ".eval")
    if is_file and len(tracks) > 1:
        raise build_log_error(
            "LOG-012",
            f"the run has {len(tracks)} tasks and methods, and each one is a log of its own",
            "give --out a folder",
            target,
        )
    (target.parent if is_file else target).mkdir(parents=True, exist_ok=True)
    plans = {
        (task.name, method): LogPlan(run, task, method, target if is_file else None)
        for task, method in tracks
    }
    for score in run.scores():
        plans[score.task, score.track].learn(score)
    _find_samplings(run, plans)
    paths = []
    try:
        for plan in plans.values():
            paths.append(plan.open(target))
        for stored in iter_stored_samples(run):
            for result in stored.results:
                plans[stored.record.task, result.method].add(stored, result)
    finally:
        for plan in plans.values():
            plan.close()
    return paths


def _find_samplings(run: StoredRun, plans: Mapping[tuple[str, Method], LogPlan]) -> None:
    """Read how texts were sampled from the first sample of each task."""
    waiting = {task for task, method in plans if method is Method.GEN}
    for record in run.samples():
        if not waiting:
            return
        if record.task in waiting:
            waiting.remove(record.task)
            found = next((ask.sampling for ask in record.asks if ask.track == Method.GEN), None)
            plans[record.task, Method.GEN].sampling = found


class LogPlan:
    """One log: a task by one method."""

    def __init__(self, run: StoredRun, task: TaskSpec, method: Method, path: Path | None) -> None:
        self._run = run
        self._task = task
        self._method = method
        self._path = path
        self._writer: LogWriter | None = None
        self._graded: dict[str, None] = {}
        """Metrics with values other than right and wrong."""
        self._columns, self._logged_scores = self._read_logged_scores()
        self._reduced: dict[tuple[str, str | None], dict[str, Any]] = {}
        self._n_epochs = 1
        self.sampling: Sampling | None = None
        """How texts were sampled, from the first sample."""
        manifest = run.manifest
        name = manifest.model.name
        backend = manifest.model.backend
        self._model = name if name.startswith(f"{backend}/") else f"{backend or 'unknown'}/{name}"

    def learn(self, score: Score) -> None:
        """Register a score: the values of a metric decide how they are shown, and the details the epochs."""
        for name, value in {**score.also, score.metric: score.value}.items():
            if value is not None and value not in (0.0, 1.0):
                self._graded[name] = None
        if self._logged_scores is not None:
            self._n_epochs = max(self._n_epochs, len(score.details))

    def open(self, folder: Path) -> Path:
        """Create the log and return its path."""
        path = self._path or folder / self._name_file()
        self._writer = open_log_writer(path, self._build_header())
        return path

    def add(self, stored: StoredSample, result: StoredResult) -> None:
        """Write a sample: once, or once for each epoch of the log that the run was imported from."""
        assert self._writer is not None
        details = result.score.details if result.score is not None else ()
        if self._logged_scores is not None and details:
            outputs = result.outputs()
            for index, one in enumerate(details):
                mine = outputs[index : index + 1] if len(outputs) == len(details) else outputs
                self._writer.add(self._build_sample(stored, result, mine, one))
            self._reduce(stored.record.sample.id, result.score)
        else:
            self._writer.add(self._build_sample(stored, result, result.outputs(), None))
            if result.score is not None:
                self._collect(stored.record.sample.id, self._list_values(result.score))

    def close(self) -> None:
        """Complete the log."""
        if self._writer is not None:
            self._writer.close(list(self._iter_reductions()))
            self._writer = None

    def _name_file(self) -> str:
        created = _UNSAFE.sub("-", self._run.manifest.started or "unknown")
        several = f"-{self._method}" if len(self._task.methods) > 1 else ""
        return f"{created}_{_UNSAFE.sub('-', self._task.name)}{several}_{self._make_id('task')}.eval"

    def _make_id(self, kind: str) -> str:
        return digest((self._run.manifest.id, self._task.name, self._method, kind), size=11)

    def _read_logged_scores(self) -> tuple[Sequence[ScoreKey], list[dict[str, Any]] | None]:
        """Return the columns and scores of the log that the run was imported from; None: no such run."""
        imported = self._run.manifest.imported
        scores = self._task.settings.get("scores")
        if imported is None or imported.format != NAME or not isinstance(scores, list):
            return (), None
        header = Header(
            eval=EvalSpec(task=self._task.name),
            results=Results(scores=msgspec.convert(scores, list[EvalScore])),
        )
        return read_metrics(header, self._task.name).columns, scores

    def _build_header(self) -> dict[str, Any]:
        manifest = self._run.manifest
        status = (
            "success" if manifest.imported is None else manifest.imported.settings.get("status", "success")
        )
        results = self._build_results()
        scorers = list(dict.fromkeys(one["scorer"] for one in results["scores"]))
        config: dict[str, Any] = {"epochs": self._n_epochs, "log_samples": True}
        reducers = [one["reducer"] for one in self._logged_scores or () if one.get("reducer")]
        if reducers:
            config["epochs_reducer"] = list(dict.fromkeys(reducers))
        return {
            "version": LOG_VERSION,
            "status": status,
            "eval": {
                "eval_id": self._make_id("eval"),
                "run_id": digest(manifest.id, size=11),
                "created": manifest.started or "1970-01-01T00:00:00+00:00",
                "task": self._task.name,
                "task_id": self._make_id("task"),
                "task_version": 0,
                "task_attribs": {},
                "task_args": {},
                "dataset": {
                    "name": self._task.family or self._task.name,
                    "location": self._task.source,
                    "samples": self._task.n_rows,
                    "shuffled": False,
                },
                "model": self._model,
                "model_args": dict(manifest.model.args),
                "config": config,
                "packages": {name: version for name, version in manifest.versions.items() if name != PROGRAM},
                "metadata": {"program": "Assay", "method": self._method.value, "run": manifest.id},
                "scorers": [{"name": name, "options": {}} for name in scorers],
            },
            "plan": {
                "name": "plan",
                "steps": [{"solver": _SOLVERS[self._method], "params": {}}],
                "config": _build_config(self.sampling),
            },
            "results": results,
            "stats": {
                "started_at": manifest.started,
                "completed_at": manifest.finished or manifest.started,
                "model_usage": self._sum_usage(),
            },
        }

    def _sum_usage(self) -> dict[str, Any]:
        costs = [
            one
            for one in self._run.manifest.costs
            if (one.task, one.method) == (self._task.name, self._method)
        ]
        if not costs:
            return {}
        read = sum(one.n_prompt_tokens + one.n_scored_tokens for one in costs)
        return {self._model: _build_usage(read, sum(one.n_generated_tokens for one in costs))}

    def _build_results(self) -> dict[str, Any]:
        mine = [
            one for one in self._run.metrics() if (one.task, one.method) == (self._task.name, self._method)
        ]
        whole = [one for one in mine if one.group is None]
        known = [one for one in whole if one.value is not None]
        scores = self._logged_scores
        if scores is None:
            names = {one.metric for one in known}
            listed = [one for one in known if one.metric.removesuffix(MACRO) not in names - {one.metric}]
            listed.sort(key=lambda one: not one.is_headline)
            scores = [_build_eval_score(one, mine) for one in listed]
        n = max((one.n for one in whole), default=self._task.n_samples)
        n_failed = max((one.n_failed for one in whole if one.is_headline), default=0)
        results: dict[str, Any] = {
            "total_samples": n * self._n_epochs,
            "completed_samples": (n - n_failed) * self._n_epochs,
            "scores": scores,
            "metadata": {KEY: build_run_fields(self._run)},
        }
        headline = next((one.metric for one in known if one.is_headline), None)
        if headline is not None and self._logged_scores is None:
            results["headline"] = {"scorer": headline, "score": headline}
        return results

    def _build_sample(
        self,
        stored: StoredSample,
        result: StoredResult,
        outputs: Sequence[Output],
        logged: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        sample, score = stored.record.sample, result.score
        prompt = stored.prompt(result.asks[0]) if result.asks else ""
        before = build_messages(prompt, self._run) if prompt else []
        replies = [build_reply(output, self._model) for output in outputs]
        if not replies and score is not None and score.answer is not None:
            chosen = Output(_name_choice(stored, score), Finish.END, 0)
            replies = [build_reply(chosen, self._model)]
        n_read, n_written = result.count_tokens() if logged is None else _count_epoch_tokens(result, outputs)
        usage = _build_usage(n_read, n_written) if n_read or n_written else None
        seconds = result.seconds()
        built: dict[str, Any] = {
            "id": sample.id,
            "epoch": 1 if logged is None else logged["epoch"],
            "input": prompt if isinstance(prompt, str) else before,
            "target": _list_targets(stored),
            "messages": [*before, *(one["message"] for one in replies[:1])],
            "output": {
                "model": self._model,
                "choices": replies,
                "completion": replies[0]["message"]["content"] if replies else "",
            },
            "scores": self._build_scores(score) if logged is None else _copy_scores(logged),
            "metadata": {**sample.fields, KEY: build_result_fields(stored, result)},
            "store": {},
            "events": [],
            "model_usage": {self._model: usage} if usage else {},
            "attachments": {},
            "uuid": digest((self._make_id("eval"), sample.id, logged and logged["epoch"]), size=11),
        }
        if isinstance(built["output"]["completion"], list):
            built["output"]["completion"] = outputs[0].text
        if usage:
            built["output"]["usage"] = usage
        if seconds:
            built["total_time"] = built["output"]["time"] = seconds
        if sample.choices:
            built["choices"] = sample.choices
        error = _find_error(result) if logged is None else logged.get("error")
        if error is not None:
            built["error"] = {"message": error, "traceback": "", "traceback_ansi": ""}
        if logged is not None and logged.get("limit") is not None:
            built["limit"] = logged["limit"]
        return built

    def _build_scores(self, score: Score | None) -> dict[str, Any]:
        if score is None:
            return {}
        values = self._list_values(score)
        found: dict[str, Any] = {}
        for name, value in values.items():
            shown: Any = value
            if name not in self._graded:
                shown = CORRECT if value else INCORRECT
                if score.verdict is Verdict.UNANSWERED and name == score.metric:
                    shown = NO_ANSWER
            found[name] = {"value": shown, "answer": score.answer, "history": []}
            if name == score.metric and (explanation := describe_options(score)):
                found[name]["explanation"] = explanation
        return found

    def _list_values(self, score: Score) -> dict[str, float]:
        """Return the values of a score by metric, the deciding one first."""
        values = dict(score.also)
        own = 0.0 if score.verdict is Verdict.UNANSWERED else score.value
        return values if own is None else {score.metric: own, **values}

    def _collect(self, id_: str, values: Mapping[str, Any], reducer: str | None = None) -> None:
        for name, value in values.items():
            self._reduced.setdefault((name, reducer), {})[id_] = value

    def _reduce(self, id_: str, score: Score | None) -> None:
        """Register the values of a sample over its epochs, under the names of the log."""
        values = {} if score is None else self._list_values(score)
        for column in self._columns:
            if column.metric not in values:
                continue
            value = values[column.metric]
            if column.name == column.scorer:
                self._collect(id_, {column.name: value}, column.reducer)
            else:
                keys = self._reduced.setdefault((column.scorer, column.reducer), {}).setdefault(id_, {})
                keys[column.name] = value

    def _iter_reductions(self) -> Iterator[dict[str, Any]]:
        for (name, reducer), values in self._reduced.items():
            samples = [{"sample_id": id_, "value": value, "history": []} for id_, value in values.items()]
            yield {"scorer": name, "samples": samples, **({"reducer": reducer} if reducer else {})}


def _build_eval_score(metric: Metric, others: Sequence[Metric]) -> dict[str, Any]:
    """Return a metric of a task, with its standard error, interval and groups, as the score of a log."""
    kind = ACCURACY if metric.metric.casefold().startswith("acc") else MEAN
    numbers: dict[str, tuple[float | None, str | None, dict[str, Any]]] = {
        kind: (metric.value, None, {}),
        "stderr": (metric.stderr, None, {}),
        "lower": (metric.low, "ci", {"level": 0.95}),
        "upper": (metric.high, "ci", {"level": 0.95}),
    }
    macro = next(
        (one for one in others if one.metric == f"{metric.metric}{MACRO}" and one.group is None), None
    )
    if macro is not None:
        numbers["macro"] = (macro.value, None, {})
    inner = {"metric": {"type": "metric", "name": kind, "params": {}}, "group_key": "group"}
    for one in others:
        if one.metric == metric.metric and one.group is not None:
            numbers[one.group] = (one.value, "grouped", inner)
    metrics: dict[str, Any] = {}
    for name, (value, group, params) in numbers.items():
        if value is not None:
            metrics[name] = {"name": name, "value": value, "params": params}
            if group is not None:
                metrics[name]["group"] = group
    return {
        "name": metric.metric,
        "scorer": metric.metric,
        "scored_samples": metric.n_counted,
        "unscored_samples": metric.n - metric.n_counted,
        "params": {},
        "metrics": metrics,
    }


def _copy_scores(logged: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scores of one epoch of the original log; one that it left unscored has NaN as its value."""
    return {name: {"value": _NAN, "history": [], **score} for name, score in logged.get("scores", {}).items()}


def _build_config(sampling: Sampling | None) -> dict[str, Any]:
    """Return how texts were sampled, under the names of inspect_ai."""
    if sampling is None:
        return {}
    config = {
        "max_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "stop_seqs": list(sampling.stop) or None,
        "seed": sampling.seed,
    }
    return {name: value for name, value in config.items() if value is not None}


def _build_usage(n_read: int, n_written: int) -> dict[str, Any]:
    return {"input_tokens": n_read, "output_tokens": n_written, "total_tokens": n_read + n_written}


def _count_epoch_tokens(result: StoredResult, outputs: Sequence[Output]) -> tuple[int, int]:
    """Return how many tokens the requests of some outputs read and wrote."""
    found = [one.outcome for one in result.responses.values() if isinstance(one.outcome, Completion)]
    mine = [one for one in found if one.outputs[0] in outputs]
    n_written = sum(output.n_tokens for one in mine for output in one.outputs)
    return sum(one.n_prompt_tokens for one in mine), n_written


def _find_error(result: StoredResult) -> str | None:
    if result.score is None or result.score.verdict is not Verdict.FAILED:
        return None
    failure = result.failure()
    return result.score.why or (failure.message if failure is not None else "the request failed")


def _list_targets(stored: StoredSample) -> Any:
    sample = stored.record.sample
    found = [sample.labels[index] for index in sample.gold if index < len(sample.labels)]
    found = found or list(sample.targets)
    return found[0] if len(found) == 1 else found or ""


def _name_choice(stored: StoredSample, score: Score) -> str:
    """Return the text of the option that a method chose."""
    sample = stored.record.sample
    if score.answer in sample.labels and len(sample.labels) == len(sample.choices):
        return f"{score.answer}. {sample.choices[sample.labels.index(score.answer)]}"
    return score.answer or ""
