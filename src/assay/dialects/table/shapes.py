"""Recognition of tables that are not plain columns: conversations, promptfoo, inspect and `eval.yaml`."""

from __future__ import annotations

from itertools import islice
from typing import Any

import msgspec

from assay.core.errors import PlanError, Problem
from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.setting_names import name_setting
from assay.core.task import ComponentSpec, TaskSettings
from assay.dialects.table.answer_columns import read_answer_columns
from assay.dialects.table.chat_rows import ChatSource, read_chat_rows
from assay.dialects.table.eval_rows import build_eval_scorer, read_eval_rows
from assay.dialects.table.inspect_rows import check_inspect, read_inspect
from assay.dialects.table.meta import TableMeta
from assay.dialects.table.promptfoo_rows import EXPECTED, PromptfooSource, read_promptfoo
from assay.dialects.table.readings import AmbiguousTableError
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
