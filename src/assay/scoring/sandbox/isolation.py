"""Isolation of a program: namespaces, a small private file system, a user without privileges.

Linux only. Everything here affects only the calling process; nothing changes the host.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from assay.scoring.sandbox import seccomp
from assay.scoring.sandbox import system_calls as system

NOBODY = 65534
HOME = "/tmp/home"
"""The scratch folder as a program sees it: empty, even if Python is installed in /tmp."""
_SCRATCH = "/tmp"
"""The only writable place."""

_NAMESPACES = (
    system.CLONE_NEWUSER
    | system.CLONE_NEWNS
    | system.CLONE_NEWPID
    | system.CLONE_NEWNET
    | system.CLONE_NEWIPC
)
_SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
BLOCKED_CALLS = (
    # Kernel interfaces with a history of vulnerabilities, which no program under test needs.
    *("io_uring_setup", "io_uring_enter", "io_uring_register", "bpf", "userfaultfd", "perf_event_open"),
    *("add_key", "request_key", "keyctl", "fanotify_init", "modify_ldt", "personality", "lookup_dcookie"),
    # Other processes, and their memory and files.
    *("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd"),
    *("migrate_pages", "move_pages", "name_to_handle_at", "open_by_handle_at"),
    # Mounts and namespaces.
    *("mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount"),
    *("fspick", "mount_setattr", "unshare", "setns", "clone", "clone3"),
    # The machine itself.
    *("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot", "swapon"),
    *("swapoff", "sethostname", "setdomainname", "iopl", "ioperm", "syslog", "acct", "quotactl", "vhangup"),
    *("settimeofday", "clock_settime", "clock_adjtime", "adjtimex"),
)
"""System calls that are denied to programs; `clone` only with a new user namespace."""
_PRESERVED_FLAGS = system.MS_RDONLY | system.MS_NOSUID | system.MS_NODEV | system.MS_NOEXEC | 1024 | 2048
_FILES_PER_MIB = 256


def enter_namespaces() -> None:
    """Leave the host's user, mount, network and IPC namespaces; children also leave its PID namespace."""
    system.unshare(_NAMESPACES)


def can_be_nobody() -> bool:
    """Return whether this process can become the user nobody: it is root, and that user exists."""
    if os.geteuid() != 0:
        return False
    try:
        ranges = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    except OSError:
        return True
    return any(int(first) <= NOBODY < int(first) + int(count) for first, _, count in ranges)


def map_users(pid: int) -> None:
    """Write the user mappings of a process in a new user namespace: itself, and nobody if possible."""
    process = Path(f"/proc/{pid}")
    if can_be_nobody():
        for name in ("uid_map", "gid_map"):
            (process / name).write_text(f"0 0 1\n{NOBODY} {NOBODY} 1\n")
        return
    (process / "setgroups").write_text("deny")
    (process / "uid_map").write_text(f"{os.geteuid()} {os.geteuid()} 1\n")
    (process / "gid_map").write_text(f"{os.getegid()} {os.getegid()} 1\n")


def build_file_system(at: str, visible: Sequence[str], folder_mib: int) -> None:
    """Create a file system in an empty folder and make it the root.

    It contains the system's programs and libraries and `visible`, all read-only; /proc with the processes of
    this namespace; a few devices; and the scratch folder, in memory with a size limit.
    """
    system.mount("none", "/", flags=system.MS_REC | system.MS_PRIVATE)
    plain = system.MS_NOSUID | system.MS_NODEV
    system.mount("tmpfs", at, "tmpfs", plain, "size=1m,mode=755")
    scratch = at + _SCRATCH
    os.mkdir(scratch)
    bounds = f"size={folder_mib}m,nr_inodes={folder_mib * _FILES_PER_MIB},mode=1777"
    system.mount("tmpfs", scratch, "tmpfs", plain, bounds)
    os.mkdir(at + HOME)
    os.chmod(at + HOME, 0o1777)
    for path in (*_SYSTEM_FOLDERS, *_SYSTEM_FILES):
        if os.path.islink(path):
            os.makedirs(os.path.dirname(at + path), exist_ok=True)
            os.symlink(os.readlink(path), at + path)
        elif os.path.exists(path):
            _mount_read_only(path, at)
    for path in visible:
        _mount_read_only(path, at)
    for device in _DEVICES:
        _bind(device, at)
    # Semaphores and shared memory of the standard library are stored here.
    os.mkdir(f"{at}/dev/shm")
    system.mount(scratch, f"{at}/dev/shm", flags=system.MS_BIND)
    _mount_proc(f"{at}/proc", plain | system.MS_NOEXEC)
    system.mount("none", at, flags=system.MS_REMOUNT | system.MS_BIND | system.MS_RDONLY | plain)
    system.make_root(at)


def _mount_read_only(path: str, at: str) -> None:
    """Make a file or folder of the host visible, read-only."""
    _bind(path, at)
    # The kernel does not allow a bind mount to drop flags of the host's mount.
    flags = (
        system.MS_RDONLY | system.MS_NOSUID | system.MS_NODEV | (os.statvfs(path).f_flag & _PRESERVED_FLAGS)
    )
    system.mount("none", at + path, flags=system.MS_REMOUNT | system.MS_BIND | flags)


def _bind(path: str, at: str) -> None:
    if os.path.isdir(path):
        os.makedirs(at + path, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(at + path), exist_ok=True)
        os.close(os.open(at + path, os.O_CREAT | os.O_WRONLY))
    system.mount(path, at + path, flags=system.MS_BIND | system.MS_REC)


def _mount_proc(at: str, flags: int) -> None:
    os.mkdir(at)
    try:
        system.mount("proc", at, "proc", flags)
    except PermissionError:
        # In containers that mask parts of /proc, the kernel denies a new mount. Programs run without it.
        return
    # Without further user namespaces, a program cannot become root over anything.
    Path(at, "sys/user/max_user_namespaces").write_text("0")
    system.mount("none", at, flags=system.MS_REMOUNT | system.MS_BIND | system.MS_RDONLY | flags)


def drop_privileges(*, becomes_nobody: bool, is_linux: bool) -> None:
    """Drop all privileges for good: root becomes nobody, capabilities are dropped, calls are filtered."""
    if becomes_nobody:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    if is_linux:
        system.renounce_privileges()
        # If filtering is not available, the trial program detects it and the protections report it.
        with suppress(seccomp.FilterUnavailable):
            seccomp.install_filter((socket.AF_UNIX,), BLOCKED_CALLS)
