"""The innermost process: applies limits, drops privileges and runs the program's text.

What it reports is trusted only if it is bad for the program. A success needs the token, which stays unread in
the channel until the last line has run. The token is therefore in no source, frame, variable or argument.
"""

from __future__ import annotations

import linecache
import math
import os
import resource
import signal
import socket
import sys
import traceback
import types
from typing import NamedTuple, NoReturn

from assay.scoring.sandbox import isolation
from assay.scoring.sandbox.protocol import Job, Limits, Status

READY = b"ready"
"""Sent before the program's first line. Any other message is the reason why it could not start."""
TOKEN_BYTES = 16
MIB = 2**20

_CHANNEL = 3
_FILE = "program.py"
_DETAIL_CHARS = 300


class Place(NamedTuple):
    """Where a program runs, as far as the system allows."""

    home: str
    """The scratch folder."""
    becomes_nobody: bool
    """Whether it gives up root. Decided before the root changes, because the new root may have no /proc."""
    counts_memory: bool
    """Whether /proc shows only the program's processes."""


def run_program(job: Job, limits: Limits, place: Place, descriptors: tuple[int, int, int, int]) -> NoReturn:
    """Turn this process into the program; never returns.

    The descriptors are stdin, stdout, stderr and the channel to the supervisor.
    """
    try:
        _take_descriptors(descriptors)
        channel = socket.socket(fileno=_CHANNEL)
        try:
            _enter(limits, place)
        except BaseException as error:  # noqa: BLE001 - sent to the supervisor, which raises it
            channel.sendall(f"{type(error).__name__}: {error}".encode())
        else:
            channel.sendall(READY)
            _execute(job, channel)
    finally:
        # The frames above contain the supervisor's code, which this process must not run.
        os._exit(0)


def _take_descriptors(descriptors: tuple[int, ...]) -> None:
    """Make these the only open descriptors, numbered from 0."""
    floor = len(descriptors)
    # Move all of them up first, so that none is overwritten before it is moved.
    for number, moved in enumerate([_duplicate_above(descriptor, floor) for descriptor in descriptors]):
        os.dup2(moved, number)
    os.closerange(floor, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    # New streams: the warden's may contain data that the warden has read.
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="replace", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="replace", closefd=False)


def _duplicate_above(descriptor: int, floor: int) -> int:
    copy = os.dup(descriptor)
    return copy if copy >= floor else _duplicate_above(copy, floor)


def _enter(limits: Limits, place: Place) -> None:
    os.chdir(place.home)
    os.environ.clear()
    # One thread for numerical libraries: their pools would exhaust the program's process limit.
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    os.environ.update(
        HOME=place.home, TMPDIR=place.home, PATH="/usr/local/bin:/usr/bin:/bin", LANG="C.UTF-8", **threads
    )
    for number in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    isolation.drop_privileges(becomes_nobody=place.becomes_nobody, is_linux=sys.platform == "linux")
    for kind, value in (
        (resource.RLIMIT_CPU, math.ceil(limits.seconds) + 1),
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_FSIZE, limits.file_mib * MIB),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, limits.memory_mib * MIB),
    ):
        _, hard = resource.getrlimit(kind)
        lowest = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (lowest, lowest))


def _execute(job: Job, channel: socket.socket) -> None:
    module = types.ModuleType("__main__" if job.is_main else "program")
    module.__file__ = _FILE
    sys.modules[module.__name__] = module
    sys.argv = [_FILE]
    linecache.cache[_FILE] = (len(job.program), None, job.program.splitlines(keepends=True), _FILE)
    try:
        exec(compile(job.program, _FILE, "exec"), module.__dict__)  # noqa: S102 - what a sandbox is for
    except SystemExit as ending:
        _send_status(channel, Status.EXITED, f"exit status {ending.code!r} before the last line")
    except MemoryError:
        _send_status(channel, Status.MEMORY, "MemoryError")
    except BaseException as error:  # noqa: BLE001 - any exception ends the program
        _send_status(channel, Status.ERROR, _describe_error(error))
    else:
        _flush()
        channel.sendall(channel.recv(TOKEN_BYTES))


def _describe_error(error: BaseException) -> str:
    """Print an exception as Python does, and return its last line."""
    try:
        # The first frame is in this file.
        behind = error.__traceback__.tb_next if error.__traceback__ else None
        traceback.print_exception(type(error), error, behind)
        return "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
    except BaseException:  # noqa: BLE001 - the program's own exception class may fail to describe itself
        return "an exception that cannot be shown"


def _send_status(channel: socket.socket, status: Status, detail: str) -> None:
    _flush()
    channel.sendall(f"{status.value}\n{detail[:_DETAIL_CHARS]}".encode(errors="replace"))


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:  # noqa: BLE001 - the program may have closed it or put anything in its place
            continue
