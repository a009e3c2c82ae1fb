"""The result of running a program."""

from __future__ import annotations

from enum import Enum

import msgspec


class Status(Enum):
    """How a program ended."""

    OK = "ok"
    """It ran to its last line."""
    ERROR = "error"
    """An uncaught exception, or text that is not a program."""
    EXITED = "exited"
    """It exited before its last line, with any exit status."""
    TIMEOUT = "timeout"
    """It exceeded the time limit."""
    MEMORY = "memory"
    """It exceeded the memory limit."""
    OUTPUT = "output"
    """It exceeded the output limit."""
    KILLED = "killed"
    """A signal ended it: a crash, or it killed its supervisor."""


class ProgramResult(msgspec.Struct, frozen=True):
    """The result of one program."""

    status: Status
    """How it ended."""
    detail: str = ""
    """One line of detail: the exception, the exit status, the limit or the signal."""
    stdout: str = ""
    """The end of its stdout."""
    stderr: str = ""
    """The end of its stderr."""
    seconds: float = 0.0
    """Seconds from start to end."""

    @property
    def is_ok(self) -> bool:
        """Whether it ran to its last line."""
        return self.status is Status.OK
