"""Command-line flags that an author's file defines with absl.

absl keeps one registry of flags per process and rejects a second definition. Each dataset loads its own copy
of an author's file, so the copies would collide. Nothing reads the flags: the file is not run as a program.
"""

from __future__ import annotations

import sys


def remove_flags(module: str) -> None:
    """Remove the flags that a module has defined from the registry of the process."""
    absl = sys.modules.get("absl.flags")
    if absl is None:
        return
    registry = absl.FLAGS
    for flag in list(registry.flags_by_module_dict().get(module, ())):
        delattr(registry, flag.name)
