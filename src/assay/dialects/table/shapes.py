"""Recognition of tables that are not plain columns: conversations, promptfoo, inspect and `eval.yaml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from assay.core.errors import AuthorError, PlanError, Problem
from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.setting_names import name_setting
from assay.core.task import ComponentSpec, TaskSettings
from assay.dialects.shared.messages import parse_value
from assay.dialects.table.answer_columns import read_answer_columns
from assay.dialects.table.chat_rows import ChatSource, read_chat_rows
from assay.dialects.table.eval_rows import build_eval_scorer, read_eval_rows
from assay.dialects.table.meta import TableMeta
from assay.dialects.table.promptfoo_rows import EXPECTED, PromptfooSource, read_promptfoo
from assay.dialects.table.readings import AmbiguousTableError
from assay.dialects.table.row_adapters import AdaptedSource, RowProblem
from assay.sources.record import Record
from assay.sources.source import Source

_SAMPLED_ROWS = 100
"""Rows used to recognise a shape. Every row is checked afterwards."""


def read_shape(
    source: Source, meta: TableMeta, notes: list[str], settings: TaskSettings
) -> tuple[Source, TableMeta]:
    """Return a table as rows of plain columns, and its settings completed by what the shape implies.

    Rows are checked while they are read. Given settings take precedence over what a shape implies. A faithful
    run infers nothing: it reads a shape only if the settings name it.
    """
    if meta.eval_task is not None:
        return read_eval_rows(source, meta, meta.eval_task, notes, settings.seed)
    if settings.is_faithful and meta.messages_column is None:
        return source, meta
    check_inspect(source)
    # Read once for all shapes, because a JSON document is loaded completely each time.
    sample = [record.fields for record in islice(source.records(), _SAMPLED_ROWS)]
    for read in (read_promptfoo, read_chat_rows, read_inspect, read_answer_columns):
        try:
            shaped = read(source, meta, sample, notes)
        except AmbiguousTableError:
            if settings.is_scored:
                raise
            # A run that only collects replies needs no right answers.
            shaped = read(source, msgspec.structs.replace(meta, no_answers=True), sample, notes)
        if shaped is not None:
            return shaped
    return source, meta


def check_shape(meta: TableMeta, settings: TaskSettings, path: str) -> None:
    """Raise if a setting does not work with the shape of a table."""
    if meta.output_column == EXPECTED and settings.shots:
        what = f"{settings.shots} shots requested, but assertions give no right answer to show in an example"
        fix = "remove --shots, or name a column of right answers with --answer-column NAME"
        raise PlanError(Problem("TABLE-034", what, fix, Origin(path)))
    if meta.messages_column is not None and settings.shots:
        what = (
            f"{settings.shots} shots requested, but each row contains a whole conversation "
            f"(column {meta.messages_column!r}), which has no place for examples"
        )
        fix = "remove --shots, or add the examples to the conversations as earlier turns"
        raise PlanError(Problem("TABLE-032", what, fix, Origin(path)))


def build_shape_settings(source: Source) -> dict[str, Any]:
    """Return the settings that a shape adds to the manifest and the plan."""
    return source.media_settings() if isinstance(source, ChatSource) else {}


def build_shape_scorer(source: Source, meta: TableMeta) -> ComponentSpec | None:
    """Return the scorer for generated replies; None: compare them with the right answer."""
    if meta.eval_task is not None:
        return build_eval_scorer(meta.eval_task)
    if isinstance(source, PromptfooSource):
        return ComponentSpec("assertions", {"track": Method.GEN, "judged": source.needs_judge})
    return None


def list_shape_notes(source: Source, meta: TableMeta) -> list[str]:
    """Return notes on the rows of a shape, and on settings that have no effect."""
    notes = source.list_row_notes() if isinstance(source, ChatSource | PromptfooSource) else []
    if meta.match is not None and build_shape_scorer(source, meta) is not None:
        scorer = "the scorers of eval.yaml decide" if meta.eval_task else "the assertions decide"
        notes.append(f"{name_setting('match')} has no effect: {scorer}")
    return notes


INPUT, TARGET, CHOICES = "input", "target", "choices"
_NEEDED = frozenset({INPUT, TARGET})
_UNSUPPORTED = ("sandbox", "files", "setup", "checkpoint")
_KEYS = frozenset({INPUT, TARGET, CHOICES, "id", "metadata", "description", *_UNSUPPORTED})


def is_inspect(columns: Sequence[str]) -> bool:
    """Whether all columns are fields of an inspect sample."""
    return {*columns} >= _NEEDED and {*columns} <= _KEYS


def check_inspect(source: Source) -> None:
    """Raise if a sample needs a sandbox environment, which is not supported."""
    named = [name for name in _UNSUPPORTED if name in source.columns]
    if not is_inspect(source.columns) or not named:
        return
    for record in source.records():
        for name in named:
            if record.fields.get(name) not in (None, "", {}, []):
                what = f"the sample has {name!r}: samples that need an environment are not supported"
                fix = f"remove the sample, or remove the column {name!r} if the model needs no environment"
                raise AuthorError(Problem("TABLE-035", what, fix, record.origin.at(name)))


def read_inspect(
    source: Source, given: TableMeta, sample: Sequence[dict[str, Any]], notes: list[str]
) -> tuple[Source, TableMeta] | None:
    """Return inspect samples with options as rows; None for other tables and samples without options."""
    if not is_inspect(source.columns) or CHOICES not in source.columns:
        return None
    if given.options or given.output_column or given.input_columns or given.template or given.human_prompt:
        return None
    if not any(one.get(CHOICES) for one in sample):
        return None
    shaped = AdaptedSource(source, source.columns, _read)
    targets = [one.get(TARGET) for one in sample]
    are_indexes = all(isinstance(one, int) and not isinstance(one, bool) for one in targets)
    notes.append(
        "inspect samples: the question is 'input', the options are 'choices', the answer is 'target'"
    )
    implied = TableMeta(
        data_type="mcq",
        input_columns=(INPUT,),
        output_column=TARGET,
        options=CHOICES,
        answer_is="index0" if are_indexes else None,
    )
    return shaped, given.merge_over(implied)


def _read(record: Record) -> dict[str, Any]:
    fields = record.fields
    value = fields.get(INPUT)
    if not isinstance(value, str) or not value.strip():
        what = f"'input' is {value!r:.60}, expected a text"
        raise RowProblem(Problem("TABLE-035", what, "write the question", record.origin.at(INPUT)))
    listed = parse_value(fields.get(TARGET))
    target = listed if isinstance(listed, list) else fields.get(TARGET)
    return {**fields, CHOICES: _choices(fields), TARGET: target}


def _choices(fields: Mapping[str, Any]) -> list[str]:
    """Return the options of a sample; a csv cell contains JSON, or values separated by commas."""
    value = parse_value(fields.get(CHOICES))
    if isinstance(value, list):
        return [str(one) for one in value if str(one).strip()]
    text = "" if value is None else str(value)
    pieces = text.split(",") if "," in text else text.split()
    return [piece.strip() for piece in pieces if piece.strip()]
