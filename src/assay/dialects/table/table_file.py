"""The file of a table: opening it, and what makes it unusable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.core.errors import AuthorError, PlanError, Problem
from assay.core.origin import Origin
from assay.core.sizes import format_size
from assay.core.task import TaskSettings
from assay.dialects.table.meta import TableMeta
from assay.sources.file_settings import FileSettings
from assay.sources.files import open_source
from assay.sources.json_file import JsonSource
from assay.sources.source import Source

_LARGE_DOCUMENT = 100_000_000
"""Bytes from which on a note says that a JSON document is read into memory."""


def open_table(path: str, file: FileSettings, settings: TaskSettings) -> Source:
    """Open the file of a table, or of its examples. The survey checks every row.

    Missing file settings are inferred, except in a faithful run: the original infers nothing.
    """
    source = open_source(path, None if settings.is_faithful and not file.list_given() else file)
    # Reads the header. JSON files have none: reading the names of all fields checks every row.
    _ = source.columns
    return source


@contextmanager
def report_bad_rows(source: Source) -> Iterator[None]:
    """If the block fails, first report all rows that cannot be read: they may be the reason."""
    try:
        yield
    except AuthorError:
        source.check()
        raise


def list_document_notes(source: Source) -> list[str]:
    """Return a note if the source is a large JSON document, which cannot be streamed."""
    if not isinstance(source, JsonSource) or (size := Path(source.path).stat().st_size) < _LARGE_DOCUMENT:
        return []
    return [f"the .json file ({format_size(size)}) is read into memory; JSON lines (.jsonl) are streamed"]


def check_media(source: Source, meta: TableMeta) -> list[str]:
    """Raise if rows contain media, which a table's prompt cannot show; only note it for a custom prompt."""
    if not source.media_columns:
        return []
    column, medium = next(iter(source.media_columns.items()))
    what = f"the column contains {medium} files, which the prompt of a table cannot show"
    if meta.template or meta.human_prompt:
        return [f"{column}: {what}"]
    fix = (
        "write a config with a media template (docs/formats/openicl.md); to use the text only, "
        "give a template, such as --template '{question}'"
    )
    raise PlanError(Problem("HUB-014", what, fix, Origin(source.path, column=column)))
