"""Standard output and error that never stop a command.

`assay run data.csv | head -1` closes the pipe after one line, and the run must still complete. So output to a
closed pipe is discarded, and the exit status stays that of the command. Output that cannot be written for
another reason, such as a full disk, is reported at the end of the command.
"""

from __future__ import annotations

import os
import select
import sys
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class LastingFile(FileIO):
    """A file descriptor that accepts everything: output that cannot be written is discarded."""

    fault: OSError | None = None
    """Why output was lost, other than a closed pipe."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "wb", closefd=False)

    def write(self, data: ReadableBuffer, /) -> int:
        """Write data, or discard it and all further data."""
        try:
            while (n_written := super().write(data)) is None:
                # The descriptor is non-blocking and full.
                select.select((), (self,), ())
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                self.fault = error
            self._discard_output()
            return memoryview(data).nbytes
        return n_written

    def _discard_output(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


def install_streams() -> None:
    """Replace standard output and error by such files; connect closed descriptors to the null device."""
    _reserve_descriptors()
    sys.stdout = _wrap_stream(sys.stdout, 1)
    sys.stderr = _wrap_stream(sys.stderr, 2)


def find_output_error() -> OSError | None:
    """Return why standard output could not be written; None if it was, or if its pipe was closed."""
    sys.stdout.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return raw.fault if isinstance(raw, LastingFile) else None


def _reserve_descriptors() -> None:
    """Open the null device for closed standard descriptors, so that no file of the run takes their number."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _wrap_stream(stream: TextIO | None, descriptor: int) -> TextIOWrapper:
    file = BufferedWriter(LastingFile(descriptor))
    # Write unencodable characters as escapes: an ASCII terminal must not end a run with Korean text.
    errors = "backslashreplace"
    if not isinstance(stream, TextIOWrapper):
        return TextIOWrapper(file, encoding="utf-8", errors=errors)
    stream.flush()
    return TextIOWrapper(
        file,
        encoding=stream.encoding,
        errors=errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
