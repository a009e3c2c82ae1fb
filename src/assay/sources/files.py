"""From a path to a source: the one place that knows which suffix means which format."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from assay.core.errors import AuthorError, Problem, listing, nearest
from assay.core.origin import Origin
from assay.sources.arrow import ArrowSource, ParquetSource
from assay.sources.delimited import DelimitedSource
from assay.sources.faults import no_rows
from assay.sources.file_names import require_text
from assay.sources.json_file import JsonSource
from assay.sources.jsonl import JsonLinesSource
from assay.sources.plain_text import PlainTextSource
from assay.sources.source import Source

_TEXT: dict[str, Callable[[str], Source]] = {
    ".csv": lambda path: DelimitedSource(path, ","),
    ".tsv": lambda path: DelimitedSource(path, "\t"),
    ".json": JsonSource,
    ".jsonl": JsonLinesSource,
    ".ndjson": JsonLinesSource,
    ".txt": PlainTextSource,
}
_FORMATS: dict[str, Callable[[str], Source]] = {
    **_TEXT,
    **{suffix + ".gz": make for suffix, make in _TEXT.items()},
    ".parquet": ParquetSource,
    ".arrow": ArrowSource,
    ".feather": ArrowSource,
    ".ipc": ArrowSource,
}
SUFFIXES = tuple(_FORMATS)
"""Every suffix that can be read, in the order in which errors list them."""


def open_source(path: str | Path) -> Source:
    """Return the source for a file, by its suffix. Reads nothing yet but makes sure that it is there."""
    place = Path(path)
    name = str(path)
    require_text(name)
    try:
        if not place.exists():
            raise AuthorError(_missing(place, name))
        if place.is_dir():
            raise AuthorError(_directory(place, name))
    except PermissionError as error:
        what = f"the folder of the file cannot be looked into: {error.strerror}"
        fix = "check your rights to read it"
        raise AuthorError(Problem("SOURCE-001", what, fix, Origin(name))) from None
    suffix = known_suffix(place.name)
    if suffix is None:
        found = f"its suffix is {place.suffix!r}" if place.suffix else "its name has no suffix"
        if place.suffix.lower() == ".gz":
            found = f"the name inside .gz is {place.stem!r}"
        what = f"the format of the file is not known: {found}; known are {', '.join(SUFFIXES)}"
        fix = "convert the file to one of these, or rename it if it is one already"
        raise AuthorError(Problem("SOURCE-002", what, fix, Origin(name)))
    if place.stat().st_size == 0:
        raise no_rows(name, "zero bytes")
    return _FORMATS[suffix](name)


def known_suffix(name: str) -> str | None:
    """Return the suffix, such as `.jsonl.gz`, by which a file of this name is read; None if by none."""
    lowered = name.lower()
    # Only one can fit: no suffix is the end of another one.
    return next((suffix for suffix in SUFFIXES if lowered.endswith(suffix)), None)


def _missing(place: Path, name: str) -> Problem:
    if place.is_symlink():
        what = f"this is a link to {os.readlink(place)!r}, which is not there"
        return Problem("SOURCE-001", what, "correct the link, or name the file itself", Origin(name))
    folder = place.parent
    if not folder.is_dir():
        while not folder.exists():
            folder = folder.parent
        what = f"no such file; {str(place.parent)!r} is not a folder, the path exists up to {str(folder)!r}"
        return Problem("SOURCE-001", what, "check the path", Origin(name))
    others = sorted(other.name for other in folder.iterdir() if other.exists())
    what = f"no such file{nearest(place.name, others)}"
    if not nearest(place.name, others):
        what += f"; the folder holds {listing(others)}" if others else "; the folder is empty"
    return Problem("SOURCE-001", what, "check the path", Origin(name))


def _directory(place: Path, name: str) -> Problem:
    inside = sorted(other.name + "/" * other.is_dir() for other in place.iterdir())
    readable = [entry for entry in inside if known_suffix(entry)]
    what = f"this is a folder, not a file; it holds {listing(readable or inside) or 'nothing'}"
    return Problem("SOURCE-001", what, "name one file in it", Origin(name))
