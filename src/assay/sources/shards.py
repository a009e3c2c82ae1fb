"""A folder whose files are shards of one table, read one after the other. Independent of file formats."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from assay.core.errors import AuthorError, Problem, listing
from assay.core.media import Medium
from assay.core.origin import Origin
from assay.sources.record import Record
from assay.sources.source import Report, Source
from assay.sources.stored_file import HASH_BYTES

SHARD = re.compile(r"-\d{5}-of-(\d{5})$")
"""The suffix of a shard's name: its number and the number of shards."""
_PART = re.compile(r"part-\d{5}(?:-[\w-]+)?")
"""Names of the files that Spark writes into a folder."""


class Shards(NamedTuple):
    """The shards of one table in a folder."""

    paths: tuple[Path, ...]
    n_expected: int
    """The number of shards according to their names."""


def find_shards(paths: Mapping[Path, str]) -> Shards | None:
    """Return files as the shards of one table, in order; None unless their names say so.

    `paths`: the data files of a folder, with their format suffixes.
    """
    stems = {path: path.name[: -len(suffix)] for path, suffix in paths.items()}
    ordered = tuple(sorted(paths, key=lambda path: path.name))
    marks = [SHARD.search(stem) for stem in stems.values()]
    tables = {
        (stem[: mark.start()], mark[1], paths[path])
        for (path, stem), mark in zip(stems.items(), marks, strict=True)
        if mark is not None
    }
    if len(tables) == 1 and all(marks):
        return Shards(ordered, int(next(iter(tables))[1]))
    # Spark puts the compression into the name: part-00000-<id>-c000.snappy.parquet.
    if paths and all(_PART.fullmatch(stem.split(".")[0]) for stem in stems.values()):
        return Shards(ordered, len(ordered)) if len(set(paths.values())) == 1 else None
    return None


class ShardedSource(Source):
    """The rows of several files with the same columns, numbered consecutively."""

    def __init__(self, path: str, parts: Sequence[Source], n_expected: int) -> None:
        super().__init__(path)
        self._parts = tuple(parts)
        if len(parts) < n_expected:
            what = f"the folder has {len(parts)} of {n_expected} shards"
            raise AuthorError(Problem("SOURCE-010", what, "add the missing shards", Origin(path)))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of the first shard, which all others must share."""
        first = self._parts[0]
        for other in self._parts[1:]:
            if set(other.columns) != set(first.columns):
                what = f"the columns are {listing(other.columns)}, but those of {first.path!r} are "
                what += listing(first.columns)
                fix = "give all shards the same columns, or pass the path of one file"
                raise AuthorError(Problem("SOURCE-009", what, fix, Origin(other.path)))
        return first.columns

    @property
    def label_names(self) -> Mapping[str, tuple[str, ...]]:
        """The names of integer labels in the first shard."""
        return self._parts[0].label_names

    @property
    def media_columns(self) -> Mapping[str, Medium]:
        """The columns that the first shard declares as media."""
        return self._parts[0].media_columns

    @property
    def has_decimal_comma(self) -> bool:
        """Whether all shards use a decimal comma."""
        return all(part.has_decimal_comma for part in self._parts)

    @property
    def notes(self) -> tuple[str, ...]:
        """The number of shards, and what was inferred about the first one."""
        return (f"the table has {len(self._parts)} shards", *self._parts[0].notes)

    def _read(self, report: Report) -> Iterator[Record]:
        row = 0
        _ = self.columns
        for part in self._parts:
            for record in part._read(report):
                row += 1
                yield Record(record.fields, Origin(self.path, row))

    def content_hash(self) -> str:
        """Return a hash of the hashes of all shards."""
        whole = hashlib.blake2b(digest_size=HASH_BYTES)
        for part in self._parts:
            whole.update(part.content_hash().encode())
        return whole.hexdigest()
