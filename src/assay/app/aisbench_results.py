"""The files that AISBench leaves behind, written from a run beside its own folder.

    predictions/MODEL/DATASET.jsonl          a line for each text
    predictions/MODEL/DATASET_failed.jsonl   a line for each row that failed
    results/MODEL/DATASET.json               the values, and details where asked for

Details have the two shapes of the original: by row number, or a list with what the evaluator itself says
where that does not name `pred`, `answer` and `correct`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.app.answered_rows import AnsweredRow, mean_loss, options_of, rows_by_task, shown_prompt, texts_of
from assay.app.openicl_results import (
    PREDICTIONS,
    RESULTS,
    Details,
    file_name,
    right_answer,
    shown_metrics,
    shown_value,
    with_suffix,
    write_json,
    write_lines,
)
from assay.core.prompt import Message, Prompt
from assay.core.score import Verdict
from assay.core.task import TaskSpec
from assay.results.read import StoredRun
from assay.scoring.evaluators.evaluator import EvaluatedRow
from assay.scoring.evaluators.options import Options
from assay.scoring.evaluators.registry import EVALUATORS

EXTRACT_RATE = "extract_rate"
_DETAILS = "details"
_OPTION_EVALUATOR = "OptionSimAccEvaluator"


class FailedRows(NamedTuple):
    """How many rows of a dataset failed."""

    task: str
    n_failed: int
    n_rows: int
    is_counted: bool
    """Whether they count as wrong answers, as in the original."""


def write_predictions(run: StoredRun, folder: Path, model: str) -> list[FailedRows]:
    """Write what the model answered; return the datasets of which rows failed."""
    failed = []
    by_task = rows_by_task(run)
    for spec in run.manifest.tasks:
        rows = by_task[spec.name]
        place = _place(folder / PREDICTIONS, model, spec)
        good = [line for row in rows if row.failure is None for line in _lines(spec, row)]
        bad = [line for row in rows if row.failure is not None for line in _lines(spec, row)]
        write_lines(with_suffix(place, ".jsonl"), good)
        if bad:
            write_lines(with_suffix(place, "_failed.jsonl"), bad)
            n_failed = sum(row.failure is not None for row in rows)
            failed.append(FailedRows(spec.name, n_failed, len(rows), _is_faithful(spec)))
        else:
            with_suffix(place, "_failed.jsonl").unlink(missing_ok=True)
    return failed


def write_results(run: StoredRun, folder: Path, model: str, details: Details) -> None:
    """Write what the answers are worth."""
    metrics = run.metrics()
    by_task = rows_by_task(run) if details.rows or details.extract_rate else {}
    for spec in run.manifest.tasks:
        content: dict[str, Any] = {one.metric: shown_value(one) for one in shown_metrics(spec, metrics)}
        if by_task:
            content |= _details(spec, by_task[spec.name], details)
        write_json(with_suffix(_place(folder / RESULTS, model, spec), ".json"), content)


def read_results(folder: Path, model: str, run: StoredRun) -> dict[str, dict[str, Any]]:
    """Return what the result files of a model hold beside details, by dataset."""
    found = {}
    for spec in run.manifest.tasks:
        path = with_suffix(
            folder / RESULTS / file_name(model.replace("/", "_")) / file_name(spec.name), ".json"
        )
        if path.is_file():
            content = msgspec.json.decode(path.read_bytes())
            found[spec.name] = {name: value for name, value in content.items() if name != _DETAILS}
    return found


def _place(folder: Path, model: str, spec: TaskSpec) -> Path:
    place = folder / file_name(model) / file_name(spec.name)
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def _is_faithful(spec: TaskSpec) -> bool:
    return bool(spec.settings.get("faithful"))


# --- predictions ---


def _prompt(spec: TaskSpec, prompt: Prompt) -> Any:
    """Return a prompt as the original writes it: as one text where the template is one."""
    if _is_one_text(spec) and isinstance(prompt, tuple) and len(prompt) == 1:
        message: Message = prompt[0]
        return message.shown
    return shown_prompt(prompt)


def _is_one_text(spec: TaskSpec) -> bool:
    said = spec.settings.get("said")
    if isinstance(said, Mapping):  # A table.
        return said.get("prompt_style") == "aisbench" or isinstance(said.get("template"), str)
    template = spec.settings.get("prompt_template") or spec.settings.get("ice_template") or {}
    return isinstance(template.get("template"), str)


def _gold(spec: TaskSpec, row: AnsweredRow) -> Any:
    """Return the right answer as the data has it, before any post-processor."""
    column = (spec.settings.get("reader") or {}).get("output_column")
    fields = row.record.sample.fields
    return fields[column] if column in fields else right_answer(row.record)


def _lines(spec: TaskSpec, row: AnsweredRow) -> Iterator[dict[str, Any]]:
    """Yield the lines of one row: one for each text."""
    record, failure = row.record, row.failure
    prompt = _prompt(spec, record.contexts[0]) if record.contexts else ""
    head = {"data_abbr": spec.name, "id": row.number}
    if failure is not None:
        yield {**head, "input": prompt, "error_info": f"{failure.kind}: {failure.message}"}
        return
    head |= {"success": True}
    gold = {"gold": right} if (right := _gold(spec, row)) else {}
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


# --- details ---


def _details(spec: TaskSpec, rows: Sequence[AnsweredRow], wanted: Details) -> dict[str, Any]:
    """Return the keys that the two flags add to a result."""
    evaluator = _evaluator(spec)
    found: dict[str, Any] = {}
    if wanted.rows and evaluator == _OPTION_EVALUATOR:
        found[_DETAILS] = [_listed(spec, row) for row in rows]
    elif wanted.rows:
        is_listed = evaluator in EVALUATORS and EVALUATORS[evaluator].has_details
        found[_DETAILS] = {str(row.number): _detail(spec, row, is_listed=is_listed) for row in rows}
        # With several answers to a row, the original keeps the evaluator's own list, without a type.
        if not (_is_faithful(spec) and is_listed and spec.settings.get("n", 1) > 1):
            found["type"] = "GEN" if spec.methods[0] == "gen" else "PPL"
    # The original tells the rate from its details by row, and without them not at all.
    if wanted.extract_rate and (not _is_faithful(spec) or "type" in found):
        n_found = sum(bool(row.score is not None and row.score.answer) for row in rows)
        found[EXTRACT_RATE] = 100.0 * n_found / len(rows) if rows else 0.0
    return found


def _evaluator(spec: TaskSpec) -> str:
    if "layout" in spec.settings:
        return _OPTION_EVALUATOR if spec.settings["layout"].get("data_type") == "mcq" else "AccEvaluator"
    return str(spec.settings.get("evaluator") or "")


def _detail(spec: TaskSpec, row: AnsweredRow, *, is_listed: bool) -> dict[str, Any]:
    """Return one row of the details; `is_listed`: values are lists, as the evaluator's own details are."""
    made: dict[str, Any] = {}
    options = list(options_of(row))
    if options:
        made["origin_prediction"] = {
            label: {"prompt": shown_prompt(row.record.ask(ask).prompt), "PPL": mean_loss(outcome)}
            for label, ask, outcome in options
        }
    else:
        texts = texts_of(row) or [""]
        made["prompt"] = _prompt(spec, row.record.contexts[0]) if row.record.contexts else ""
        made["origin_prediction"] = texts[0] if len(texts) == 1 else texts
    score = row.score
    if score is None or score.verdict is Verdict.FAILED:
        failure = row.failure
        why = f"{failure.kind}: {failure.message}" if failure is not None else score and score.why
        return {**made, "error": why or "not scored"}
    answer = score.answer if score.answer is not None else ""
    target = score.target if score.target is not None else right_answer(row.record)
    is_right = score.value == 1.0
    if is_listed:
        return {**made, "predictions": [answer], "references": [target], "correct": [is_right]}
    made |= {"predictions": answer, "references": str(target)}
    return {**made, "correct": is_right} if options or not _is_faithful(spec) else made


def _listed(spec: TaskSpec, row: AnsweredRow) -> dict[str, Any]:
    """Return one row as the evaluator of options lists it."""
    sample = row.record.sample
    letters = (spec.settings.get("evaluator_arguments") or {}).get("options") or list(sample.labels)
    options = Options(letters, is_faithful=_is_faithful(spec))
    right = right_answer(row.record)
    texts = [str(text) for text in texts_of(row)] or [""]
    fields = {
        **dict.fromkeys(letters),
        **dict(zip(sample.labels, sample.choices, strict=True)),
        **sample.fields,
    }
    parsed = [options.chosen(text, EvaluatedRow(right, fields)) for text in texts]
    made = {"example_abbr": f"{spec.name}_test_{row.number}", "pred": texts, "parsed": parsed}
    return {**made, "refr": [right] * len(texts), "correct": [one == right for one in parsed]}
