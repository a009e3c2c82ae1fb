"""Supervises one program: reads its output, stops it at its limits, and reports its result.

In a PID namespace this is process 1: signals from the program do not reach it, and when it ends, the kernel
kills everything else in the namespace.
"""

from __future__ import annotations

import contextlib
import hmac
import math
import os
import selectors
import signal
import socket
import tempfile
import time
from pathlib import Path

from assay.scoring.sandbox.program import MIB, READY, TOKEN_BYTES, Place, run_program
from assay.scoring.sandbox.protocol import Job, Limits, ProgramResult, Status

_TICK_S = 0.02
_READ_BYTES = 65536
_TAIL_BYTES = 4096
_REPORTED_STATUSES = {status.value: status for status in (Status.ERROR, Status.EXITED, Status.MEMORY)}
"""Messages a program's process may send about itself; a success needs the token."""


class ProgramNotStarted(Exception):
    """The program's process could not be prepared."""


def supervise(job: Job, limits: Limits, place: Place) -> ProgramResult:
    """Run a program in a child of this process until it ends or a limit is reached."""
    out, out_end = os.pipe()
    err, err_end = os.pipe()
    channel, channel_end = socket.socketpair()
    with tempfile.TemporaryFile(dir=place.home) as stdin:
        stdin.write(job.stdin.encode())
        stdin.seek(0)
        pid = os.fork()
        if pid == 0:
            run_program(job, limits, place, (stdin.fileno(), out_end, err_end, channel_end.fileno()))
    for descriptor in (out_end, err_end):
        os.close(descriptor)
    channel_end.close()
    if (word := channel.recv(len(READY))) != READY:
        raise ProgramNotStarted(
            (word + channel.recv(_READ_BYTES)).decode(errors="replace") or "it ended immediately"
        )
    return _Watch(pid, limits, out, err, channel, counts_memory=place.counts_memory).wait()


class _Watch:
    """The loop over one program's output, channel and clock."""

    def __init__(
        self, pid: int, limits: Limits, out: int, err: int, channel: socket.socket, *, counts_memory: bool
    ) -> None:
        self._pid = pid
        self._limits = limits
        self._started = time.monotonic()
        self._counted = self._started if counts_memory else math.inf
        # Created after the fork, so the program's process never had it.
        self._token = os.urandom(TOKEN_BYTES)
        with contextlib.suppress(BrokenPipeError):  # it may have ended already
            channel.sendall(self._token)
        self._tails = {out: b"", err: b""}
        self._n_written = 0
        self._verdict: tuple[Status, str] | None = None
        self._selector = selectors.DefaultSelector()
        for descriptor in (out, err, channel.fileno()):
            self._selector.register(descriptor, selectors.EVENT_READ)

    def wait(self) -> ProgramResult:
        """Return the program's result after reading everything it has written."""
        exit_code: int | None = None
        while True:
            exit_code = self._reap() if exit_code is None else exit_code
            is_over = self._verdict is not None or exit_code is not None
            ready = self._selector.select(0 if is_over else _TICK_S)
            for key, _ in ready:
                self._read(key.fd)
            # A message sent in time counts, even if a busy machine reads it late.
            limit = self._check_limits()
            if self._verdict is None and exit_code is not None and not ready:
                self._verdict = _interpret_exit(exit_code)
            verdict = self._verdict or limit
            if verdict and (limit or not ready):
                return self._ran(*verdict)

    def _ran(self, status: Status, detail: str) -> ProgramResult:
        out, err = (tail.decode(errors="replace") for tail in self._tails.values())
        return ProgramResult(status, detail, out, err, time.monotonic() - self._started)

    def _read(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, _READ_BYTES)
        except ConnectionResetError:
            data = b""  # it closed its end of the channel with the token unread
        if not data:
            self._selector.unregister(descriptor)
        elif descriptor in self._tails:
            self._n_written += len(data)
            self._tails[descriptor] = (self._tails[descriptor] + data)[-_TAIL_BYTES:]
        elif self._verdict is None:
            self._verdict = self._heard(data)

    def _heard(self, message: bytes) -> tuple[Status, str]:
        if hmac.compare_digest(message, self._token):
            return Status.OK, ""
        word, _, detail = message.decode(errors="replace").partition("\n")
        return _REPORTED_STATUSES.get(
            word, Status.EXITED
        ), detail or "it wrote to the sandbox's internal channel"

    def _reap(self) -> int | None:
        """Reap every ended child, including orphans; return the program's exit code if it is among them."""
        exit_code = None
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return exit_code
            if pid == 0:
                return exit_code
            if pid == self._pid:
                exit_code = os.waitstatus_to_exitcode(status)

    def _check_limits(self) -> tuple[Status, str] | None:
        if self._is_late():
            return Status.TIMEOUT, f"stopped after {self._limits.seconds:g} s"
        if self._wrote_too_much():
            return Status.OUTPUT, f"wrote more than {self._limits.output_mib} MiB"
        if self._uses_too_much_memory():
            return Status.MEMORY, f"its processes together used more than {self._limits.memory_mib} MiB"
        return None

    def _is_late(self) -> bool:
        return time.monotonic() - self._started > self._limits.seconds

    def _uses_too_much_memory(self) -> bool:
        if time.monotonic() - self._counted < _TICK_S:
            return False
        self._counted = time.monotonic()
        return _resident_bytes() > self._limits.memory_mib * MIB

    def _wrote_too_much(self) -> bool:
        return self._n_written > self._limits.output_mib * MIB


def _interpret_exit(exit_code: int) -> tuple[Status, str]:
    """Return the result of a program that ended without a message."""
    if exit_code >= 0:
        return Status.EXITED, f"exit status {exit_code} before the last line"
    if -exit_code == signal.SIGXCPU:
        return Status.TIMEOUT, "exceeded its CPU time limit"
    return Status.KILLED, f"signal {-exit_code} ({signal.strsignal(-exit_code)})"


def _resident_bytes() -> int:
    """Return the memory of all processes but this one, minus what they share with files."""
    pages = 0
    for entry in os.listdir("/proc"):
        if entry.isdigit() and entry != "1":
            try:
                fields = Path("/proc", entry, "statm").read_text().split()
            except OSError:
                continue  # it just ended
            pages += int(fields[1]) - int(fields[2])
    return pages * os.sysconf("SC_PAGE_SIZE")
