"""Limits, results and messages of programs: one JSON line each between Assay's process and a warden."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import msgspec

from assay.scoring.sandbox.protections import Protections


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


Positive = Annotated[int, msgspec.Meta(ge=1)]


class Limits(msgspec.Struct, frozen=True):
    """The resources one program may use before it is stopped."""

    seconds: Annotated[float, msgspec.Meta(gt=0)] = 3.0
    """Wall-clock seconds, and the same amount of CPU time; HumanEval's own scorer uses 3."""
    memory_mib: Positive = 1024
    """Address space of each process, and resident memory of all processes together."""
    processes: Positive = 32
    """Concurrent processes and threads."""
    open_files: Positive = 64
    """File descriptors of each process."""
    file_mib: Positive = 16
    """Size of any file it writes."""
    folder_mib: Positive = 64
    """Size of its scratch folder."""
    output_mib: Positive = 16
    """Output to stdout and stderr together; only the end of each is kept."""


class Setup(msgspec.Struct, frozen=True):
    """The first message to a warden: its configuration."""

    limits: Limits
    """The limits of each program."""
    folder: str
    """An empty folder for this warden."""
    visible: tuple[str, ...] = ()
    """The interpreter's files and folders; with the system's, everything a program can see."""
    preload: tuple[str, ...] = ()
    """Modules to import once, so that a program's own import of them is free."""
    use_namespaces: bool = True
    """Whether to use namespaces, which some systems lack."""


class Job(msgspec.Struct, frozen=True):
    """One program to run."""

    program: str
    """Its text."""
    stdin: str = ""
    """The contents of its stdin."""
    is_main: bool = True
    """Whether its `__name__` is `__main__`."""


class Hello(msgspec.Struct, frozen=True):
    """A warden's first message."""

    protections: Protections
    """The results of its trial program."""


class Reply(msgspec.Struct, frozen=True):
    """A warden's reply to a job: the program's result, or why it could not start."""

    ran: ProgramResult | None = None
    """None if the program was not started."""
    failure: str = ""
    """Why it was not started."""
