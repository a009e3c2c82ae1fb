"""What all files of text share: how they are stored, packed and encoded."""

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
    """A file of text, plain or packed, in UTF-8 or in the encoding that its mark or a person names."""

    kind: str
    """What the format is called in messages."""
    understands = frozenset({"encoding"})
    """The settings that have an effect."""

    def __init__(self, stored: StoredText, settings: FileSettings | None = None) -> None:
        super().__init__(stored.path)
        self.settings = settings
        """None: nothing is inferred, the suffix alone decides."""
        encoding = settings.encoding if settings is not None else None
        if encoding is not None:
            require_encoding(stored.path, encoding)
        self.stored = stored if encoding is None else stored._replace(encoding=encoding)

    def _reading(self, *, whole: bool = False) -> AbstractContextManager[BufferedReader]:
        return reading(self.stored, whole=whole)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was inferred about the file."""
        encoding = find_marked_encoding(self.stored)
        return () if encoding is None else (f"the file is {encoding}, by its byte order mark",)


class PlainTextSource(TextSource):
    """A text in UTF-8, taken as it is: its line ends and the white space around it are part of it."""

    kind = "a plain text"

    def _read(self, report: Report) -> Iterator[Record]:
        with self._reading(whole=True) as stream:
            text = stream.read().decode()
        if not text.strip():
            raise build_no_rows_error(self.path, "only white space")
        yield Record({"text": text}, Origin(self.path, 1, 1))
