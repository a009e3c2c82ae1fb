"""Shapes of tables that are not plain columns, recognised before the columns are read."""

from __future__ import annotations

from itertools import islice
from typing import Any

import msgspec

from assay.core.errors import PlanError, Problem
from assay.core.origin import Origin
from assay.core.task import ComponentSpec, TaskSettings
from assay.dialects.table.chat_rows import ChatSource, read_chat_rows
from assay.dialects.table.eval_rows import build_eval_scorer, read_eval_rows
from assay.dialects.table.inspect_rows import check_inspect, read_inspect
from assay.dialects.table.meta import TableMeta
from assay.dialects.table.promptfoo_rows import EXPECTED, PromptfooSource, read_promptfoo
from assay.dialects.table.readings import AmbiguousTableError
from assay.sources.source import Source

_SAMPLED_ROWS = 100
"""Rows by which a shape is recognised; every row is checked afterwards."""


def read_shape(
    source: Source, said: TableMeta, notes: list[str], settings: TaskSettings
) -> tuple[Source, TableMeta]:
    """Return a table as rows of plain columns, and all that is said about it.

    The rows are checked as they are walked. What a person says wins over what a shape implies. A faithful run
    infers nothing: only a shape that the person names is read.
    """
    if said.eval_task is not None:
        return read_eval_rows(source, said, said.eval_task, notes, settings.seed)
    if settings.is_faithful and said.messages_column is None:
        return source, said
    check_inspect(source)
    # Read once for all shapes: a document of JSON is loaded whole each time.
    sample = [record.fields for record in islice(source.records(), _SAMPLED_ROWS)]
    for read in (read_promptfoo, read_chat_rows, read_inspect):
        try:
            found = read(source, said, sample, notes)
        except AmbiguousTableError:
            if settings.is_scored:
                raise
            # Answers that are only collected need no right ones.
            found = read(source, msgspec.structs.replace(said, no_answers=True), sample, notes)
        if found is not None:
            return found
    return source, said


def check_shape(said: TableMeta, settings: TaskSettings, path: str) -> None:
    """Raise where a setting cannot be applied to the shape of a table."""
    if said.output_column == EXPECTED and settings.shots:
        what = f"{settings.shots} shots are asked for, but assertions say no right answer that could be shown"
        fix = "remove --shots, or name a column of right answers: --answer-column NAME"
        raise PlanError(Problem("TABLE-034", what, fix, Origin(path)))
    if said.messages_column is not None and settings.shots:
        what = (
            f"{settings.shots} shots are asked for, but each row holds a whole conversation "
            f"(column {said.messages_column!r}): where examples belong in it is not known"
        )
        fix = "remove --shots, or write the examples into the conversations as earlier turns"
        raise PlanError(Problem("TABLE-032", what, fix, Origin(path)))


def build_shape_settings(source: Source) -> dict[str, Any]:
    """Return what the manifest and the plan must know about a shape beyond what is said."""
    return source.media_settings() if isinstance(source, ChatSource) else {}


def build_shape_scorer(source: Source, said: TableMeta) -> ComponentSpec | None:
    """Return what scores written answers to a shape; None: they are compared with the right answer."""
    if said.eval_task is not None:
        return build_eval_scorer(said.eval_task)
    if isinstance(source, PromptfooSource):
        return ComponentSpec("assertions", {"track": "gen", "judged": source.needs_judge})
    return None


def list_shape_notes(source: Source, said: TableMeta) -> list[str]:
    """Say what all rows of a shape showed, and which settings have no effect on it."""
    notes = source.list_row_notes() if isinstance(source, ChatSource | PromptfooSource) else []
    if said.match is not None and build_shape_scorer(source, said) is not None:
        decides = "the scorers of eval.yaml decide" if said.eval_task else "the assertions decide"
        notes.append(f"match {said.match!r} has no effect: {decides}")
    return notes
