"""Processes that programs start: counting a user's processes and killing leftovers."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

_PATIENCE_S = 5.0


def kill_descendants(pid: int) -> None:
    """Kill a child with its process group and all descendants of this process, and reap them.

    Descendants that left the group are found only if this process adopts orphans and /proc exists.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    give_up = time.monotonic() + _PATIENCE_S
    while _has_living_children() and time.monotonic() < give_up:
        for descendant in _descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(descendant, signal.SIGKILL)
        # A process started during the search is found by the next one.
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, 0)


def _has_living_children() -> bool:
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        return False
    return True


def _descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name in parentheses may contain anything; the parent is the second field after it.
            fields = entry.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it just ended
        children.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def count_tasks(user: int) -> int:
    """Return how many processes and threads a user has, as counted against the kernel's limit."""
    count = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.stat().st_uid == user:
                count += len(os.listdir(process / "task"))
        except OSError:
            continue  # it just ended
    return count
