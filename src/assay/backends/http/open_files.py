"""The number of connections that a process may open: raises the system's limit on open files."""

from __future__ import annotations

import sys

_SPARE = 128
"""Other open files: the program's own, and a run's."""


def raise_connection_limit(wanted: int) -> int:
    """Raise the limit for this many connections; return how many are possible."""
    if sys.platform == "win32":  # Windows has no such limit.
        return wanted
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _SPARE
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(1, allowed - _SPARE)
