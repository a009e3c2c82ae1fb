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

from assay.core.metric_order import in_order
from assay.core.prompt import Prompt
from assay.core.response import Completion, Failure, LabelProbs, Likelihood, Outcome, Output
from assay.core.score import Metric, Score, Verdict
from assay.core.task import TaskSpec
from assay.results.read import StoredRun
from assay.results.records import AskRecord, SampleRecord
from assay.results.response_index import ResponseIndex

System: TypeAlias = Literal["opencompass", "aisbench"]

PREDICTIONS, RESULTS = "predictions", "results"
_ROLES = {"user": "HUMAN", "assistant": "BOT", "system": "SYSTEM"}
_END_OF_THOUGHT = "</think>"


class Details(NamedTuple):
    """What a result file holds beside the values."""

    rows: bool
    """Each row with its prompt, its prediction and the right answer."""
    extract_rate: bool = False
    """In how many of 100 texts an answer was found."""


class Row(NamedTuple):
    """One row of a dataset, as it was asked and answered."""

    number: int
    record: SampleRecord
    asks: Sequence[tuple[AskRecord, Outcome]]
    score: Score | None

    @property
    def failure(self) -> Failure | None:
        """The first request that failed."""
        return next((outcome for _, outcome in self.asks if isinstance(outcome, Failure)), None)


def write_predictions(run: StoredRun, folder: Path, model: str) -> None:
    """Write what the model answered, scored or not."""
    for spec, rows in rows_by_task(run).items():
        of_task = next(task for task in run.manifest.tasks if task.name == spec)
        place = folder / PREDICTIONS / file_name(model) / file_name(of_task.name)
        place.parent.mkdir(parents=True, exist_ok=True)
        write_json(with_suffix(place, ".json"), {str(row.number): _prediction(row) for row in rows})


def write_results(run: StoredRun, folder: Path, model: str, details: Details) -> None:
    """Write what the answers are worth."""
    metrics = run.metrics()
    by_task = rows_by_task(run) if details.rows else {}
    for spec in run.manifest.tasks:
        own = shown_metrics(spec, metrics)
        content: dict[str, Any] = {one.metric: shown_value(one) for one in own}
        if details.rows:
            kind = "GEN" if spec.methods[0] == "gen" else "PPL"
            rows = {str(row.number): _detail(row) for row in by_task.get(spec.name, ())}
            content["details"] = {"type": kind, **rows}
        place = folder / RESULTS / file_name(model) / file_name(spec.name)
        place.parent.mkdir(parents=True, exist_ok=True)
        write_json(with_suffix(place, ".json"), content)


def shown_metrics(spec: TaskSpec, metrics: Sequence[Metric]) -> list[Metric]:
    """Return the metrics of a task as the originals would have them, what it is told by first.

    Where options are compared, Assay also has other normalisations and how sure the model was.
    """
    method = spec.methods[0]
    own = [one for one in metrics if (one.task, one.method, one.group) == (spec.name, method, None)]
    return in_order(own if method == "gen" else [one for one in own if one.is_listed])


def shown_value(metric: Metric) -> float | None:
    """Return a value on the originals' scale: shares from 0 to 100."""
    if metric.value is None or not metric.is_share:
        return metric.value
    return float(f"{100 * metric.value:.12g}")  # 100 * 0.55 is 55.00000000000001.


def file_name(name: str) -> PurePosixPath:
    """Return a name as a place below a folder; a slash in it makes folders, and none leads out."""
    parts = [part for part in PurePosixPath(name).parts if part not in ("/", "..")]
    return PurePosixPath(*parts) if parts else PurePosixPath("_")


def rows_by_task(run: StoredRun) -> dict[str, list[Row]]:
    """Return the rows of each task, in order."""
    scores = {(score.task, score.sample_id): score for score in run.scores()}
    first = {task.name: task.methods[0] for task in run.manifest.tasks}
    rows: dict[str, list[Row]] = {task.name: [] for task in run.manifest.tasks}
    with run.response_index() as responses:
        for record in run.samples():
            there = rows[record.task]
            asks = list(_answered(record, first[record.task], responses))
            score = scores.get((record.task, record.sample.id))
            there.append(Row(len(there), record, asks, score))
    return rows


def _answered(
    record: SampleRecord, method: str, responses: ResponseIndex
) -> Iterator[tuple[AskRecord, Outcome]]:
    for ask in record.asks:
        if ask.track == method:
            response = responses.get(ask.id)
            missing = Failure("not_asked", "the model was never asked this")
            yield ask, missing if response is None else response.outcome


def right_answer(record: SampleRecord) -> Any:
    """Return a sample's right answer, or the list of several."""
    sample = record.sample
    right: Sequence[str] = [sample.labels[at] for at in sample.gold] or sample.targets
    return right[0] if len(right) == 1 else list(right)


def shown_prompt(prompt: Prompt) -> Any:
    """Return a prompt as the originals write it: a text, or a list of what each role says."""
    if isinstance(prompt, str):
        return prompt
    return [{"role": _ROLES[message.role], "prompt": message.shown} for message in prompt]


def _text(output: Output) -> Any:
    if output.turns:
        return list(output.turns)
    return output.text if output.reasoning is None else f"{output.reasoning}{_END_OF_THOUGHT}{output.text}"


def texts_of(row: Row) -> list[Any]:
    """Return all texts that were written about a row, in order."""
    return [
        _text(output)
        for _, outcome in row.asks
        if isinstance(outcome, Completion)
        for output in outcome.outputs
    ]


def options_of(row: Row) -> Iterator[tuple[str, AskRecord, Likelihood]]:
    """Yield each option whose likelihood was asked for."""
    labels = row.record.sample.labels
    for ask, outcome in row.asks:
        if ask.role == "option" and isinstance(outcome, Likelihood):
            yield labels[ask.index] if ask.index < len(labels) else str(ask.index), ask, outcome


def mean_loss(outcome: Likelihood) -> float:
    """Return the mean negative log-likelihood of a token."""
    return -outcome.sum_logprob / max(1, outcome.n_tokens)


def _prediction(row: Row) -> dict[str, Any]:
    """Return one row of OpenCompass's predictions."""
    record = row.record
    made: dict[str, Any] = {}
    if record.contexts:
        made["origin_prompt"] = shown_prompt(record.contexts[0])
    for label, ask, outcome in options_of(row):
        prompt = shown_prompt(record.ask(ask).prompt)
        made[f"label: {label}"] = {"testing input": prompt, "prompt": prompt, "PPL": mean_loss(outcome)}
    if row.failure is not None:
        made["error"] = f"{row.failure.kind}: {row.failure.message}"
    elif (texts := texts_of(row)) or row.score is None:
        made["prediction"] = texts[0] if len(texts) == 1 else texts
    else:
        made |= _labelled(row)
    if (gold := right_answer(record)) not in (None, "", []):
        made["gold"] = gold
    return made


def _labelled(row: Row) -> dict[str, Any]:
    """Return what was chosen between labels, and where it was a share of each, the shares."""
    answer = None if row.score is None else row.score.answer
    labelled = next((outcome for _, outcome in row.asks if isinstance(outcome, LabelProbs)), None)
    if labelled is None or labelled.at_most:
        return {"prediction": answer}
    probs = labelled.probs
    total = sum(probs) or 1.0
    labels = list(row.record.sample.labels)
    return {"prediction": [one / total for one in probs], "choices": labels, "pred_label": answer}


def _detail(row: Row) -> dict[str, Any]:
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
    made["references"] = score.target if score.target is not None else right_answer(row.record)
    if score.verdict is Verdict.UNANSWERED or score.value in (0.0, 1.0):
        made["correct"] = score.value == 1.0
    elif score.value is not None:
        made[score.metric] = score.value
    return made


def with_suffix(place: Path, suffix: str) -> Path:
    """Return a file beside a place; dots in its name stay."""
    return place.with_name(place.name + suffix)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON document."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=4) + b"\n")


def write_lines(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Write JSON lines."""
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
