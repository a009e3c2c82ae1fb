"""Right answers in several columns, or several answers in one cell, as one answer column.

- `--answer-column answer1,answer2`: each of these columns has an accepted answer.
- `--answer-column Paris,Rome`: the column of the right answer has a 1, the others have a 0.
- Columns such as `is_correct_a`, `is_correct_b` mark the right ones of as many option columns.
- TruthfulQA's csv separates the answers in one cell with semicolons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from assay.core.errors import Problem, listing
from assay.dialects.shared.choices import build_labels
from assay.dialects.table.cells import to_text
from assay.dialects.table.column_words import find_numbered_families, split_column_name, suggest_role
from assay.dialects.table.columns import is_empty
from assay.dialects.table.meta import TableMeta
from assay.dialects.table.row_adapters import AdaptedSource, RowProblem
from assay.sources.record import Record
from assay.sources.source import Source

ACCEPTED_ANSWERS = "accepted_answers"
RIGHT_OPTIONS = "right_options"
_FLAG_WORDS = frozenset(("correct", "right", "true", "gold"))
_FLAGS = {"1": True, "0": False, "1.0": True, "0.0": False, "true": True, "false": False, "": False}
"""The values of a cell that marks an option."""


class AnswerColumnsSource(AdaptedSource):
    """A table whose rows have one answer column, made from the columns of the file."""

    def read_other(self, other: Source) -> Source:
        """Return another file, such as one with examples, with its answers in the same column."""
        return AnswerColumnsSource(other, self.columns, self._adapt)


def read_answer_columns(
    source: Source, meta: TableMeta, sample: Sequence[dict[str, Any]], notes: list[str]
) -> tuple[Source, TableMeta] | None:
    """Return a table with one answer column, and its settings; None if its answers need no rewriting."""
    return (
        _read_named_columns(source, meta, sample)
        or _read_flags(source, meta, sample, notes)
        or _read_separated_answers(source, meta, sample, notes)
    )


def _read_named_columns(
    source: Source, meta: TableMeta, sample: Sequence[dict[str, Any]]
) -> tuple[Source, TableMeta] | None:
    """Read the answers from several columns that the setting names."""
    named = meta.output_column or ""
    names = tuple(name.strip() for name in named.split(","))
    if len(names) < 2 or named in source.columns or not set(names) <= set(source.columns):
        return None

    columns = tuple(name for name in source.columns if name not in names)
    if all(_read_flag(row.get(name)) is not None for row in sample for name in names):

        def adapt_marks(record: Record) -> dict[str, Any]:
            fields = {name: value for name, value in record.fields.items() if name not in names}
            marked = [name for name in names if _is_marked(record, name)]
            if len(marked) != 1:
                what = f"{listing(marked) or 'none'} of {listing(names)} is marked, expected exactly one"
                fix = "write 1 in the column of the right answer and 0 in the others"
                raise RowProblem(Problem("TABLE-011", what, fix, record.origin.at(names[0])))
            return fields | {RIGHT_OPTIONS: marked[0]}

        labels = meta.label_names or {name: name for name in names}
        marks = msgspec.structs.replace(meta, output_column=RIGHT_OPTIONS, label_names=labels)
        return AnswerColumnsSource(source, (*columns, RIGHT_OPTIONS), adapt_marks), marks

    def adapt(record: Record) -> dict[str, Any]:
        fields = {name: value for name, value in record.fields.items() if name not in names}
        answers = [record.fields.get(name) for name in names]
        fields[ACCEPTED_ANSWERS] = [answer for answer in answers if not is_empty(answer)] or None
        return fields

    implied = msgspec.structs.replace(meta, output_column=ACCEPTED_ANSWERS, data_type=meta.data_type or "qa")
    return AnswerColumnsSource(source, (*columns, ACCEPTED_ANSWERS), adapt), implied


def marks_one_column(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether every row has a 1 in one of these columns and a 0 in the others."""
    flags = [[_read_flag(row.get(name)) for name in names] for row in rows]
    return bool(flags) and all(None not in row and row.count(True) == 1 for row in flags)


def _read_flags(
    source: Source, meta: TableMeta, sample: Sequence[dict[str, Any]], notes: list[str]
) -> tuple[Source, TableMeta] | None:
    is_settled = meta.options or meta.output_column or meta.distractors or meta.label_names
    if is_settled or meta.no_answers or meta.data_type in ("qa", "text"):
        return None
    pair = _find_flags(source.columns, sample)
    if pair is None:
        return None
    flags, options = pair
    labels = build_labels(len(options))

    def adapt(record: Record) -> dict[str, Any]:
        fields = {name: value for name, value in record.fields.items() if name not in flags}
        right = [label for label, name in zip(labels, flags, strict=True) if _is_marked(record, name)]
        if not right:
            what = f"none of {listing(flags)} marks the right option"
            fix = "write 1 in the column of the right option"
            raise RowProblem(Problem("TABLE-011", what, fix, record.origin.at(flags[0])))
        fields[RIGHT_OPTIONS] = right if len(right) > 1 else right[0]
        return fields

    notes.append(f"{listing(flags)} mark the right ones of the options {listing(options)}")
    columns = (*(name for name in source.columns if name not in flags), RIGHT_OPTIONS)
    implied = TableMeta(options=options, output_column=RIGHT_OPTIONS, answer_is="label")
    return AnswerColumnsSource(source, columns, adapt), meta.merge_over(implied)


def _find_flags(
    columns: tuple[str, ...], sample: Sequence[Mapping[str, Any]]
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the columns that mark options and the option columns; None unless both are certain."""
    families = [(stem, names) for stem, names, _ in find_numbered_families(columns)]
    flags = [
        names
        for stem, names in families
        if _FLAG_WORDS & set(split_column_name(stem))
        and all(_read_flag(row.get(name)) is not None for row in sample for name in names)
    ]
    if len(flags) != 1:
        return None
    marked = [[bool(_read_flag(row.get(name))) for name in flags[0]] for row in sample]
    options = [names for _, names in families if len(names) == len(flags[0]) and names != flags[0]]
    if len(options) != 1 or not all(map(any, marked)) or all(map(all, marked)):
        return None
    return flags[0], options[0]


def _read_flag(value: Any) -> bool | None:
    return False if value is None else _FLAGS.get(str(value).strip().casefold())


def _is_marked(record: Record, name: str) -> bool:
    flag = _read_flag(record.fields.get(name))
    if flag is None:
        what = f"found {record.fields.get(name)!r:.60}, expected 1 for a right option and 0 for a wrong one"
        raise RowProblem(Problem("TABLE-011", what, "write 1 or 0", record.origin.at(name)))
    return flag


def _read_separated_answers(
    source: Source, meta: TableMeta, sample: Sequence[dict[str, Any]], notes: list[str]
) -> tuple[Source, TableMeta] | None:
    names = tuple(name for name in source.columns if _lists_answers(name))
    roles = {"distractor" if _names_wrong_answers(name) else "answer" for name in names}
    if len(roles) < 2 or not sample:
        return None
    cells = [row.get(name) for row in sample for name in names]
    texts = [cell for cell in cells if isinstance(cell, str) and cell.strip()]
    if len(texts) < len(cells) or 2 * sum("; " in text for text in texts) < len(texts):
        return None

    def adapt(record: Record) -> dict[str, Any]:
        return record.fields | {name: _split_answers(record.fields.get(name)) for name in names}

    notes.append(f"semicolons separate the answers in {listing(names)}")
    return AnswerColumnsSource(source, source.columns, adapt), meta


def _lists_answers(name: str) -> bool:
    """Whether a name is `correct answers`, `incorrect answers` or similar."""
    return split_column_name(name)[-1:] == ("answers",) and len(split_column_name(name)) > 1


def _names_wrong_answers(name: str) -> bool:
    hint = suggest_role(name)
    return hint is not None and hint.role == "distractor"


def _split_answers(value: Any) -> list[str]:
    return [answer.strip() for answer in to_text(value).split(";") if answer.strip()]
