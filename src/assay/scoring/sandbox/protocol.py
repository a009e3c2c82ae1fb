"""Messages between Assay's process and a warden: one JSON line each."""

from __future__ import annotations

import msgspec

from assay.scoring.sandbox.limits import Limits
from assay.scoring.sandbox.program_result import ProgramResult
from assay.scoring.sandbox.protections import Protections


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
