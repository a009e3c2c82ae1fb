"""What is said between Assay's process and a warden: one JSON line per message."""

from __future__ import annotations

import msgspec

from assay.scoring.sandbox.limits import Limits
from assay.scoring.sandbox.program_result import ProgramResult
from assay.scoring.sandbox.protections import Protections


class Setup(msgspec.Struct, frozen=True):
    """What a warden is told when it starts."""

    limits: Limits
    """What each program may use."""
    folder: str
    """An empty folder of the warden's own."""
    visible: tuple[str, ...] = ()
    """The interpreter's files and folders: besides the system's, all that a program can see."""
    preload: tuple[str, ...] = ()
    """Modules to import once, so that a program's own import of them costs nothing."""
    use_namespaces: bool = True
    """False leaves out what not every system has."""


class Job(msgspec.Struct, frozen=True):
    """One program to run."""

    program: str
    """Its text."""
    stdin: str = ""
    """What it can read from stdin."""
    is_main: bool = True
    """Whether its `__name__` is `__main__`."""


class Hello(msgspec.Struct, frozen=True):
    """A warden's first message."""

    protections: Protections
    """What its trial found."""


class Reply(msgspec.Struct, frozen=True):
    """A warden's answer to a job: what became of the program, or why it could not be started."""

    ran: ProgramResult | None = None
    """None when the program was not started."""
    failure: str = ""
    """Why not."""
