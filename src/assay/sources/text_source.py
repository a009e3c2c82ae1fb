"""Base class of text files: storage, compression and encoding."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from io import BufferedReader

from assay.core.origin import Origin
from assay.sources.encoding import require_encoding
from assay.sources.faults import build_no_rows_error
from assay.sources.file_settings import FileSettings
from assay.sources.record import Record
from assay.sources.source import Report, Source
from assay.sources.stream import StoredText, find_marked_encoding, reading


class TextSource(Source):
    """A text file, plain or packed, in UTF-8 or in the encoding of its byte order mark or --encoding."""

    kind: str
    """The name of the format in messages."""
    understands = frozenset({"encoding"})
    """The settings that this format supports."""

    def __init__(self, stored: StoredText, settings: FileSettings | None = None) -> None:
        super().__init__(stored.file)
        self.settings = settings
        """None: infer nothing, the suffix alone decides."""
        encoding = settings.encoding if settings is not None else None
        if encoding is not None:
            require_encoding(stored.path, encoding)
        self.stored = stored if encoding is None else stored._replace(encoding=encoding)

    def _open_bytes(self, *, whole: bool = False) -> AbstractContextManager[BufferedReader]:
        return reading(self.stored, whole=whole)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was inferred about the file."""
        encoding = find_marked_encoding(self.stored)
        return () if encoding is None else (f"the byte order mark says that the file is {encoding}",)


class PlainTextSource(TextSource):
    """A UTF-8 text, taken unchanged with its line ends and surrounding white space."""

    kind = "a plain text file"

    def _read(self, report: Report) -> Iterator[Record]:
        with self._open_bytes(whole=True) as stream:
            text = stream.read().decode()
        if not text.strip():
            raise build_no_rows_error(self.path, "only white space")
        yield Record({"text": text}, Origin(self.path, 1, 1))
