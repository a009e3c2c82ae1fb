"""Which protections work on this machine, determined by a program that tries to break them."""

from __future__ import annotations

import msgspec

TRIAL = """
import colorsys  # not loaded before: shows that the standard library can be read
import json, os, socket

def works(action, *arguments):
    try:
        action(*arguments)
    except OSError:
        return False
    return True

def is_filtered():
    if not hasattr(socket, "AF_VSOCK"):
        return True  # Not on Linux.
    try:
        socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()
    except PermissionError:
        return True
    except OSError:
        return False  # The kernel has no such sockets, and refuses nothing.
    return False

print(json.dumps({
    "calls": not is_filtered(),
    "network": works(socket.create_connection, ("127.0.0.1", PORT), 1.0),
    "files": works(open, "/etc/passwd"),
    "processes": works(os.kill, PID, 0),
    "user": os.getuid(),
}))
"""
"""PORT is a port the warden listens on, PID is the warden's process."""


class Findings(msgspec.Struct, frozen=True):
    """What the trial program could do."""

    calls: bool
    """It could make system calls that the filter should deny."""
    network: bool
    """It could connect to a server on this machine."""
    files: bool
    """It could read a file that belongs neither to it nor to the interpreter."""
    processes: bool
    """It could send a signal to the process that supervises it."""
    user: int
    """The user it ran as."""


class Protections(msgspec.Struct, frozen=True):
    """What a program cannot do here. Limits on time, memory, processes and files apply everywhere."""

    network: bool
    """It cannot open connections, not even to this machine."""
    files: bool
    """It sees the interpreter, the system's libraries and its scratch folder; it can write only there."""
    processes: bool
    """It cannot access other processes."""
    leftovers: bool
    """All leftover processes are killed, even one that left its group and session."""
    user: str
    """The user it runs as: 'nobody', 'the same user' or 'root'."""
    calls: bool = False
    """Its system calls are filtered: no network sockets, mounts, keys, tracing and the like."""
    why_not: str = ""
    """The system's message if something is missing."""

    def __str__(self) -> str:
        words = [
            "no network" if self.network else "NETWORK OPEN",
            "own files only" if self.files else "FILES READABLE",
            "other processes out of reach" if self.processes else "OTHER PROCESSES IN REACH",
            "leftovers killed" if self.leftovers else "LEFTOVERS MAY STAY",
            "system calls filtered" if self.calls else "SYSTEM CALLS UNFILTERED",
            f"runs as {self.user}",
            "limits of time, memory, processes and files",
        ]
        text = "sandbox: " + ", ".join(words)
        return f"{text} ({self.why_not})" if self.why_not else text
