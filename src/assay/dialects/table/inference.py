"""Inference of column roles from the names and values of a bounded sample.

The result is a `TableMeta`: the settings a person could have written. Given settings are never changed. If
the evidence allows two readings, `AmbiguousTableError` lists them as commands. The survey checks every row
later: a row that contradicts the inferred reading is an error with its line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from assay.dialects.table.answer_inference import infer_free_answer, reject_programs
from assay.dialects.table.columns import sample_columns
from assay.dialects.table.evidence import Evidence
from assay.dialects.table.meta import TableMeta
from assay.dialects.table.option_inference import infer_choice, infer_distractors
from assay.dialects.table.question_inference import infer_question
from assay.sources.record import Record


class TableInference(NamedTuple):
    """The inferred roles of a table's columns, with reasons."""

    meta: TableMeta
    reasons: Mapping[str, str]
    """The reason for each inferred part (question, context, options, answer)."""
    unused: tuple[str, ...] = ()
    """Columns that neither the prompt nor the answer uses."""


def infer_table_meta(
    path: str,
    names: tuple[str, ...],
    records: Iterator[Record],
    given: TableMeta,
    label_names: Mapping[str, tuple[str, ...]],
) -> TableInference:
    """Infer the settings of a table that are not given.

    `label_names`: the dataset's own names for integer labels, by column.
    """
    columns = sample_columns(names, (record.fields for record in records))
    table = Evidence(path, columns, given, label_names)
    reject_programs(table)
    if not infer_distractors(table):
        infer_choice(table)
    infer_question(table)
    if table.option_rows is None:
        infer_free_answer(table)
    _infer_group(table)
    return TableInference(given.merge_over(TableMeta(**table.meta)), table.reasons, table.unused())


def _infer_group(table: Evidence) -> None:
    if table.given.category_column is not None:
        return
    for column in table.free():
        hint = column.suggestion
        if hint is not None and hint.role == "group" and hint.strength == 3 and column.is_scalar:
            if len(column.distinct) * 2 <= len(column.filled) or column.name == "category":
                table.meta["category_column"] = column.name
                table.taken.add(column.name)
            return
