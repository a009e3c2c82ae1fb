"""Open a data file. Maps file suffixes to formats."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from assay.core.errors import AuthorError, Problem, listing, suggest_name
from assay.core.origin import Origin
from assay.core.python_objects import is_python_name
from assay.sources.arrow import ArrowSource, ParquetSource
from assay.sources.delimited import DelimitedSource
from assay.sources.faults import build_damaged_error, build_no_rows_error
from assay.sources.file_names import require_text
from assay.sources.file_settings import WORKBOOK_SETTINGS, FileReading, FileSettings, UndecidedFile
from assay.sources.json_file import JsonSource
from assay.sources.jsonl import JsonLinesSource
from assay.sources.shards import ShardedSource, Shards, find_shards
from assay.sources.source import Source
from assay.sources.stored_file import StoredFile
from assay.sources.stream import PACKERS, ZIP_FAULTS, StoredText
from assay.sources.text_source import PlainTextSource, TextSource
from assay.sources.yaml_file import YamlSource

_TEXT: dict[str, Callable[[StoredText, FileSettings | None], TextSource]] = {
    ".csv": lambda stored, settings: DelimitedSource(stored, ",", settings),
    ".tsv": lambda stored, settings: DelimitedSource(stored, "\t", settings),
    ".json": JsonSource,
    ".jsonl": JsonLinesSource,
    ".ndjson": JsonLinesSource,
    ".txt": PlainTextSource,
}
_OTHERS: dict[str, Callable[[str], Source]] = {
    ".parquet": ParquetSource,
    ".arrow": ArrowSource,
    ".feather": ArrowSource,
    ".ipc": ArrowSource,
    ".yaml": YamlSource,
    ".yml": YamlSource,
}
_WORKBOOKS = (".xlsx", ".xlsm", ".ods")
_OLD_WORKBOOKS = (".xls", ".xlsb")
_ARCHIVE = ".zip"
_LISTED_TABLES = 12
SUFFIXES = (
    *_TEXT,
    *_OTHERS,
    *_WORKBOOKS,
    *(suffix + packer for packer in PACKERS for suffix in _TEXT),
)
"""Every suffix that can be read, except the archive's."""
SUFFIX_LIST = (
    f"{', '.join((*_TEXT, *_OTHERS, *_WORKBOOKS))}; text formats also packed as"
    f" {', '.join((*PACKERS, _ARCHIVE))}"
)
"""The supported suffixes, for messages."""


def open_source(path: str | Path, settings: FileSettings | None = None) -> Source:
    """Return the source for a file by its suffix, for `hf://NAME:CONFIG@COMMIT#SPLIT` or for `python:NAME`.

    Checks that the file exists, but reads nothing yet. With settings, everything they leave open is inferred
    from the file. Without settings, the suffix alone decides.
    """
    place = Path(path)
    name = str(path)
    require_text(name)
    if is_python_name(name):
        from assay.sources.python_rows import open_rows

        _require_settings(settings, name, "data of a Python program", frozenset())
        return open_rows(name)
    if name.startswith("hf://"):
        # Imported here: reading a file does not need the hub.
        from assay.sources.hub_source import open_split

        _require_settings(settings, name, "a dataset on the hub", frozenset())
        return open_split(name)
    if (shards := _shards(place)) is not None:
        parts = [open_source(path, settings) for path in shards.paths]
        return ShardedSource(name, parts, shards.n_expected)
    _require_file(place, name)
    archived = place.suffix.lower() == _ARCHIVE
    suffix = find_suffix(place.name)
    if suffix is None and not archived:
        raise AuthorError(_build_unknown_problem(place, name))
    if place.stat().st_size == 0:
        raise build_no_rows_error(name, "zero bytes")
    if suffix is None:
        return _open_member(StoredFile(name), settings)
    if suffix in _OTHERS:
        _require_settings(settings, name, f"a {suffix} file", frozenset())
        return _OTHERS[suffix](name)
    if suffix in _WORKBOOKS:
        from assay.sources.workbook import WorkbookSource

        _require_settings(settings, name, "a workbook", WORKBOOK_SETTINGS)
        return WorkbookSource(name, settings)
    return _open_text(StoredText(StoredFile(name)), suffix, settings)


def select_settings(path: str | Path, settings: FileSettings) -> FileSettings:
    """Return the settings that also apply to another file, such as one with examples: all but `sheet`."""
    suffix = None if is_python_name(str(path)) else find_suffix(Path(path).name)
    known: frozenset[str] = frozenset()
    if suffix in _WORKBOOKS:
        known = WORKBOOK_SETTINGS
    elif suffix is not None and suffix not in _OTHERS:
        known = _open_text(StoredText(StoredFile(str(path))), suffix, None).understands
    return settings.only(known - {"sheet"})


def find_suffix(name: str) -> str | None:
    """Return the suffix, such as `.jsonl.gz`, that determines how to read a file; None if not supported."""
    lowered = name.lower()
    # At most one fits: no suffix is the end of another.
    return next((suffix for suffix in SUFFIXES if lowered.endswith(suffix)), None)


def _open_text(stored: StoredText, suffix: str, settings: FileSettings | None) -> TextSource:
    packer = next((packer for packer in PACKERS if suffix.endswith(packer)), "")
    source = _TEXT[suffix.removesuffix(packer)](stored, settings)
    _require_settings(settings, stored.path, source.kind, source.understands)
    return source


def _require_settings(settings: FileSettings | None, path: str, kind: str, known: frozenset[str]) -> None:
    if settings is not None:
        settings.require_known(path, kind, known)


def _open_member(file: StoredFile, settings: FileSettings | None) -> Source:
    """Return the source for the only data file in a zip archive, or for the one that --sheet names."""
    path = file.path
    try:
        with zipfile.ZipFile(file.open()) as archive:
            entries = {entry.filename: entry for entry in archive.infolist() if not entry.is_dir()}
    except ZIP_FAULTS as error:
        raise build_damaged_error(path, "zip", error) from None
    readable = {name: suffix for name in entries if (suffix := _text_suffix(name)) is not None}
    chosen = settings.sheet if settings is not None else None
    if chosen is not None and chosen not in readable:
        what = f"the archive contains no data file {chosen!r}{suggest_name(chosen, readable)}"
        raise AuthorError(Problem("SOURCE-016", what, f"use one of {listing(readable)}", Origin(path)))
    if not readable:
        what = f"the archive contains no readable text file, only {listing(entries) or 'no files'}"
        raise AuthorError(
            Problem("SOURCE-016", what, "unpack it and pass the path of a data file", Origin(path))
        )
    if chosen is None and len(readable) > 1:
        what = f"the archive contains {len(readable)} data files: {listing(readable)}"
        readings = [
            FileReading(f"{entries[name].file_size:,} bytes", FileSettings(sheet=name))
            for name in list(readable)[:_LISTED_TABLES]
        ]
        raise UndecidedFile("SOURCE-016", what, readings, Origin(path))
    member = next(iter(readable)) if chosen is None else chosen
    if entries[member].flag_bits & 1:
        what = f"{member!r} in the archive is password-protected"
        raise AuthorError(
            Problem("SOURCE-011", what, "unpack it and pass the path of the data file", Origin(path))
        )
    if settings is not None:
        settings = msgspec.structs.replace(settings, sheet=None)
    return _open_text(StoredText(file, member), readable[member], settings)


def _text_suffix(name: str) -> str | None:
    """Return the suffix of a data file in an archive; None for metadata that archivers add."""
    parts = Path(name).parts
    if any(part.startswith((".", "__MACOSX")) for part in parts) or ".meta." in parts[-1]:
        return None
    return next((suffix for suffix in _TEXT if name.lower().endswith(suffix)), None)


def _shards(place: Path) -> Shards | None:
    """Return the shards of one table in a folder; None if it is not a folder or has other files."""
    try:
        inside = sorted(place.iterdir()) if place.is_dir() else []
    except PermissionError:
        return None
    files = [path for path in inside if path.is_file() and not path.name.startswith((".", "_"))]
    suffixes = {path: suffix for path in files if (suffix := find_suffix(path.name)) is not None}
    return find_shards(suffixes)


def _require_file(place: Path, name: str) -> None:
    try:
        if not place.exists():
            raise AuthorError(_build_missing_problem(place, name))
        if place.is_dir():
            raise AuthorError(_build_directory_problem(place, name))
    except PermissionError as error:
        what = f"cannot read the folder of the file: {error.strerror}"
        fix = "check your read permission"
        raise AuthorError(Problem("SOURCE-001", what, fix, Origin(name))) from None


def _build_unknown_problem(place: Path, name: str) -> Problem:
    if place.suffix.lower() in _OLD_WORKBOOKS:
        what = f"{place.suffix} workbooks are not supported: their readers silently drop error values"
        fix = "save the file as .xlsx, .ods or .csv"
        return Problem("SOURCE-002", what, fix, Origin(name))
    reason = f"its suffix is {place.suffix!r}" if place.suffix else "its name has no suffix"
    if place.suffix.lower() in PACKERS:
        reason = f"the name inside {place.suffix.lower()} is {place.stem!r}"
    what = f"unknown file format: {reason}; supported are {SUFFIX_LIST}"
    fix = "convert the file to one of these, or rename it if it is one already"
    return Problem("SOURCE-002", what, fix, Origin(name))


def _build_missing_problem(place: Path, name: str) -> Problem:
    if place.is_symlink():
        what = f"this is a link to {os.readlink(place)!r}, which does not exist"
        return Problem("SOURCE-001", what, "fix the link, or pass the path of the file itself", Origin(name))
    folder = place.parent
    if not folder.is_dir():
        while not folder.exists():
            folder = folder.parent
        what = f"no such file; {str(place.parent)!r} is not a folder; the path exists up to {str(folder)!r}"
        return Problem("SOURCE-001", what, "check the path", Origin(name))
    others = sorted(other.name for other in folder.iterdir() if other.exists())
    what = f"no such file{suggest_name(place.name, others)}"
    if not suggest_name(place.name, others):
        what += f"; the folder contains {listing(others)}" if others else "; the folder is empty"
    return Problem("SOURCE-001", what, "check the path", Origin(name))


def _build_directory_problem(place: Path, name: str) -> Problem:
    inside = sorted(other.name + "/" * other.is_dir() for other in place.iterdir())
    readable = [entry for entry in inside if find_suffix(entry)]
    what = f"this is a folder, not a file; it contains {listing(readable or inside) or 'nothing'}"
    return Problem("SOURCE-001", what, "pass the path of one file in it", Origin(name))
