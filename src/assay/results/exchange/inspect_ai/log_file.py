"""Opening inspect_ai logs: `.eval` archives and `.json` files, one sample at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from assay.core.errors import listing
from assay.core.origin import Origin
from assay.results.exchange.inspect_ai.schema import (
    LOG_VERSION,
    PROGRAM,
    Header,
    Reduction,
    Sample,
    SampleKey,
)
from assay.results.exchange.json_spans import Buffer, Place, SpanError, find_members, iter_items, mapping_file
from assay.results.exchange.log_files import (
    LogArchive,
    build_damaged_log_error,
    build_log_error,
    decode_json,
    opening_archive,
)
from assay.results.exchange.typed_json import TypedReader

SUFFIXES = (".eval", ".json")
_HEADER = "header.json"
_START = "_journal/start.json"
_REDUCTIONS = "reductions.json"
_SAMPLES = "samples/"
_EPOCH = "_epoch_"
_PARTS = ("version", "status", "eval", "plan", "results", "stats", "error", "invalidated")

_headers = TypedReader(Header, PROGRAM)
_samples = TypedReader(Sample, PROGRAM)
_keys = TypedReader(SampleKey, PROGRAM)
_reductions = TypedReader(list[Reduction], PROGRAM)


class OpenLog(Protocol):
    """A log whose samples can be read in any order."""

    path: Path
    header: Header

    def list_epochs(self) -> Mapping[str, Sequence[Any]]:
        """Return where the epochs of each sample are, by the sample's id."""

    def read_sample(self, where: Any) -> Sample:
        """Return one epoch of a sample."""

    def reductions(self) -> Sequence[Reduction]:
        """Return the values of samples after their epochs were reduced."""


class EvalArchive:
    """An `.eval` log: a zip archive with one member per sample and epoch."""

    def __init__(self, archive: LogArchive) -> None:
        self.path = archive.path
        self._archive = archive
        name = _HEADER if _HEADER in archive else _START
        if name not in archive:
            raise build_log_error(
                "LOG-003",
                f"the archive has neither {_HEADER} nor {_START}, so it is not an inspect_ai log or not a "
                "whole one",
                "copy the file again, or name the .eval file that inspect_ai wrote",
                self.path,
            )
        self.header = check_version(_headers.read(archive.read(name), self._place(name)), self._place(name))

    def list_epochs(self) -> Mapping[str, Sequence[str]]:
        """Return the names of the members of each sample, by its id."""
        found: dict[str, list[str]] = {}
        for name in self._archive.names:
            if name.startswith(_SAMPLES) and name.endswith(".json"):
                id_ = name.removeprefix(_SAMPLES).removesuffix(".json").rpartition(_EPOCH)[0]
                found.setdefault(id_, []).append(name)
        return {id_: sorted(names, key=_number_epoch) for id_, names in found.items()}

    def read_sample(self, where: str) -> Sample:
        """Return one epoch of a sample."""
        return _samples.read(self._archive.read(where), self._place(where))

    def reductions(self) -> Sequence[Reduction]:
        """Return the reduced values; empty if the log was not finished."""
        if _REDUCTIONS not in self._archive:
            return []
        return _reductions.read(self._archive.read(_REDUCTIONS), self._place(_REDUCTIONS))

    def _place(self, name: str) -> Origin:
        return Origin(f"{self.path}!{name}")


class JsonLog:
    """A `.json` log. Its samples are found without decoding the file as a whole."""

    def __init__(self, path: Path, buffer: Buffer) -> None:
        self.path = path
        self._buffer = buffer
        try:
            self._members = find_members(buffer)
            parts = {name: self._decode(name) for name in _PARTS if name in self._members}
        except SpanError as error:
            raise build_damaged_log_error(error, path) from error
        if "eval" not in parts:
            raise build_log_error(
                "LOG-003",
                "the file has no `eval`, so it is not an inspect_ai log",
                "name the .json log that inspect_ai wrote",
                path,
            )
        self.header = check_version(_headers.convert(parts, path), path)

    def list_epochs(self) -> Mapping[str, Sequence[Place]]:
        """Return the places of the epochs of each sample, by its id."""
        found: dict[str, list[tuple[int, Place]]] = {}
        place = self._members.get("samples")
        if place is None or self._buffer[place.start : place.end] == b"null":
            return {}
        try:
            for item in iter_items(self._buffer, place):
                key = _keys.read(self._buffer[item.start : item.end], self._origin(item))
                found.setdefault(str(key.id), []).append((key.epoch, item))
        except SpanError as error:
            raise build_damaged_log_error(error, self.path) from error
        return {id_: [item for _, item in sorted(places)] for id_, places in found.items()}

    def read_sample(self, where: Place) -> Sample:
        """Return one epoch of a sample."""
        return _samples.read(self._buffer[where.start : where.end], self._origin(where))

    def reductions(self) -> Sequence[Reduction]:
        """Return the reduced values; empty if the log was not finished."""
        value = self._decode("reductions") if "reductions" in self._members else None
        if value is None and isinstance(results := self._decode("results"), dict):
            value = results.get("sample_reductions")
        return _reductions.convert(value or [], self.path)

    def _decode(self, name: str) -> Any:
        place = self._members.get(name)
        if place is None:
            return None
        return decode_json(self._buffer[place.start : place.end], self._origin(place))

    def _origin(self, place: Place) -> Origin:
        line = self._buffer[: place.start].count(b"\n") + 1 if place.start < 1 << 20 else None
        return Origin(str(self.path), line=line)


@contextmanager
def opening_log(path: Path) -> Iterator[OpenLog]:
    """Yield a log, by its content rather than its name."""
    with open(path, "rb") as file:
        is_archive = file.read(4) == b"PK\x03\x04"
    if is_archive or path.suffix == ".eval":
        with opening_archive(path) as archive:
            yield EvalArchive(archive)
    else:
        with mapping_file(path) as buffer:
            yield JsonLog(path, buffer)


def check_version(header: Header, place: Origin | Path) -> Header:
    """Return a header; raise for a version that Assay does not know."""
    if not 1 <= header.version <= LOG_VERSION:
        known = listing([str(number) for number in range(1, LOG_VERSION + 1)])
        raise build_log_error(
            "LOG-011",
            f"the log has version {header.version} of inspect_ai's format, and Assay reads {known}",
            "update Assay, or write the log with an older inspect_ai",
            place,
        )
    return header


def _number_epoch(name: str) -> int:
    number = name.removesuffix(".json").rpartition(_EPOCH)[2]
    return int(number) if number.isdecimal() else 0
