"""How much a program may use. Knows numbers, not how they are enforced."""

from __future__ import annotations

from typing import Annotated

import msgspec

Positive = Annotated[int, msgspec.Meta(ge=1)]


class Limits(msgspec.Struct, frozen=True):
    """What one program may use before it is stopped."""

    seconds: Annotated[float, msgspec.Meta(gt=0)] = 3.0
    """By the clock on the wall, and as much on the processor; HumanEval's own scorer gives 3."""
    memory_mib: Positive = 1024
    """Address space of each of its processes, and resident memory of all of them together."""
    processes: Positive = 32
    """Processes and threads at one time."""
    open_files: Positive = 64
    """File descriptors of each process."""
    file_mib: Positive = 16
    """Size of any file that it writes."""
    folder_mib: Positive = 64
    """Size of its throw-away folder."""
    output_mib: Positive = 16
    """What it may write to stdout and stderr together; only the ends are kept."""
