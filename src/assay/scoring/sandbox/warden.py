"""The warden: a process that starts each program in a fresh chain of children; run as a module.

    warden                    waits with an empty environment and the interpreter already loaded
      outer process           enters new namespaces; the warden writes its user mappings
        supervisor            process 1 in them: creates the file system, supervises, stops everything
          program             runs the text with limits and without privileges

Without namespaces the outer process is the supervisor. Reads one job per line from stdin; replies on stdout.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import msgspec

from assay.scoring.sandbox import isolation
from assay.scoring.sandbox import system_calls as system
from assay.scoring.sandbox.program import Place
from assay.scoring.sandbox.protections import TRIAL, Findings, Protections
from assay.scoring.sandbox.protocol import Hello, Job, Limits, ProgramResult, Reply, Setup, Status
from assay.scoring.sandbox.supervisor import supervise

_IS_LINUX = sys.platform == "linux"
_READ_BYTES = 65536
_GRACE_S = 10.0
"""Extra time of a supervisor beyond the program's own time."""


class StartRejected(Exception):
    """The system does not allow a program to be started this way."""


def run_job(job: Job, setup: Setup, *, in_namespaces: bool) -> ProgramResult:
    """Run one program and return when all of its processes are gone."""
    home = tempfile.mkdtemp(dir=setup.folder)
    os.chmod(home, 0o777)
    report, report_end = os.pipe()
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        _outer_process(job, setup, home, report_end, theirs, in_namespaces=in_namespaces)
    os.close(report_end)
    theirs.close()
    try:
        if in_namespaces and ours.recv(1):
            isolation.map_users(pid)
            ours.sendall(b"m")
        answer = _read_all(report, setup.limits.seconds + _GRACE_S)
    except OSError as error:
        raise StartRejected(str(error)) from None
    finally:
        os.close(report)
        ours.close()
        kill_descendants(pid)
        shutil.rmtree(home, ignore_errors=True)
    return _decode_result(answer)


def _decode_result(answer: bytes) -> ProgramResult:
    if not answer:
        return ProgramResult(Status.KILLED, "the process that supervised it was killed or stopped")
    reply = msgspec.json.decode(answer, type=Reply)
    if reply.ran is None:
        raise StartRejected(reply.failure)
    return reply.ran


def _outer_process(
    job: Job, setup: Setup, home: str, report: int, warden: socket.socket, *, in_namespaces: bool
) -> None:
    """Become the supervisor, or the parent of one that is alone in its namespaces; never returns."""
    try:
        os.setpgid(0, 0)
        if in_namespaces:
            isolation.enter_namespaces()
            system.die_with_parent()
            warden.sendall(b"u")
            if not warden.recv(1):
                os._exit(1)
            pid = os.fork()
            if pid:
                os.close(report)
                os.waitpid(pid, 0)
                os._exit(0)
        if _IS_LINUX:
            system.die_with_parent()
            system.hide_memory()
        reply = Reply(_run_supervised(job, setup, home, in_namespaces=in_namespaces))
    except BaseException as error:  # noqa: BLE001 - this process must end here, whatever happened
        reply = Reply(failure=f"{type(error).__name__}: {error}")
    answer = msgspec.json.encode(reply)
    while answer:
        answer = answer[os.write(report, answer) :]
    os._exit(0)


def _run_supervised(job: Job, setup: Setup, home: str, *, in_namespaces: bool) -> ProgramResult:
    becomes_nobody = isolation.can_be_nobody()
    if not in_namespaces:
        return supervise(
            job, _add_user_processes(setup.limits), Place(home, becomes_nobody, counts_memory=False)
        )
    isolation.build_file_system(home, setup.visible, setup.limits.folder_mib)
    has_proc = Path("/proc/1/statm").exists()
    return supervise(job, setup.limits, Place(isolation.HOME, becomes_nobody, counts_memory=has_proc))


def _add_user_processes(limits: Limits) -> Limits:
    """Return limits for a program whose processes the kernel counts with all others of its user."""
    user = isolation.NOBODY if isolation.can_be_nobody() else os.getuid()
    return msgspec.structs.replace(limits, processes=limits.processes + count_tasks(user))


def _read_all(descriptor: int, seconds: float) -> bytes:
    """Return everything received until the other end closes, or nothing if that takes too long."""
    chunks: list[bytes] = []
    give_up = time.monotonic() + seconds
    while select.select([descriptor], [], [], max(0.0, give_up - time.monotonic()))[0]:
        chunk = os.read(descriptor, _READ_BYTES)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)
    return b""


def _run_trial(setup: Setup, *, in_namespaces: bool) -> Findings:
    """Run the trial program and return what it could do."""
    with ExitStack() as stack:
        try:
            port = stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
        except PermissionError:
            # An offline run gives its programs no sockets: none to connect to, none to try.
            port = 1
        program = TRIAL.replace("PORT", str(port)).replace("PID", str(os.getpid()))
        ran = run_job(Job(program), setup, in_namespaces=in_namespaces)
    if not ran.is_ok:
        raise StartRejected(f"the trial program ended with {ran.status.value}: {ran.detail}")
    return msgspec.json.decode(ran.stdout, type=Findings)


def _protections(findings: Findings, why_not: str) -> Protections:
    same = "root" if findings.user == 0 else "the same user"
    return Protections(
        network=not findings.network,
        files=not findings.files,
        processes=not findings.processes,
        leftovers=_IS_LINUX,
        calls=_IS_LINUX and not findings.calls,
        user=same if findings.user == os.getuid() else "nobody",
        why_not=why_not,
    )


def _choose_isolation(setup: Setup) -> tuple[bool, Protections]:
    """Return whether namespaces are used, and the protections; raise StartRejected if nothing works."""
    why_not = "namespaces were turned off"
    if setup.use_namespaces:
        try:
            return True, _protections(_run_trial(setup, in_namespaces=True), "")
        except StartRejected as refusal:
            why_not = f"no namespaces: {refusal}"
    return False, _protections(_run_trial(setup, in_namespaces=False), why_not)


def _send(message: Hello | Reply) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
    sys.stdout.buffer.flush()


def main() -> None:
    """Serve until stdin ends."""
    setup = msgspec.json.decode(sys.argv[1], type=Setup)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if _IS_LINUX:
        system.adopt_orphans()
    for name in setup.preload:
        importlib.import_module(name)
    # Modules loaded by now stay; children need not scan them and share their memory.
    gc.freeze()
    in_namespaces, protections = _choose_isolation(setup)
    _send(Hello(protections))
    for line in sys.stdin.buffer:
        try:
            ran = run_job(msgspec.json.decode(line, type=Job), setup, in_namespaces=in_namespaces)
        except StartRejected as refusal:
            _send(Reply(failure=str(refusal)))
        else:
            _send(Reply(ran))


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


if __name__ == "__main__":
    main()
