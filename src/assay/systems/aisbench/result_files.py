"""AISBench's result files, written from a run next to its own folder.

    predictions/MODEL/DATASET.jsonl          one line per text
    predictions/MODEL/DATASET_failed.jsonl   one line per failed row
    results/MODEL/DATASET.json               the values, and details if requested

Details have the two formats of the original: by row number, or a list of the evaluator's own details if these
lack the names `pred`, `answer` and `correct`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.core.method import Method
from assay.core.prompt import Message, Prompt
from assay.core.response import Failure
from assay.core.score import Verdict
from assay.core.task import TaskSpec
from assay.results.read import StoredRun
from assay.scoring.originals.opencompass.evaluators.evaluator import EvaluatedRow
from assay.scoring.originals.opencompass.evaluators.options import OptionColumns
from assay.scoring.originals.opencompass.evaluators.registry import EVALUATORS
from assay.systems.opencompass.answered_rows import (
    AnsweredRow,
    format_prompt,
    iterate_options,
    list_texts,
    mean_loss,
    read_rows_by_task,
)
from assay.systems.opencompass.prediction_rows import (
    JOINT_PREFIXES,
    PROMPT_EVALUATOR,
    rename_details,
    transpose_details,
)
from assay.systems.opencompass.result_files import (
    PREDICTIONS,
    RESULTS,
    DetailOptions,
    append_suffix,
    right_answer,
    scale_value,
    select_metrics,
    to_relative_path,
    write_json,
    write_lines,
)

EXTRACT_RATE = "extract_rate"
_DETAILS = "details"
_OPTION_EVALUATOR = "OptionSimAccEvaluator"
_BY_ROW = {"pred", "answer", "correct"}
"""The names that an evaluator's details must have for the original to write them by row."""


class FailedAnswers(NamedTuple):
    """The number of failed rows of a dataset, or of failed answers if each row has several requests."""

    task: str
    n_failed: int
    n: int
    noun: str
    is_counted: bool
    """Whether they count as wrong answers, as in the original."""


def write_predictions(run: StoredRun, folder: Path, model: str) -> list[FailedAnswers]:
    """Write the predictions; return the datasets with failed answers."""
    failed = []
    by_task = read_rows_by_task(run)
    for spec in run.manifest.tasks:
        rows = by_task[spec.name]
        place = _prepare_path(folder / PREDICTIONS, model, spec)
        lines = [line for row in rows for line in _lines(spec, row)]
        write_lines(append_suffix(place, ".jsonl"), [line for line in lines if "error_info" not in line])
        bad = [line for line in lines if "error_info" in line]
        if bad:
            write_lines(append_suffix(place, "_failed.jsonl"), bad)
            is_repeated = _n_answers(spec) > 1 and len(lines) > len(rows)
            n, noun = (len(lines), "answers") if is_repeated else (len(rows), "rows")
            n_failed = len(bad) if is_repeated else sum(row.failure is not None for row in rows)
            failed.append(FailedAnswers(spec.name, n_failed, n, noun, _is_faithful(spec)))
        else:
            append_suffix(place, "_failed.jsonl").unlink(missing_ok=True)
    return failed


def write_results(run: StoredRun, folder: Path, model: str, details: DetailOptions) -> None:
    """Write the scores."""
    metrics = run.metrics()
    by_task = read_rows_by_task(run) if details.rows or details.extract_rate else {}
    for spec in run.manifest.tasks:
        own = select_metrics(spec, metrics)
        if not own:
            continue
        content: dict[str, Any] = {one.metric: scale_value(one) for one in own}
        if by_task:
            content |= _details(spec, by_task[spec.name], details)
        write_json(append_suffix(_prepare_path(folder / RESULTS, model, spec), ".json"), content)


def read_results(folder: Path, model: str, run: StoredRun) -> dict[str, dict[str, Any]]:
    """Return the content of a model's result files without details, by dataset."""
    results = {}
    for spec in run.manifest.tasks:
        path = append_suffix(
            folder / RESULTS / to_relative_path(model.replace("/", "_")) / to_relative_path(spec.name),
            ".json",
        )
        if path.is_file():
            content = msgspec.json.decode(path.read_bytes())
            results[spec.name] = {name: value for name, value in content.items() if name != _DETAILS}
    return results


def _prepare_path(folder: Path, model: str, spec: TaskSpec) -> Path:
    place = folder / to_relative_path(model) / to_relative_path(spec.name)
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def _is_faithful(spec: TaskSpec) -> bool:
    return bool(spec.settings.get("faithful"))


# --- predictions ---


def _prompt(spec: TaskSpec, prompt: Prompt) -> Any:
    """Return a prompt as the original writes it: as one text if the template is one."""
    if _is_one_text(spec) and isinstance(prompt, tuple) and len(prompt) == 1:
        message: Message = prompt[0]
        return message.display_text
    return format_prompt(prompt)


def _is_one_text(spec: TaskSpec) -> bool:
    declared = spec.settings.get("said")
    if isinstance(declared, Mapping):  # A table.
        return declared.get("prompt_style") == "aisbench" or isinstance(declared.get("template"), str)
    template = spec.settings.get("prompt_template") or spec.settings.get("ice_template") or {}
    return isinstance(template.get("template"), str)


def _gold(spec: TaskSpec, row: AnsweredRow) -> Any:
    """Return the reference answer as the data has it, before any post-processor."""
    column = (spec.settings.get("reader") or {}).get("output_column")
    fields = row.record.sample.fields
    return fields[column] if column in fields else right_answer(row.record)


def _lines(spec: TaskSpec, row: AnsweredRow) -> Iterator[dict[str, Any]]:
    """Yield the lines of one row: one for each text and for each failed request."""
    record = row.record
    prompt = _prompt(spec, record.contexts[0]) if record.contexts else ""
    head = {"data_abbr": spec.name, "id": row.number}
    failures = [outcome for _, outcome in row.asks if isinstance(outcome, Failure)]
    options = [{"label": label, "ppl": mean_loss(outcome)} for label, _, outcome in iterate_options(row)]
    if failures and spec.methods[0] != Method.GEN:
        failures, options = failures[:1], []  # Labels are compared together or not at all.
    for failure in failures:
        yield {**head, "input": prompt, "error_info": f"{failure.kind}: {failure.message}"}
    head |= {"success": True}
    gold = {"gold": right} if (right := _gold(spec, row)) else {}
    if options:
        answer = None if row.score is None else row.score.answer
        more = {"ppl_list": options, "prediction": answer}
        prompts = [_prompt(spec, record.ask(ask).prompt) for _, ask, _ in iterate_options(row)]
        yield {**head, "uuid": record.sample.id, "origin_prompt": prompts, **more, **gold}
        return
    texts = list_texts(row)
    for at, text in enumerate(texts):
        name = record.sample.id if len(texts) == 1 else f"{record.sample.id}.{at}"
        yield {**head, "uuid": name, "origin_prompt": prompt, "prediction": text, **gold}


def _n_answers(spec: TaskSpec) -> int:
    """Return the number of answers requested for each row."""
    n: int = spec.settings.get("n", 1)
    return n if spec.methods[0] == Method.GEN else 1


# --- details ---


def _details(spec: TaskSpec, rows: Sequence[AnsweredRow], wanted: DetailOptions) -> dict[str, Any]:
    """Return the keys that the two flags add to a result."""
    evaluator = _evaluator(spec)
    content: dict[str, Any] = {}
    if wanted.rows and evaluator == _OPTION_EVALUATOR and not _is_mixed(spec):
        content[_DETAILS] = [_build_option_detail(spec, row) for row in rows]
    elif wanted.rows and (own := _build_own_list(spec, evaluator, rows)):
        content[_DETAILS] = own
    elif wanted.rows:
        is_listed = any(map(_has_row_details, rows))
        is_listed |= evaluator in EVALUATORS and EVALUATORS[evaluator].has_details
        content[_DETAILS] = {str(row.number): _detail(spec, row, is_listed=is_listed) for row in rows}
        # AISBench has one format for texts and for likelihoods of a service.
        content["type"] = "GEN" if spec.methods[0] == Method.GEN or _is_faithful(spec) else "PPL"
    # The original computes the rate only from its details by row.
    if wanted.extract_rate and (not _is_faithful(spec) or "type" in content):
        n_found = sum(bool(row.score is not None and row.score.answer) for row in rows)
        content[EXTRACT_RATE] = 100.0 * n_found / len(rows) if rows else 0.0
    return content


def _is_mixed(spec: TaskSpec) -> bool:
    """Return whether answers are grouped as in the original, which mixes those to different rows."""
    return _is_faithful(spec) and _n_answers(spec) > 1


def _has_row_details(row: AnsweredRow) -> bool:
    """Return whether the details of a row have the names that the original writes by row."""
    details = () if row.score is None else row.score.details
    return bool(details) and all(one.keys() >= _BY_ROW for one in details)


def _build_own_list(spec: TaskSpec, evaluator: str, rows: Sequence[AnsweredRow]) -> list[dict[str, Any]]:
    """Return the evaluator's details of all rows as a list; empty if the original writes them by row.

    With several answers, the original concatenates all first answers, then all second ones, and cuts this
    list into parts of as many answers as each row has.
    """
    details_by_row = [_answer_details(spec, evaluator, row) for row in rows]
    n = _n_answers(spec)
    is_by_name = all(_has_row_details(row) for row in rows) and evaluator != PROMPT_EVALUATOR
    if not any(details_by_row) or (is_by_name and not _is_mixed(spec)):
        return []
    if _is_mixed(spec) and {len(details) for details in details_by_row} == {n}:
        concatenated = [of_row[run] for run in range(n) for of_row in details_by_row]
        details_by_row = [concatenated[at * n : (at + 1) * n] for at in range(len(rows))]
    return [
        {
            "example_abbr": f"{spec.name}_test_{row.number}",
            **_select_joint_values(row),
            **transpose_details(details),
        }
        for row, details in zip(rows, details_by_row, strict=True)
    ]


def _answer_details(spec: TaskSpec, evaluator: str, row: AnsweredRow) -> Sequence[Mapping[str, Any]]:
    """Return an evaluator's details of each answer to a row."""
    if evaluator == _OPTION_EVALUATOR:
        listed = _build_option_detail(spec, row)
        names = ("pred", "parsed", "refr", "correct")
        return [dict(zip(names, one, strict=True)) for one in zip(*map(listed.get, names), strict=True)]
    if evaluator in EVALUATORS and not EVALUATORS[evaluator].has_details:
        return ()
    score = row.score
    details = () if score is None else score.details
    if evaluator == PROMPT_EVALUATOR:
        prompt = _prompt(spec, row.record.contexts[0]) if row.record.contexts else ""
        right = score is not None and score.value == 1.0
        answer = "" if score is None else score.answer
        fallback = [{"pred": answer, "answer": right_answer(row.record), "correct": right}]
        return rename_details(evaluator, details or fallback, prompt)
    return details


def _select_joint_values(row: AnsweredRow) -> dict[str, float]:
    also = {} if row.score is None else row.score.also
    return {name: value for name, value in also.items() if name.startswith(JOINT_PREFIXES)}


def _evaluator(spec: TaskSpec) -> str:
    if "layout" in spec.settings:
        return _OPTION_EVALUATOR if spec.settings["layout"].get("data_type") == "mcq" else "AccEvaluator"
    return str(spec.settings.get("evaluator") or "")


def _detail(spec: TaskSpec, row: AnsweredRow, *, is_listed: bool) -> dict[str, Any]:
    """Return one row of the details; `is_listed`: values are lists, like the evaluator's own details."""
    detail: dict[str, Any] = {}
    options = list(iterate_options(row))
    if options and _is_faithful(spec):
        detail["prompt"] = [_prompt(spec, row.record.ask(ask).prompt) for _, ask, _ in options]
        detail["origin_prediction"] = None if row.score is None else row.score.answer
    elif options:
        detail["origin_prediction"] = {
            label: {"prompt": format_prompt(row.record.ask(ask).prompt), "PPL": mean_loss(outcome)}
            for label, ask, outcome in options
        }
    else:
        texts = list_texts(row) or [""]
        detail["prompt"] = _prompt(spec, row.record.contexts[0]) if row.record.contexts else ""
        detail["origin_prediction"] = texts[0] if len(texts) == 1 else texts
    score = row.score
    if score is None or score.verdict is Verdict.FAILED:
        failure = row.failure
        why = f"{failure.kind}: {failure.message}" if failure is not None else score and score.why
        return {**detail, "error": why or "not scored"}
    if score.details and (is_listed or len(score.details) > 1):
        by_name = transpose_details(score.details)
        return {
            **detail,
            "predictions": by_name["pred"],
            "references": by_name["answer"],
            "correct": [bool(one) for one in by_name["correct"]],
        }
    answer = score.answer if score.answer is not None else ""
    target = score.target if score.target is not None else right_answer(row.record)
    is_right = score.value == 1.0
    if is_listed:
        return {**detail, "predictions": [answer], "references": [target], "correct": [is_right]}
    detail |= {"predictions": answer, "references": str(target)}
    return detail if _is_faithful(spec) else {**detail, "correct": is_right}


def _build_option_detail(spec: TaskSpec, row: AnsweredRow) -> dict[str, Any]:
    """Return one row in the format of the option evaluator."""
    sample = row.record.sample
    letters = (spec.settings.get("evaluator_arguments") or {}).get("options") or list(sample.labels)
    options = OptionColumns(letters, is_faithful=_is_faithful(spec))
    right = right_answer(row.record)
    texts = [str(text) for text in list_texts(row)]
    texts += [""] * (_n_answers(spec) - len(texts))  # Failed answers.
    fields = {
        **dict.fromkeys(letters),
        **dict(zip(sample.labels, sample.choices, strict=True)),
        **sample.fields,
    }
    parsed = [options.read_choice(text, EvaluatedRow(right, fields)) for text in texts]
    detail = {"example_abbr": f"{spec.name}_test_{row.number}", "pred": texts, "parsed": parsed}
    return {**detail, "refr": [right] * len(texts), "correct": [one == right for one in parsed]}
