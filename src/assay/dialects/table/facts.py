"""How a table was understood, in words."""

from __future__ import annotations

import msgspec

from assay.core.request import Windows
from assay.core.task import TaskSpec
from assay.dialects.table.layout import Layout
from assay.dialects.table.survey import Survey


def facts_of(survey: Survey, spec: TaskSpec) -> list[tuple[str, str]]:
    """Return in words which column is what."""
    layout = survey.layout
    if layout.data_type == "text":
        return [("text", layout.question_columns[0]), ("windows", _windows(spec)), *_company(layout)]
    rows = [("question", ", ".join(layout.question_columns) or "(named by the prompt)")]
    if layout.data_type == "mcq":
        rows.append(
            ("options", layout.options if isinstance(layout.options, str) else ", ".join(layout.options))
        )
    form = {
        "label": "a label",
        "text": "an option's text",
        "index0": "an index from 0",
        "index1": "an index from 1",
    }
    answer = layout.answer_column or "(none: predictions are kept, nothing is scored)"
    rows.append(("answer", f"{answer}, {form[layout.answer_form]}" if layout.data_type == "mcq" else answer))
    if survey.n_without_answer and layout.answer_column:
        rows.append(("unknown", f"{survey.n_without_answer:,} rows have no answer: kept, not scored"))
    rows += _company(layout)
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


def _company(layout: Layout) -> list[tuple[str, str]]:
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
