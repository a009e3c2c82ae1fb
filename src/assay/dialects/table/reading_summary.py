"""How a table was understood, in words."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from assay.core.request import Windows
from assay.core.task import TaskSpec
from assay.dialects.table.eval_rows import find_original_columns
from assay.dialects.table.layout import Layout
from assay.dialects.table.survey import Survey


def describe_settings(survey: Survey, spec: TaskSpec) -> list[tuple[str, str]]:
    """Return in words which column is what."""
    layout = survey.layout
    if layout.data_type == "text":
        return [("text", layout.question_columns[0]), ("windows", _windows(spec)), *_list_row_columns(layout)]
    reasons = survey.reasons
    written = find_original_columns(spec.settings["said"])
    questions = ", ".join(written.get(name, name) for name in layout.question_columns)
    rows = [
        ("question", _add_reason(questions or "(named by the prompt)", reasons.get("question"), "question"))
    ]
    if layout.context_columns:
        rows.append(("context", _add_reason(", ".join(layout.context_columns), reasons.get("context"))))
    if layout.data_type == "mcq":
        rows.append(("options", _add_reason(_options(layout, written), reasons.get("options"))))
    rows.append(("answer", _answer(layout, written, reasons.get("answer"))))
    if survey.n_without_answer and layout.answer_column:
        rows.append(("unknown", f"{survey.n_without_answer:,} rows have no answer: kept, not scored"))
    rows += _list_row_columns(layout)
    if survey.unused:
        rows.append(("unused", ", ".join(survey.unused)))
    if layout.length_column is not None and "gen" in spec.methods:
        said = spec.settings["said"].get("output_config")
        rows.append(("length", layout.length_column if said is None else f"output_config, {said['method']}"))
    settings = spec.settings
    if "ppl" in spec.methods:
        decided = (
            "the mean over the whole text" if settings["fidelity"] == "faithful" else settings["score_by"]
        )
        rows.append(("ppl", f"scores the option's {settings['ppl_target']}, decided by {decided}"))
    if settings["shots"]:
        source = settings["shots_from"] or "this file, the row itself left out"
        rows.append(("shots", f"{settings['shots']} from {source} ({settings['shot_policy']})"))
    return rows


_FORMS = {
    "label": "a label",
    "text": "an option's text",
    "index0": "an index from 0",
    "index1": "an index from 1",
    "boolean": "true or false",
    "after_hashes": "what follows ####",
    "boxed": "what is in \\boxed{}",
    "named": "a label with a name",
    "marked": "the options marked right",
    "beside_wrong": "the right option itself",
}


def _answer(layout: Layout, written: Mapping[str, str], reason: str | None) -> str:
    if layout.answer_column is None:
        return "(none: predictions are kept, nothing is scored)"
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
    """Return a fact with the reason for it; a column that has its documented name needs none."""
    is_documented = reason == "its name" and value.split(",")[0] == documented
    return value if not reason or is_documented else f"{value} ({reason})"


def _list_row_columns(layout: Layout) -> list[tuple[str, str]]:
    """Return the columns that say where a row belongs."""
    columns = {"group": layout.category_column, "cluster": layout.cluster_column, "id": layout.id_column}
    return [(name, column) for name, column in columns.items() if column]


def _windows(spec: TaskSpec) -> str:
    """Say in words how the texts are cut."""
    windows = msgspec.convert(spec.settings["windows"], Windows)
    context = "of the model's context length"
    default = "of 2,048 tokens, or the model's context length" if windows.scheme == "gptq" else context
    length = default if windows.length is None else f"of {windows.length:,} tokens"
    how = {
        "classic": "each text for itself, every token scored once",
        "hf-stride": f"all texts as one, a window every {windows.stride or 512:,} tokens",
        "gptq": "all texts as one, in blocks that know nothing of each other",
    }
    return f"{windows.scheme}, {length}: {how[windows.scheme]}"
