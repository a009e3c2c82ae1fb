"""A summary of how a table was read: the role of each column, and why."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from assay.core.method import Method
from assay.core.request import Windows
from assay.core.task import TaskSpec
from assay.dialects.table.eval_rows import find_original_columns
from assay.dialects.table.layout import Layout
from assay.dialects.table.survey import Survey


def describe_settings(survey: Survey, spec: TaskSpec) -> list[tuple[str, str]]:
    """Return the role of each column as (name, description) pairs."""
    layout = survey.layout
    if layout.data_type == "text":
        return [("text", layout.question_columns[0]), ("windows", _windows(spec)), *_list_row_columns(layout)]
    reasons = survey.reasons
    written = find_original_columns(spec.settings["said"])
    questions = ", ".join(written.get(name, name) for name in layout.question_columns)
    rows = [("question", _add_reason(questions or "(see the prompt)", reasons.get("question"), "question"))]
    if layout.context_columns:
        rows.append(("context", _add_reason(", ".join(layout.context_columns), reasons.get("context"))))
    if layout.data_type == "mcq":
        rows.append(("options", _add_reason(_options(layout, written), reasons.get("options"))))
    rows.append(("answer", _answer(layout, written, reasons.get("answer"))))
    if survey.n_without_answer and layout.answer_column:
        n_unscored = survey.n_without_answer
        rows.append(("unknown", f"{n_unscored:,} rows have no answer: replies are saved, not scored"))
    rows += _list_row_columns(layout)
    if survey.unused:
        rows.append(("unused", ", ".join(survey.unused)))
    if layout.length_column is not None and Method.GEN in spec.methods:
        config = spec.settings["said"].get("output_config")
        length = layout.length_column if config is None else f"output_config, {config['method']}"
        rows.append(("length", length))
    settings = spec.settings
    if Method.PPL in spec.methods:
        score = "the mean over the whole text" if settings["fidelity"] == "faithful" else settings["score_by"]
        rows.append(("ppl", f"scores the option's {settings['ppl_target']} by {score}"))
    if settings["shots"]:
        source = settings["shots_from"] or "this file, excluding the row itself"
        rows.append(("shots", f"{settings['shots']} from {source} ({settings['shot_policy']})"))
    return rows


_FORMS = {
    "label": "a label",
    "text": "an option's text",
    "index0": "an index counted from 0",
    "index1": "an index counted from 1",
    "boolean": "true or false",
    "after_hashes": "the text after ####",
    "boxed": "the text in \\boxed{}",
    "named": "a label with a name",
    "marked": "the options marked as right",
    "beside_wrong": "the right option itself",
}


def _answer(layout: Layout, written: Mapping[str, str], reason: str | None) -> str:
    if layout.answer_column is None:
        return "(none: replies are saved, not scored)"
    form = layout.answer_form
    is_plain = layout.data_type == "qa" and form == "label"
    column = written.get(layout.answer_column, layout.answer_column)
    answer = column if is_plain else f"{column}, {_FORMS[form]}"
    return _add_reason(answer, reason, "answer")


def _options(layout: Layout, written: Mapping[str, str]) -> str:
    if layout.label_names is not None:
        names = (name if value == name else f"{value}={name}" for value, name in layout.label_names.items())
        return ", ".join(names)
    if layout.distractors:
        return ", ".join((layout.answer_column or "", *layout.distractors))
    options = (layout.options,) if isinstance(layout.options, str) else layout.options
    return ", ".join(written.get(name, name) for name in options)


def _add_reason(value: str, reason: str | None, documented: str | None = None) -> str:
    """Return a value with its reason in brackets; omit the reason for a column with its documented name."""
    is_documented = reason == "by its name" and value.split(",")[0] == documented
    return value if not reason or is_documented else f"{value} ({reason})"


def _list_row_columns(layout: Layout) -> list[tuple[str, str]]:
    """Return the columns for group, cluster and id."""
    columns = {"group": layout.category_column, "cluster": layout.cluster_column, "id": layout.id_column}
    return [(name, column) for name, column in columns.items() if column]


def _windows(spec: TaskSpec) -> str:
    """Return a description of how the texts are cut into windows."""
    windows = msgspec.convert(spec.settings["windows"], Windows)
    context = "of the model's context length"
    default = "of 2,048 tokens, or the model's context length" if windows.scheme == "gptq" else context
    length = default if windows.length is None else f"of {windows.length:,} tokens"
    how = {
        "classic": "each text separately, every token scored once",
        "hf-stride": f"all texts joined, a window every {windows.stride or 512:,} tokens",
        "gptq": "all texts joined, in independent blocks",
    }
    return f"{windows.scheme}, {length}: {how[windows.scheme]}"
