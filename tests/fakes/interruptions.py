"""A command that is interrupted at one of its file operations, in a process of its own."""

from __future__ import annotations

import errno
import os
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from cli import assay

_OPERATIONS = {"open", "os.mkdir", "os.rename", "os.remove", "os.truncate", "os.symlink", "os.rmdir"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT

Ending: TypeAlias = Callable[[str, Sequence[Any]], None]
"""Ends the process at an operation, given its audit event and the arguments of that."""


def end_by(number: signal.Signals) -> Ending:
    """Return what ends a process by a signal, before the operation."""

    def ending(event: str, arguments: Sequence[Any]) -> None:
        os.kill(os.getpid(), number)

    return ending


def end_half_written(event: str, arguments: Sequence[Any]) -> None:
    """Kill the process while a file is half written: the one that is about to be renamed."""
    if event == "os.rename" and os.path.isfile(arguments[0]):
        os.truncate(arguments[0], os.path.getsize(arguments[0]) // 2)
    os.kill(os.getpid(), signal.SIGKILL)


def find_no_room(event: str, arguments: Sequence[Any]) -> None:
    """Fail as an operation on a full disk does."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fsdecode(arguments[0]))


def count_operations(command: Sequence[str], folder: Path) -> int:
    """Run a command to its end and return how many files it wrote, renamed or removed under a folder."""
    reader, writer = os.pipe()

    def work() -> int:
        n = _on_operation(folder, lambda nth, *_: None)
        status = assay(*command).status
        os.write(writer, str(n()).encode())
        return status

    assert _in_process_of_its_own(work) == 0
    os.close(writer)
    with open(reader, encoding="ascii") as counted:
        return int(counted.read())


def interrupt(command: Sequence[str], folder: Path, nth: int, ending: Ending) -> int:
    """Run a command, interrupted at its nth operation; return its exit status, negative for a signal."""

    def work() -> int:
        def act(n: int, event: str, arguments: Sequence[Any]) -> None:
            if n == nth:
                ending(event, arguments)

        _on_operation(folder, act)
        return assay(*command).status

    return _in_process_of_its_own(work)


def run_with_room_for(command: Sequence[str], most_bytes: int) -> int:
    """Run a command that may write no file larger than so many bytes; return its exit status."""

    def work() -> int:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
        return assay(*command).status

    return _in_process_of_its_own(work)


def _on_operation(folder: Path, act: Callable[[int, str, Sequence[Any]], None]) -> Callable[[], int]:
    n = 0
    inside = os.fspath(folder)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal n
        if event not in _OPERATIONS or not isinstance(arguments[0], (str, bytes, os.PathLike)):
            return
        if event == "open" and not arguments[2] & _WRITING:
            return
        if os.path.abspath(os.fsdecode(arguments[0])).startswith(inside):
            n += 1
            act(n, event, arguments)

    sys.addaudithook(hook)
    return lambda: n


def _in_process_of_its_own(work: Callable[[], int]) -> int:
    pid = os.fork()
    if pid == 0:
        status = 70
        try:
            status = work()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
