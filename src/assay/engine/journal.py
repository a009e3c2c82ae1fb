"""The journal: every response as it arrived, one JSON line each. Resuming is reading it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from assay.core.response import Failure, Outcome, Response
from assay.engine.line_index import LineIndex

_decode = msgspec.json.Decoder(Response).decode
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def read_response(line: bytes) -> Response | None:
    """Return the response in a line; None where the line is damaged."""
    try:
        return _decode(line)
    except _UNREADABLE:
        return None


class ResponseLines:
    """Reads a journal once, from its beginning."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.n_damaged = 0
        """Whole lines that could not be read."""
        self.end = 0
        """The place behind the last whole line."""
        self.is_torn = False
        """Whether half a line follows that."""

    def __iter__(self) -> Iterator[tuple[int, Response]]:
        """Yield each response with the place of its line."""
        for line in self._file:
            if not line.endswith(b"\n"):
                self.is_torn = True
                return
            place = self.end
            self.end += len(line)
            response = read_response(line)
            if response is None:
                self.n_damaged += 1
            else:
                yield place, response


def describe_damage(name: str, n_damaged: int, consequence: str) -> tuple[str, ...]:
    """Return a note about the damaged lines of a journal; nothing where it has none."""
    if not n_damaged:
        return ()
    lines = "1 damaged line, which was" if n_damaged == 1 else f"{n_damaged:,} damaged lines, which were"
    return (f"{name} has {lines} skipped: {consequence}",)


_encoder = msgspec.json.Encoder()

_MAX_UNWRITTEN_BYTES = 1 << 20
"""Bytes that wait for a `flush`."""


class FileJournal:
    """Responses in a file that is only ever appended to.

    A line is whole or absent: responses that came together go to the operating system in one write before
    the next request is pulled, so killing the process loses at most what was in flight. A torn last line,
    left by a machine that went down, is cut off and its request asked again. Other lines that cannot be read
    are skipped and counted, and their requests asked again.
    """

    def __init__(self, path: Path, *, forget_failures: bool = False) -> None:
        self.path = path
        self._forget_failures = forget_failures
        self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 (closed by close)
        self._lines = LineIndex(path)
        self._answers = LineIndex(path)
        """The answers by what was asked: several requests may ask the same."""
        self._unwritten = bytearray()
        self.n_torn = 0
        self.n_damaged = 0
        """Lines that could not be read when the journal was opened, without a torn last one."""
        self.has_answers = False
        """Whether any response that was there is no failure."""
        self._index()

    def __len__(self) -> int:
        """Return how many requests were answered, or failed, when the journal was opened."""
        return len(self._lines)

    def get(self, request_id: str, key: str) -> Response | None:
        """Return the response to exactly this ask that was there when the journal was opened."""
        if not self._lines:
            return None
        responses = map(read_response, self._lines.lines(request_id))
        # The latest response to a request counts, also where it was to another ask.
        response = next((one for one in responses if one and one.request_id == request_id), None)
        if response is None or response.key != key:
            return None
        return None if self._forget_failures and isinstance(response.outcome, Failure) else response

    def answer(self, key: str) -> Outcome | None:
        """Return the answer to this ask, whichever request asked it, if it was there at the opening."""
        responses = map(read_response, self._answers.lines(key)) if self._lines else ()
        return next((one.outcome for one in responses if one and one.key == key), None)

    def notes(self) -> tuple[str, ...]:
        """Return in words what was damaged when the journal was opened."""
        consequence = "requests without a readable response were sent again"
        return describe_damage(self.path.name, self.n_damaged, consequence)

    def append(self, response: Response) -> None:
        """Take a response; it is safe after the next `flush`."""
        self._unwritten += _encoder.encode(response)
        self._unwritten += b"\n"
        if len(self._unwritten) >= _MAX_UNWRITTEN_BYTES:
            # Where a cache answers everything, nobody else asks for it.
            self.flush()

    def flush(self) -> None:
        """Store what was appended so that killing the process does not lose it."""
        while self._unwritten:
            # A disk that is nearly full takes a part; the rest must follow it, or the line would stay torn.
            n_written = self._file.write(self._unwritten)
            del self._unwritten[:n_written]

    def close(self) -> None:
        """Store what was appended and close the file."""
        try:
            self.flush()
        finally:
            self._lines.close()
            self._answers.close()
            self._file.close()

    def _index(self) -> None:
        """Note where each response lies."""
        self._file.seek(0)
        with open(self._file.fileno(), "rb", closefd=False) as file:
            lines = ResponseLines(file)
            for place, response in lines:
                self._lines.add(response.request_id, place)
                if not isinstance(response.outcome, Failure):
                    self.has_answers = True
                    self._answers.add(response.key, place)
        self.n_damaged, self.n_torn = lines.n_damaged, int(lines.is_torn)
        if lines.is_torn:
            os.truncate(self._file.fileno(), lines.end)
        self._file.seek(0, os.SEEK_END)
