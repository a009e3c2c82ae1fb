"""The world that a program sees: namespaces, a small file system of its own, a user without rights.

Linux only. Everything here happens in the process that asks for it; nothing touches the host.
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
"""The throw-away folder as a program sees it: empty, also where Python lies in /tmp."""
_SCRATCH = "/tmp"
"""The only place that can be written to."""

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
    # Ways into the kernel with a history of holes, which no program under test needs.
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
"""System calls that programs are refused; `clone` only with a new user namespace."""
_PRESERVED_FLAGS = system.MS_RDONLY | system.MS_NOSUID | system.MS_NODEV | system.MS_NOEXEC | 1024 | 2048
_FILES_PER_MIB = 256


def enter_namespaces() -> None:
    """Leave the host's users, mounts, network and IPC; children also leave its processes."""
    system.unshare(_NAMESPACES)


def can_be_nobody() -> bool:
    """Return whether this process may become the user nobody: it is root, and there is such a user here."""
    if os.geteuid() != 0:
        return False
    try:
        ranges = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    except OSError:
        return True
    return any(int(first) <= NOBODY < int(first) + int(count) for first, _, count in ranges)


def map_users(pid: int) -> None:
    """Give a process in a new user namespace its users: itself, and nobody where it may become that."""
    process = Path(f"/proc/{pid}")
    if can_be_nobody():
        for name in ("uid_map", "gid_map"):
            (process / name).write_text(f"0 0 1\n{NOBODY} {NOBODY} 1\n")
        return
    (process / "setgroups").write_text("deny")
    (process / "uid_map").write_text(f"{os.geteuid()} {os.geteuid()} 1\n")
    (process / "gid_map").write_text(f"{os.getegid()} {os.getegid()} 1\n")


def build_file_system(at: str, visible: Sequence[str], folder_mib: int) -> None:
    """Make a file system at an empty folder and move into it.

    It holds the system's programs and libraries and `visible`, all read-only; /proc with the processes of
    this namespace; a few devices; and the throw-away folder, bounded, in memory.
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
    # Semaphores and shared memory of the standard library live here.
    os.mkdir(f"{at}/dev/shm")
    system.mount(scratch, f"{at}/dev/shm", flags=system.MS_BIND)
    _mount_proc(f"{at}/proc", plain | system.MS_NOEXEC)
    system.mount("none", at, flags=system.MS_REMOUNT | system.MS_BIND | system.MS_RDONLY | plain)
    system.make_root(at)


def _mount_read_only(path: str, at: str) -> None:
    """Make a file or folder of the host visible, read-only."""
    _bind(path, at)
    # A mount may not lose a flag here that it has on the host.
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
        # In containers that mask parts of /proc the kernel refuses a new one. Programs do without.
        return
    # With no user namespaces of its own a program cannot make itself root over anything.
    Path(at, "sys/user/max_user_namespaces").write_text("0")
    system.mount("none", at, flags=system.MS_REMOUNT | system.MS_BIND | system.MS_RDONLY | flags)


def drop_privileges(*, becomes_nobody: bool, is_linux: bool) -> None:
    """Give up this process's rights for good: root becomes nobody, capabilities go, calls are filtered."""
    if becomes_nobody:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    if is_linux:
        system.renounce_privileges()
        # Where there is no filter, the trial program finds out, and the protections say so.
        with suppress(seccomp.FilterUnavailable):
            seccomp.install_filter((socket.AF_UNIX,), BLOCKED_CALLS)
