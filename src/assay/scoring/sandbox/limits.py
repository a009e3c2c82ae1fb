"""Resource limits of a program; how they are enforced is defined elsewhere."""

from __future__ import annotations

from typing import Annotated

import msgspec

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
