"""A thread that can open no internet socket, and neither can anything that it starts. Linux only.

Python's own sockets tell who opens them; native code does not. So the kernel is asked to refuse: a seccomp
filter, which needs no rights, holds for the thread that asks and for all threads and programs begun from it,
for as long as they live. It looks at the family of a socket alone: which server is meant, it cannot see.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket

from assay.scoring.sandbox.seccomp import FilterUnavailable, install_filter

_HARMLESS_FAMILIES = (1, 16, 38)
"""AF_UNIX, AF_NETLINK and AF_ALG: they reach this machine's own programs and its kernel."""
_BLOCKED_CALLS = ("io_uring_setup",)
"""It opens sockets without the call that is filtered; programs do without it."""


class SealError(Exception):
    """The system does not do this, and why."""


def seal_thread() -> None:
    """Take internet sockets from this thread, for good; raise CannotSeal where the system does not do so."""
    if is_sealed():
        return
    try:
        install_filter(_HARMLESS_FAMILIES, _BLOCKED_CALLS)
    except FilterUnavailable as why:
        raise SealError(str(why)) from why
    if not is_sealed():
        raise SealError("the kernel took the filter and opens internet sockets all the same")


def is_sealed() -> bool:
    """Return whether this thread can open no internet socket, found out by trying."""
    # Asked of the C library: a socket of Python's would be heard by whoever listens to those.
    libc = ctypes.CDLL(None, use_errno=True)
    opened = libc.socket(socket.AF_INET, socket.SOCK_DGRAM, 0)
    if opened >= 0:
        os.close(opened)
    return bool(opened < 0 and ctypes.get_errno() in (errno.EACCES, errno.EPERM))
