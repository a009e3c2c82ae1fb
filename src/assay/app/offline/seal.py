"""A thread that can open no internet socket, and neither can anything that it starts. Linux only.

Python's own sockets tell who opens them; native code does not. So the kernel is asked to refuse: a seccomp
filter, which needs no rights, holds for the thread that asks and for all threads and programs begun from it,
for as long as they live. It looks at the family of a socket alone: which server is meant, it cannot see.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import socket
import sys
from typing import NamedTuple

_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000
"""Return an error; its number is added."""

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
"""Where a filter finds the parts of a system call."""
_X32 = 0x40000000
"""From here on system calls are those of another architecture under the same name."""
_IO_URING_SETUP = 425
_HARMLESS_FAMILIES = (1, 16, 38)
"""AF_UNIX, AF_NETLINK and AF_ALG: they reach this machine's own programs and its kernel."""


class _Machine(NamedTuple):
    architecture: int
    socket_call: int


_MACHINES = {"x86_64": _Machine(0xC000003E, 41), "aarch64": _Machine(0xC00000B7, 198)}


class _Step(ctypes.Structure):
    """One instruction; after a test, `if_true` or `if_false` of those that follow are passed over."""

    _fields_ = (
        ("code", ctypes.c_ushort),
        ("if_true", ctypes.c_ubyte),
        ("if_false", ctypes.c_ubyte),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.POINTER(_Step)))


class CannotSeal(Exception):
    """The system does not do this, and why."""


def seal_thread() -> None:
    """Take internet sockets from this thread, for good; raise CannotSeal where the system does not do so."""
    if is_sealed():
        return
    machine = _MACHINES.get(platform.machine())
    if sys.platform != "linux" or machine is None:
        raise CannotSeal(f"there is no seal for {platform.system()} on {platform.machine()}")
    steps = _filter(machine)
    program = _Program(len(steps), (_Step * len(steps))(*steps))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in (
        (_PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), ctypes.c_ulong(0)),
        (_PR_SET_SECCOMP, ctypes.c_ulong(_SECCOMP_MODE_FILTER), ctypes.byref(program)),
    ):
        if libc.prctl(*arguments, ctypes.c_ulong(0), ctypes.c_ulong(0)) != 0:
            raise CannotSeal(f"the kernel refuses: {os.strerror(ctypes.get_errno())}")
    if not is_sealed():
        raise CannotSeal("the kernel took the filter and opens internet sockets all the same")


def is_sealed() -> bool:
    """Return whether this thread can open no internet socket, found out by trying."""
    # Asked of the C library: a socket of Python's would be heard by whoever listens to those.
    libc = ctypes.CDLL(None, use_errno=True)
    opened = libc.socket(socket.AF_INET, socket.SOCK_DGRAM, 0)
    if opened >= 0:
        os.close(opened)
    return bool(opened < 0 and ctypes.get_errno() in (errno.EACCES, errno.EPERM))


def _filter(machine: _Machine) -> list[_Step]:
    """Return the program that the kernel runs for each system call of the thread."""
    refuse = _REFUSE | errno.EACCES
    return [
        _Step(_LOAD, 0, 0, _ARCHITECTURE),
        *_return_unless(_EQUAL, machine.architecture, refuse),
        _Step(_LOAD, 0, 0, _NUMBER),
        *_return_if(_AT_LEAST, _X32, refuse),
        # It opens sockets without the call that is looked at here; programs do without it.
        *_return_if(_EQUAL, _IO_URING_SETUP, _REFUSE | errno.ENOSYS),
        *_return_unless(_EQUAL, machine.socket_call, _ALLOW),
        _Step(_LOAD, 0, 0, _FIRST_ARGUMENT),
        *(step for family in _HARMLESS_FAMILIES for step in _return_if(_EQUAL, family, _ALLOW)),
        _Step(_RETURN, 0, 0, refuse),
    ]


def _return_if(test: int, value: int, verdict: int) -> tuple[_Step, _Step]:
    return _Step(test, 0, 1, value), _Step(_RETURN, 0, 0, verdict)


def _return_unless(test: int, value: int, verdict: int) -> tuple[_Step, _Step]:
    return _Step(test, 1, 0, value), _Step(_RETURN, 0, 0, verdict)
