"""A plain text file: one record, its whole text in the field `text`."""

from __future__ import annotations

from collections.abc import Iterator

from assay.core.origin import Origin
from assay.sources.faults import build_no_rows_error
from assay.sources.record import Record
from assay.sources.source import Report
from assay.sources.text_source import TextSource


class PlainTextSource(TextSource):
    """A text in UTF-8, taken as it is: its line ends and the white space around it are part of it."""

    kind = "a plain text"

    def _read(self, report: Report) -> Iterator[Record]:
        with self._reading(whole=True) as stream:
            text = stream.read().decode()
        if not text.strip():
            raise build_no_rows_error(self.path, "only white space")
        yield Record({"text": text}, Origin(self.path, 1, 1))
