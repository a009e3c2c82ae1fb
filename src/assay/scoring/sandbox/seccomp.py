"""System call filters (seccomp): calls denied permanently to a thread and everything it starts.

Linux only, on the machines in `_MACHINES`. A filter sees the number of a call and its plain arguments, not
what they point to. It needs no privileges except `no_new_privs`, which it sets.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_ALLOW = 0x7FFF0000
_DENY = 0x00050000
"""Return an error; the error number is added."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
"""Offsets of the parts of a system call."""
_X32 = 0x40000000
"""From this number on, calls belong to another architecture with the same name."""
_CLONE_NEWUSER = 0x10000000

_NEW_CALLS = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
}
"""Calls with the same number on every machine."""


class _Machine(NamedTuple):
    architecture: int
    calls: Mapping[str, int]


_X86_64 = (
    "socket=41 socketpair=53 clone=56 ptrace=101 syslog=103 personality=135 vhangup=153 modify_ldt=154 "
    "pivot_root=155 adjtimex=159 chroot=161 acct=163 settimeofday=164 mount=165 umount2=166 swapon=167 "
    "swapoff=168 reboot=169 sethostname=170 setdomainname=171 iopl=172 ioperm=173 init_module=175 "
    "delete_module=176 quotactl=179 lookup_dcookie=212 clock_settime=227 kexec_load=246 add_key=248 "
    "request_key=249 keyctl=250 migrate_pages=256 unshare=272 move_pages=279 perf_event_open=298 "
    "fanotify_init=300 name_to_handle_at=303 open_by_handle_at=304 clock_adjtime=305 setns=308 "
    "process_vm_readv=310 process_vm_writev=311 kcmp=312 finit_module=313 kexec_file_load=320 bpf=321 "
    "userfaultfd=323"
)
_AARCH64 = (
    "lookup_dcookie=18 umount2=39 mount=40 pivot_root=41 chroot=51 vhangup=58 quotactl=60 acct=89 "
    "personality=92 unshare=97 kexec_load=104 init_module=105 delete_module=106 clock_settime=112 syslog=116 "
    "ptrace=117 reboot=142 sethostname=161 setdomainname=162 settimeofday=170 adjtimex=171 socket=198 "
    "socketpair=199 add_key=217 request_key=218 keyctl=219 clone=220 swapon=224 swapoff=225 "
    "migrate_pages=238 move_pages=239 perf_event_open=241 fanotify_init=262 name_to_handle_at=264 "
    "open_by_handle_at=265 clock_adjtime=266 setns=268 process_vm_readv=270 process_vm_writev=271 kcmp=272 "
    "finit_module=273 bpf=280 userfaultfd=282 kexec_file_load=294"
)


def _calls(listed: str) -> Mapping[str, int]:
    pairs = (one.partition("=") for one in listed.split())
    return {**{name: int(number) for name, _, number in pairs}, **_NEW_CALLS}


_MACHINES = {
    "x86_64": _Machine(0xC000003E, _calls(_X86_64)),
    "aarch64": _Machine(0xC00000B7, _calls(_AARCH64)),
}

_MISSING = frozenset({"clone3", "io_uring_setup", "io_uring_enter", "io_uring_register"})
"""Denied with ENOSYS: libraries then fall back to other calls, which a filter can inspect."""


class FilterUnavailable(Exception):
    """The system cannot filter calls; the message explains why."""


def install_filter(families: Sequence[int], denied: Sequence[str]) -> None:
    """Allow this thread only sockets of these families, and deny it the calls with these names.

    Raises FilterUnavailable if the system cannot do this. `clone` means new user namespaces.
    """
    machine = _MACHINES.get(platform.machine())
    if sys.platform != "linux" or machine is None:
        raise FilterUnavailable(f"filtering is not supported for {platform.system()} on {platform.machine()}")
    steps = _filter(machine, families, denied)
    program = _Program(len(steps), (_Step * len(steps))(*steps))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in (
        (_PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), ctypes.c_ulong(0)),
        (_PR_SET_SECCOMP, ctypes.c_ulong(_SECCOMP_MODE_FILTER), ctypes.byref(program)),
    ):
        if libc.prctl(*arguments, ctypes.c_ulong(0), ctypes.c_ulong(0)) != 0:
            raise FilterUnavailable(f"the kernel rejected the filter: {os.strerror(ctypes.get_errno())}")


class _Step(ctypes.Structure):
    """One instruction; after a test, `if_true` or `if_false` of the following instructions are skipped."""

    _fields_ = (
        ("code", ctypes.c_ushort),
        ("if_true", ctypes.c_ubyte),
        ("if_false", ctypes.c_ubyte),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.POINTER(_Step)))


def _filter(machine: _Machine, families: Sequence[int], denied: Sequence[str]) -> list[_Step]:
    """Return the program that the kernel runs for each system call of the thread."""
    steps = [
        _Step(_LOAD, 0, 0, _ARCHITECTURE),
        *_return_unless(_EQUAL, machine.architecture, _DENY | errno.EACCES),
        _Step(_LOAD, 0, 0, _NUMBER),
        *_return_if(_AT_LEAST, _X32, _DENY | errno.EACCES),
    ]
    for name in denied:
        if name == "clone" or name not in machine.calls:
            continue
        wrong = errno.ENOSYS if name in _MISSING else errno.EPERM
        steps += _return_if(_EQUAL, machine.calls[name], _DENY | wrong)
    if "clone" in denied:
        steps += _looking_into(
            machine.calls["clone"],
            [*_return_if(_ANY_BIT, _CLONE_NEWUSER, _DENY | errno.EPERM), _Step(_RETURN, 0, 0, _ALLOW)],
        )
    allowed = [step for family in families for step in _return_if(_EQUAL, family, _ALLOW)]
    for name in ("socket", "socketpair"):
        steps += _looking_into(machine.calls[name], [*allowed, _Step(_RETURN, 0, 0, _DENY | errno.EACCES)])
    return [*steps, _Step(_RETURN, 0, 0, _ALLOW)]


def _looking_into(number: int, verdicts: Sequence[_Step]) -> list[_Step]:
    """Return instructions that decide one call by its first argument; they end in a verdict."""
    inside = [_Step(_LOAD, 0, 0, _FIRST_ARGUMENT), *verdicts]
    return [_Step(_EQUAL, 0, len(inside), number), *inside]


def _return_if(test: int, value: int, verdict: int) -> tuple[_Step, _Step]:
    return _Step(test, 0, 1, value), _Step(_RETURN, 0, 0, verdict)


def _return_unless(test: int, value: int, verdict: int) -> tuple[_Step, _Step]:
    return _Step(test, 1, 0, value), _Step(_RETURN, 0, 0, verdict)
