"""How many connections a process may hold: the system's limit on open files, raised as far as it allows."""

from __future__ import annotations

_SPARE = 128
"""Files that are open anyway: the program's own, and a run's."""


def allow_connections(n: int) -> str | None:
    """Make room for so many connections; return what is wrong where the system does not allow them."""
    try:
        import resource
    except ImportError:  # Windows has no such limit.
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = n + _SPARE
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return None
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed >= wanted:
        return None
    return f"{n:,} connections are asked for, and a process may hold {hard:,} open files here (ulimit -n)"
