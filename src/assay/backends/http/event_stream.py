"""Parser of server-sent events: takes bytes as they arrive and returns the data of complete events."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator

_DATA = b"data: "
_LINE_END = re.compile(rb"\r\n|\n|\r")


class EventStream:
    """Assembles events wherever the network splits them: inside a line, a line end or a character."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []
        """Pieces of the line that is not complete yet."""
        self._is_half_end = False
        """Whether a carriage return came last: it may be the first half of a line end."""
        self._data: list[bytes] = []
        self._is_first_line = True

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes; return the data of each event that they complete."""
        events = self._split_plain_events(chunk)
        if events is None:
            events = []
            for line in self._lines(chunk):
                if line:
                    self._take(line)
                elif self._data:
                    events.append(b"\n".join(self._data))
                    self._data.clear()
        return events

    def _split_plain_events(self, chunk: bytes) -> list[bytes] | None:
        """Return the events of the usual form: complete, one line of data each. None for any other form."""
        if self._begun or self._is_half_end or self._data or not chunk.endswith(b"\n\n") or b"\r" in chunk:
            return None
        blocks = chunk[:-2].split(b"\n\n")
        if not all(block.startswith(_DATA) and b"\n" not in block for block in blocks):
            return None
        self._is_first_line = False
        return [block[len(_DATA) :] for block in blocks]

    def _lines(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the complete lines. Each byte is inspected once, however long a line is."""
        text = b"\r" + chunk if self._is_half_end else chunk
        self._is_half_end = False
        begin = 0
        for end in _LINE_END.finditer(text):
            if end[0] == b"\r" and end.end() == len(text):
                self._is_half_end = True
                text = text[:-1]
                break
            yield self._line(text[begin : end.start()])
            begin = end.end()
        if begin < len(text):
            self._begun.append(text[begin:])

    def _line(self, last: bytes) -> bytes:
        """Return a line by its last piece. A byte order mark may precede the first line."""
        line = b"".join((*self._begun, last))
        self._begun.clear()
        if self._is_first_line:
            self._is_first_line = False
            return line.removeprefix(BOM_UTF8)
        return line

    def _take(self, line: bytes) -> None:
        """Add a line of data. Comments, event names and event ids are ignored."""
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
