"""Tables of inspect samples: `input`, `target`, `choices`, `id`, `metadata`.

This module reads samples whose `input` is a text; chat_rows.py reads those with a list of messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.errors import AuthorError, Problem
from assay.dialects.shared.messages import parse_value
from assay.dialects.table.meta import TableMeta
from assay.dialects.table.row_adapters import AdaptedSource, RowProblem
from assay.sources.record import Record
from assay.sources.source import Source

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
    return shaped, given.over(implied)


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
