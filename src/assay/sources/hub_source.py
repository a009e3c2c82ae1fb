"""The rows of a split of a dataset on the hub, read from cached Arrow files or streamed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import Any

from assay.core.errors import AuthorError, Problem
from assay.core.ids import digest
from assay.core.media import Medium
from assay.core.origin import Origin
from assay.sources.arrow import ArrowSource
from assay.sources.faults import build_no_rows_error
from assay.sources.feature_types import read_label_names, read_media_columns
from assay.sources.hub_dataset import HubDataset
from assay.sources.hub_name import HubName, parse_hub_name
from assay.sources.hub_reads import note_read
from assay.sources.media_files import format_media_address
from assay.sources.record import Record
from assay.sources.source import Report, Source
from assay.sources.stored_file import HASH_BYTES

_ROWS_AT_ONCE = 1024
_streams = ContextVar("streams", default=False)


@contextmanager
def streaming(streams: bool = True) -> Iterator[None]:
    """Stream the datasets that are opened inside the block instead of storing them."""
    before = _streams.set(streams)
    try:
        yield
    finally:
        _streams.reset(before)


def is_streaming() -> bool:
    """Return whether datasets are streamed even if the disk has space for them."""
    return _streams.get()


def open_split(address: str) -> Source:
    """Return the source for `hf://NAME:CONFIG@COMMIT#SPLIT`. Downloads the split if it is not cached.

    Streams a split that does not fit on the disk.
    """
    name = parse_hub_name(address)
    if name is None or not name.is_pinned or name.config is None or name.split is None:
        what = "not the address of a split on the hub with its commit"
        fix = "write hf://ORG/NAME:CONFIG@COMMIT#SPLIT"
        raise AuthorError(Problem("HUB-002", what, fix, Origin(address)))
    dataset = HubDataset.find_pinned(name)
    note_read(name)
    if not dataset.has_table(name.config, name.split) and (
        is_streaming() or not dataset.has_disk_space(name.config, name.split)
    ):
        return HubStream(name, dataset)
    return HubTable(name, dataset)


class HubSource(Source):
    """A split of a dataset on the hub at one commit."""

    def __init__(self, name: HubName) -> None:
        super().__init__(str(name))
        self.name = name

    @property
    @abstractmethod
    def label_names(self) -> Mapping[str, tuple[str, ...]]:
        """The names of integer labels, as declared by the dataset's features."""

    def content_hash(self) -> str:
        """Return a hash of the name on the hub: the rows at a commit never change."""
        return digest(tuple(self.name), size=HASH_BYTES)


class HubTable(HubSource):
    """Rows in cached Arrow files, read in parts."""

    def __init__(self, name: HubName, dataset: HubDataset) -> None:
        super().__init__(name)
        assert name.config is not None
        assert name.split is not None
        self._parts = tuple(map(ArrowSource, dataset.tables(name.config, name.split)))

    def _read(self, report: Report) -> Iterator[Record]:
        row = 0
        for part in self._parts:
            for record in part._read(report):
                row += 1
                yield Record(record.fields, Origin(self.path, row))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names in the schema."""
        return self._parts[0].columns

    @property
    def label_names(self) -> Mapping[str, tuple[str, ...]]:
        """The names of integer labels, as declared by the dataset's features."""
        return self._parts[0].label_names

    @property
    def media_columns(self) -> Mapping[str, Medium]:
        """The columns that the features declare as media."""
        return self._parts[0].media_columns


class HubStream(HubSource):
    """Rows fetched from the hub whenever they are read, and never stored."""

    def __init__(self, name: HubName, dataset: HubDataset) -> None:
        super().__init__(name)
        self._dataset = dataset

    @cached_property
    def _features(self) -> Any:
        with self._dataset.streaming_rows(self.name) as rows:
            return rows.features or rows._resolve_features().features

    def _read(self, report: Report) -> Iterator[Record]:
        row = 0
        media = self.media_columns
        with self._dataset.streaming_rows(self.name) as rows:
            for table in rows.with_format("arrow").iter(_ROWS_AT_ONCE):
                for fields in table.to_pylist():
                    row += 1
                    for column, medium in media.items():
                        fields[column] = format_media_address(fields[column], medium)
                    yield Record(fields, Origin(self.path, row))
        if not row:
            raise build_no_rows_error(self.path, f"{len(self.columns)} columns and no rows")

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(self._features)

    @property
    def label_names(self) -> Mapping[str, tuple[str, ...]]:
        """The names of integer labels, as declared by the dataset's features."""
        return read_label_names(self._features.to_dict())

    @property
    def media_columns(self) -> Mapping[str, Medium]:
        """The columns that the features declare as media."""
        return read_media_columns(self._features.to_dict())
