"""The journal: every response as it arrived, one JSON line each. A resumed run reads it."""

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
    """Return the response in a line; None if the line is damaged."""
    try:
        return _decode(line)
    except _UNREADABLE:
        return None


class ResponseLines:
    """Reads a journal once, from the beginning."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.n_damaged = 0
        """Number of complete lines that could not be read."""
        self.end = 0
        """The position after the last complete line."""
        self.is_torn = False
        """Whether an incomplete line follows."""

    def __iter__(self) -> Iterator[tuple[int, Response]]:
        """Yield each response with the position of its line."""
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
    """Return a note about the damaged lines of a journal; empty if there are none."""
    if not n_damaged:
        return ()
    lines = "1 damaged line, which was" if n_damaged == 1 else f"{n_damaged:,} damaged lines, which were"
    return (f"{name} has {lines} skipped: {consequence}",)


_encoder = msgspec.json.Encoder()

_MAX_UNWRITTEN_BYTES = 1 << 20
"""Maximum bytes that wait for a `flush`."""


class FileJournal:
    """Responses in an append-only file.

    A line is complete or absent: responses that arrived together are written to the operating system in one
    write before the next request is pulled, so killing the process loses at most the requests in progress. An
    incomplete last line, left by a crash of the machine, is cut off and its request sent again. Other
    unreadable lines are skipped and counted, and their requests sent again.
    """

    def __init__(self, path: Path, *, forget_failures: bool = False) -> None:
        self.path = path
        self._forget_failures = forget_failures
        self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 (closed by close)
        self._lines = LineIndex(path)
        self._answers = LineIndex(path)
        """The answers by ask: several requests can have the same ask."""
        self._unwritten = bytearray()
        self.n_torn = 0
        self.n_damaged = 0
        """Number of unreadable lines when the journal was opened, without an incomplete last one."""
        self.has_answers = False
        """Whether any stored response is not a failure."""
        self._index()

    def __len__(self) -> int:
        """Return how many requests had a response when the journal was opened."""
        return len(self._lines)

    def get(self, request_id: str, key: str) -> Response | None:
        """Return the response to exactly this ask that was stored when the journal was opened."""
        if not self._lines:
            return None
        responses = map(read_response, self._lines.lines(request_id))
        # Only the latest response to a request counts, even if it was to another ask.
        response = next((found for found in responses if found and found.request_id == request_id), None)
        if response is None or response.key != key:
            return None
        return None if self._forget_failures and isinstance(response.outcome, Failure) else response

    def answer(self, key: str) -> Outcome | None:
        """Return the answer to this ask, from any request, that was stored when the journal was opened."""
        responses = map(read_response, self._answers.lines(key)) if self._lines else ()
        return next((response.outcome for response in responses if response and response.key == key), None)

    def notes(self) -> tuple[str, ...]:
        """Return notes about damage found when the journal was opened."""
        consequence = "Assay sent requests without a readable response again"
        return describe_damage(self.path.name, self.n_damaged, consequence)

    def append(self, response: Response) -> None:
        """Add a response. It is safe after the next `flush`."""
        self._unwritten += _encoder.encode(response)
        self._unwritten += b"\n"
        if len(self._unwritten) >= _MAX_UNWRITTEN_BYTES:
            # If a cache answers everything, nothing else triggers a flush.
            self.flush()

    def flush(self) -> None:
        """Store the appended responses, so that killing the process does not lose them."""
        while self._unwritten:
            # A nearly full disk accepts only a part. The rest must follow, or the line would stay incomplete.
            n_written = self._file.write(self._unwritten)
            del self._unwritten[:n_written]

    def close(self) -> None:
        """Store the appended responses and close the file."""
        try:
            self.flush()
        finally:
            self._lines.close()
            self._answers.close()
            self._file.close()

    def _index(self) -> None:
        """Record the position of each response."""
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
