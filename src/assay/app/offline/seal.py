"""Seal a thread: neither it nor anything it starts can open internet sockets. Linux only.

Python's own sockets raise audit events that name the caller; native code does not. So the kernel blocks them:
a seccomp filter, which needs no privileges, applies to the calling thread and to all threads and programs
started from it, permanently. It only sees the family of a socket, not the server.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket

from assay.scoring.sandbox.seccomp import FilterUnavailable, install_filter

_HARMLESS_FAMILIES = (1, 16, 38)
"""AF_UNIX, AF_NETLINK and AF_ALG: they only reach local programs and the kernel."""
_BLOCKED_CALLS = ("io_uring_setup",)
"""Opens sockets without the filtered call; programs can do without it."""


class SealError(Exception):
    """The system cannot seal the thread."""


def seal_thread() -> None:
    """Permanently block internet sockets for this thread; raise SealError if the system cannot."""
    if is_sealed():
        return
    try:
        install_filter(_HARMLESS_FAMILIES, _BLOCKED_CALLS)
    except FilterUnavailable as why:
        raise SealError(str(why)) from why
    if not is_sealed():
        raise SealError("the kernel accepted the filter but still opens internet sockets")


def is_sealed() -> bool:
    """Return whether this thread cannot open internet sockets, by trying."""
    # Uses the C library: a Python socket would raise an audit event.
    libc = ctypes.CDLL(None, use_errno=True)
    opened = libc.socket(socket.AF_INET, socket.SOCK_DGRAM, 0)
    if opened >= 0:
        os.close(opened)
    return bool(opened < 0 and ctypes.get_errno() in (errno.EACCES, errno.EPERM))
