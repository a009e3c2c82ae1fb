"""What became of a program. Knows nothing of how it was run."""

from __future__ import annotations

from enum import Enum

import msgspec


class Status(Enum):
    """How a program ended."""

    OK = "ok"
    """It ran to its last line."""
    ERROR = "error"
    """An exception that it did not catch, or text that is no program."""
    EXITED = "exited"
    """It ended by itself before its last line, with whatever exit status."""
    TIMEOUT = "timeout"
    """It took too long."""
    MEMORY = "memory"
    """It wanted more memory than it may have."""
    OUTPUT = "output"
    """It wrote more than it may."""
    KILLED = "killed"
    """A signal ended it: a crash, or it killed what watches over it."""


class ProgramResult(msgspec.Struct, frozen=True):
    """What became of one program."""

    status: Status
    """How it ended."""
    detail: str = ""
    """One line about it: the exception, the exit status, the limit, the signal."""
    stdout: str = ""
    """The end of what it wrote to stdout."""
    stderr: str = ""
    """The end of what it wrote to stderr."""
    seconds: float = 0.0
    """From its start to its end."""

    @property
    def is_ok(self) -> bool:
        """Whether it ran to its last line."""
        return self.status is Status.OK
