"""The journal: every response as it arrived, one JSON line each. Resuming is reading it."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from assay.core.response import Failure, Response
from assay.engine.line_index import LineIndex

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Response)


class _Address(msgspec.Struct):
    """As much of a line as the index needs."""

    request_id: str


_MOST_UNWRITTEN = 1 << 20
"""Bytes that wait for a `flush`."""


class FileJournal:
    """Responses in a file that is only ever appended to.

    A line is whole or absent: responses that came together go to the operating system in one write before
    the next request is pulled, so killing the process loses at most what was in flight. A torn last line,
    left by a machine that went down, is cut off and its request asked again.
    """

    def __init__(self, path: Path, *, forget_failures: bool = False) -> None:
        self.path = path
        self._forget_failures = forget_failures
        self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 (closed by close)
        self._lines = LineIndex(path)
        self._unwritten = bytearray()
        self.n_torn = 0
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
        responses = map(_decoder.decode, self._lines.lines(request_id))
        # The latest response to a request counts, also where it was to another ask.
        response = next((one for one in responses if one.request_id == request_id), None)
        if response is None or response.key != key:
            return None
        return None if self._forget_failures and isinstance(response.outcome, Failure) else response

    def append(self, response: Response) -> None:
        """Take a response; it is safe after the next `flush`."""
        self._unwritten += _encoder.encode(response)
        self._unwritten += b"\n"
        if len(self._unwritten) >= _MOST_UNWRITTEN:
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
            self._file.close()

    def _index(self) -> None:
        """Note where each response lies."""
        addresses = msgspec.json.Decoder(_Address)
        self._file.seek(0)
        position = 0
        with open(self._file.fileno(), "rb", closefd=False) as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    self.n_torn = 1
                    break
                address = addresses.decode(line)
                self._lines.add(address.request_id, position)
                if not self.has_answers:
                    self.has_answers = not isinstance(_decoder.decode(line).outcome, Failure)
                position += len(line)
        if self.n_torn:
            os.truncate(self._file.fileno(), position)
        self._file.seek(0, os.SEEK_END)
