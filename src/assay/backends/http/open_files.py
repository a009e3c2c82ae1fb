"""How many connections a process may hold: the system's limit on open files, raised as far as it allows."""

from __future__ import annotations

import sys

_SPARE = 128
"""Files that are open anyway: the program's own, and a run's."""


def raise_connection_limit(wanted: int) -> int:
    """Make room for so many connections; return for how many there is room."""
    if sys.platform == "win32":  # It has no such limit.
        return wanted
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _SPARE
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(1, allowed - _SPARE)
