"""Rows in the standard format: `passage`, `question`, `target_scores`, `answer`, and any other fields.

`target_scores` maps each option's text to 1 or 0; the order of its keys determines the letters of the
options. It is empty or missing for a free answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import Problem, Problems
from assay.core.ids import digest
from assay.core.origin import Origin
from assay.dialects.shared.choices import build_labels
from assay.dialects.shared.row_names import name_rows
from assay.sources.files import open_source
from assay.sources.record import Record

OPTIONS = "target_scores"


class Row(NamedTuple):
    """One checked row."""

    id: str
    fields: Mapping[str, Any]
    origin: Origin
    choices: tuple[str, ...]
    gold: tuple[int, ...]
    """Indexes of the right options."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the letters of the options."""
        return build_labels(len(self.choices))


class StandardRows(NamedTuple):
    """The rows of a file."""

    rows: Sequence[Row]
    data_hash: str

    @classmethod
    def read(cls, path: Path, *, needs_options: bool = False) -> StandardRows:
        """Read a file; raise an AuthorError with the problems of all invalid rows.

        `needs_options`: every row must have options, and a right one.
        """
        source = open_source(path)
        source.check()
        records = list(source.records())
        problems = Problems()
        ids = name_rows([digest(record.fields) for record in records])
        rows = [_row(*pair, problems, needs_options) for pair in zip(ids, records, strict=True)]
        problems.raise_if_any()
        return cls(rows, source.content_hash())


def _row(row_id: str, record: Record, problems: Problems, needs_options: bool) -> Row:
    scores = record.fields.get(OPTIONS)
    if not scores and scores != 0:
        if needs_options:
            problems.add(_build_no_options_problem(record))
        return Row(row_id, record.fields, record.origin, (), ())
    problem = _find_score_fault(scores)
    if problem is not None:
        problems.add(Problem("ULTRAEVAL-006", *problem, record.origin.at(OPTIONS)))
        return Row(row_id, record.fields, record.origin, (), ())
    gold = tuple(index for index, value in enumerate(scores.values()) if value > 0)
    if needs_options and not gold:
        what = f"no option is right: found {scores!r:.120}, expected 1 for at least one option"
        problems.add(
            Problem("ULTRAEVAL-006", what, "give the right option the value 1", record.origin.at(OPTIONS))
        )
    return Row(row_id, record.fields, record.origin, tuple(scores), gold)


def _find_score_fault(scores: Any) -> tuple[str, str] | None:
    """Return what is wrong with the options, and the fix."""
    fix = 'write {"first option": 1, "second option": 0}, in the order of their letters'
    if not isinstance(scores, Mapping):
        return f"found {scores!r:.80}, expected an object of option texts and 1 or 0", fix
    for text, value in scores.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return f"option {text!r:.60} has the value {value!r:.40}, expected 1 or 0", fix
    return None


def _build_no_options_problem(record: Record) -> Problem:
    found = repr(record.fields[OPTIONS]) if OPTIONS in record.fields else "none"
    what = f"the method compares options, but the row has none: found {found}"
    fix = f'add "{OPTIONS}": {{"option": 1, ...}} to the row, or use --method gen'
    return Problem("ULTRAEVAL-006", what, fix, record.origin.at(OPTIONS))
