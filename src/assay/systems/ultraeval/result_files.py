"""UltraEval's result files, written from a finished run.

    FOLDER/TASK/config.json           what was evaluated, and how
    FOLDER/TASK/final_metrics.json    the value of each row, and their means
    FOLDER/TASK/instance.jsonl        each row with its prompt, outputs and values, if requested
    FOLDER/_all_results.json          all tasks by dataset, with the mean over a dataset's tasks

A row that failed has no value: it is null where the original would have stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from assay.core.method import Method
from assay.core.prompt import Prompt, final_text, replace_final_text
from assay.core.response import Completion, Likelihood
from assay.core.sample import Sample
from assay.core.score import Metric, Score, Verdict
from assay.core.task import ComponentSpec, Task, TaskSpec
from assay.dialects.ultraeval.arguments import TransformArguments
from assay.dialects.ultraeval.collect import CollectedTask, Recipe
from assay.dialects.ultraeval.compile import NORMALISED
from assay.dialects.ultraeval.config import METHODS
from assay.dialects.ultraeval.parameters import find_parameters
from assay.dialects.ultraeval.task import TransformTask
from assay.engine.limit import LimitedTask
from assay.results.read import StoredRun
from assay.results.records import SampleRecord
from assay.results.response_index import ResponseIndex
from assay.results.rows import markdown_table
from assay.scoring.originals.ultraeval.row_answers import RowAnswerReader

Values: TypeAlias = dict[str, float | None]
"""Values by metric name; None if nothing could be scored."""

ALL_RESULTS = "_all_results.json"
MEAN = "mean_result"
_PASSES = "pass@"
_PASS_K = "pass_k"
_IN_PERCENT = ("bleu", "chrf", "rouge")
"""Metrics that the original reports from 0 to 100, and Assay as shares."""
_USUAL_PARAMETERS = {Method.GEN: "vllm_sample", Method.PPL: "vllm_logprobs"}
_METHODS = {name: original for original, name in METHODS.items()}


class RecordedFlags(NamedTuple):
    """The flags that config.json repeats."""

    batch_size: int
    postprocess: str
    """The post-processor of model outputs; "": the method's default."""
    params: str


class _Part(NamedTuple):
    """One method of one task, which the original calls a task."""

    spec: TaskSpec
    method: Method
    written: CollectedTask
    task: TransformTask
    reader: RowAnswerReader | None
    """Extracts the answers from outputs, if the config's metrics compare answers."""

    @property
    def name(self) -> str:
        return str(self.spec.settings["full_name"][self.method])

    @property
    def recipe(self) -> Recipe:
        return self.written.recipes[self.method]

    @property
    def metrics(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the metrics of its config."""
        configured: Mapping[str, Mapping[str, Any]] = self.spec.settings["metrics"][self.method]
        return configured

    def scale(self, metric: str) -> float:
        """Return the factor that converts a value to the original's scale."""
        return 100.0 if self.metrics.get(metric, {}).get("type", "").lower() in _IN_PERCENT else 1.0


def write_logs(
    run: StoredRun,
    written: Sequence[CollectedTask],
    tasks: Sequence[Task],
    folder: Path,
    flags: RecordedFlags,
    *,
    with_instances: bool,
) -> dict[str, Values]:
    """Write the files of a complete run; return the values of each task."""
    by_name = {one.full_name(method): one for one in written for method in one.recipes}
    parts = [
        _Part(
            task.spec,
            method,
            by_name[task.spec.settings["full_name"][method]],
            _unwrap_task(task),
            _reader(task, method),
        )
        for task in tasks
        for method in task.spec.methods
    ]
    metrics = run.metrics()
    overall = {part.name: _overall(part, metrics) for part in parts}
    scores: dict[tuple[str, str], dict[str, Score]] = {}
    for score in run.scores():
        scores.setdefault((score.task, score.track), {})[score.sample_id] = score
    for part in parts:
        place = folder / part.name
        place.mkdir(parents=True, exist_ok=True)
        _write(place / "config.json", _config(part, folder, flags))
        rows = [_values(part, overall[part.name], score) for score in _scores(scores, part).values()]
        by_metric = {name: [row[name] for row in rows] for name in overall[part.name]}
        final = {
            "task_name": part.name,
            "instance_result": by_metric,
            "overall_result": overall[part.name],
        }
        _write(place / "final_metrics.json", final)
    if with_instances:
        _write_instances(run, parts, overall, scores, folder)
    _write(folder / ALL_RESULTS, _group_by_dataset(overall))
    return overall


def _unwrap_task(task: Task) -> TransformTask:
    whole = task.unlimited if isinstance(task, LimitedTask) else task
    assert isinstance(whole, TransformTask)
    return whole


def _reader(task: Task, method: Method) -> RowAnswerReader | None:
    """Return the reader of a task's answers, if row metrics compare them."""
    for scorer in task.scorers():
        if isinstance(scorer, ComponentSpec) and scorer.args.get("track") == method:
            if scorer.name != "row_metrics":
                return None
            return RowAnswerReader(scorer.args["postprocess"], scorer.args["faithful"])
    return None


def result_tables(overall: Mapping[str, Values]) -> list[str]:
    """Return the results in Markdown: a table of the tasks and one of the datasets."""
    means = {name: tasks[MEAN] for name, tasks in _group_by_dataset(overall).items()}
    return [_table("Task", overall), _table("Dataset", means)]


def _table(what: str, values: Mapping[str, Values]) -> str:
    rows = [
        (name, metric, "-" if value is None else f"{value:.4f}")
        for name, some in values.items()
        for metric, value in some.items()
    ]
    return markdown_table((what, "Metric", "Value"), rows)


def _group_by_dataset(overall: Mapping[str, Values]) -> dict[str, dict[str, Values]]:
    """Return the values of the tasks by dataset, with their means; each task counts once."""
    datasets: dict[str, dict[str, Values]] = {}
    for name, values in overall.items():
        datasets.setdefault(name.partition("_")[0], {})[name] = values
    for tasks in datasets.values():
        by_metric: dict[str, list[float]] = {}
        for values in tasks.values():
            for metric, value in values.items():
                by_metric.setdefault(metric, []).extend([] if value is None else [value])
        tasks[MEAN] = {metric: sum(some) / len(some) if some else None for metric, some in by_metric.items()}
    return datasets


def _overall(part: _Part, metrics: Sequence[Metric]) -> Values:
    """Return the values of a task: of the metrics that its config names, else of its headline metric."""
    own = [
        metric
        for metric in metrics
        if (metric.task, metric.method, metric.group) == (part.spec.name, part.method, None)
    ]
    named = [one for one in own if one.metric in part.metrics or one.metric.startswith(_PASSES)]
    return {
        one.metric: None if one.value is None else one.value * part.scale(one.metric)
        for one in named or [one for one in own if one.is_headline]
    }


def _scores(scores: Mapping[tuple[str, str], dict[str, Score]], part: _Part) -> dict[str, Score]:
    return scores.get((part.spec.name, part.method), {})


def _values(part: _Part, names: Values, score: Score) -> Values:
    """Return one row's values; an output without an answer is 0, a failure has no value."""
    known: dict[str, float] = dict(score.also)
    if score.verdict is Verdict.UNANSWERED:
        known[score.metric] = 0.0
    elif score.value is not None:
        known[score.metric] = score.value
    return {name: known[name] * part.scale(name) if name in known else None for name in names}


def _config(part: _Part, folder: Path, flags: RecordedFlags) -> dict[str, Any]:
    settings, method, config = part.spec.settings, part.method, part.recipe.config
    generate = {"method": _METHODS[method], **_parameters(part, flags)}
    usual = "general_torch" if method == Method.GEN else "general_torch_ppl"
    return {
        "task_name": part.name,
        "path": str(part.written.data),
        "description": settings["description"][method],
        "transform": str(part.recipe.version.path),
        "fewshot": settings["shots"][method],
        "batch_size": generate["args"].get("batch_size") or flags.batch_size,
        "generate": generate,
        "model_postprocess": flags.postprocess or usual,
        "task_postprocess": config.postprocess if config else "",
        "metric": {name: _metric(one) for name, one in part.metrics.items()},
        "log_dir": str(folder),
    }


def _parameters(part: _Part, flags: RecordedFlags) -> dict[str, Any]:
    """Return the parameters of a task: their file and its content."""
    named = part.recipe.config.generate.params if part.recipe.config else ""
    if part.spec.settings["fidelity"] == "faithful":
        arguments = TransformArguments(params=flags.params or _USUAL_PARAMETERS[part.method])
        args, _ = find_parameters(part.recipe, arguments, is_faithful=True)
        return {"params": named, "args": dict(args)}
    sampling = part.spec.settings["sampling"] if part.method == Method.GEN else None
    return {"params": named or flags.params, "args": _format_sampling(sampling)}


def _format_sampling(sampling: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the sampling parameters, with the original's names."""
    if sampling is None:
        return {"prompt_logprobs": 0, "max_tokens": 1}
    args = {
        name: sampling[name] for name in ("temperature", "top_p", "max_tokens", "stop") if name in sampling
    }
    return {**args, "sampling_num": sampling.get("n", 1), **(sampling.get("server") or {})}


def _metric(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return a metric as a config writes it."""
    written: dict[str, Any] = {"evaluation": {key: one[key] for key in one if key != "aggregation"}}
    return written | ({"aggregation": {"type": one["aggregation"]}} if one.get("aggregation") else {})


def _write_instances(
    run: StoredRun,
    parts: Sequence[_Part],
    overall: Mapping[str, Values],
    scores: Mapping[tuple[str, str], dict[str, Score]],
    folder: Path,
) -> None:
    files = {part.name: folder / part.name / "instance.jsonl" for part in parts}
    for path in files.values():
        path.write_bytes(b"")
    of_task: dict[str, list[_Part]] = {}
    for part in parts:
        of_task.setdefault(part.spec.name, []).append(part)
    with run.response_index() as responses:
        for record in run.samples():
            for part in of_task[record.task]:
                score = _scores(scores, part)[record.sample.id]
                line = _instance(part, record, score, responses, overall[part.name])
                with files[part.name].open("ab") as file:
                    file.write(msgspec.json.encode(line) + b"\n")


def _instance(
    part: _Part, record: SampleRecord, score: Score, responses: ResponseIndex, names: Values
) -> dict[str, Any]:
    values = _values(part, names, score)
    requests = list(_iterate_requests(part, record, responses))
    if part.method == Method.GEN:
        # As many prompts as outputs: the original sends n requests for n outputs.
        prompts = [prompt for prompt, some in requests for _ in (some or [None])]
        outputs = [text for _, some in requests for text in (some or [None])]
        processed: list[Any] = [*_extract_answers(part, record.sample, score, outputs)]
    else:
        # One prompt, and an output for each option.
        choices = record.sample.choices
        prompts = [
            _remove_choice(prompt, choice) for (prompt, _), choice in zip(requests[:1], choices, strict=False)
        ]
        outputs = [[some for _, some in requests]]
        processed = [_losses(part, score, [some for _, some in requests])]
    return {
        "data": record.sample.fields,
        "ground_truth": part.task.truth(record.sample, part.method),
        "prompt_inputs": prompts,
        "raw_outputs": outputs,
        "processed_outputs": processed,
        "eval_results": _build_eval_results(part, score, values),
        "metrics": values,
    }


def _extract_answers(
    part: _Part, sample: Sample, score: Score, outputs: Sequence[str | None]
) -> list[str | None]:
    """Return the answer in each output."""
    if part.reader is None:
        return [score.answer]
    return [None if text is None else part.reader.read_answer(text, sample).answer for text in outputs]


def _build_eval_results(part: _Part, score: Score, values: Values) -> dict[str, Any]:
    """Return a row's values before aggregation: for programs, which of them passed."""
    programs = {name for name, one in part.metrics.items() if one.get("aggregation") == _PASS_K}
    others = {name: value for name, value in values.items() if not (programs and name.startswith(_PASSES))}
    return {**{name: list(score.passed) for name in programs}, **others}


def _iterate_requests(
    part: _Part, record: SampleRecord, responses: ResponseIndex
) -> Iterator[tuple[Prompt, list[Any] | None]]:
    """Yield each prompt of a method and its output: texts, or the log-probabilities of tokens."""
    for ask in record.asks:
        if ask.track == part.method:
            response = responses.get(ask.id)
            outcome = None if response is None else response.outcome
            prompt = record.ask(ask).prompt
            if isinstance(outcome, Completion):
                yield prompt, [output.text for output in outcome.outputs]
            elif isinstance(outcome, Likelihood):
                yield prompt, list(outcome.token_logprobs) or [outcome.sum_logprob]
            else:
                yield prompt, None


def _remove_choice(prompt: Prompt, choice: str) -> Prompt:
    text = final_text(prompt)
    return replace_final_text(prompt, text[: len(text) - len(choice)])


def _losses(part: _Part, score: Score, tokens: Sequence[list[float] | None]) -> list[float | None]:
    """Return the values by which options were compared: lower is better."""
    if part.spec.settings["postprocess"][part.method] == NORMALISED and score.options:
        return [
            -one.sum_logprob / one.n_tokens if one.sum_logprob is not None and one.n_tokens else None
            for one in score.options
        ]
    return [None if some is None else -sum(some) for some in tokens]


def _write(path: Path, content: Any) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=4) + b"\n")
