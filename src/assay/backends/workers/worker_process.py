"""A worker as a process on this machine, connected by a socket pair.

It is started as a program and not forked: a fork would copy locks of threads and a GPU context, and
multiprocessing's own start would run the caller's main module again. One thread sends and one receives, so
that a worker that hangs, even in the middle of a message, blocks nobody. Does not interpret the messages.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO

from assay.backends.workers.messages import Batch, ReceivedEvent, WorkerDied, encode_message, read_message

_LAST_WORDS = 600
"""Characters of a dead worker's last output."""
_END_S = 10.0


class WorkerProcess:
    """A worker's process, with the threads that communicate with it."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        heard: Callable[[bytes | WorkerDied], None],
        folder: str | None = None,
    ) -> None:
        """Start `command` in a folder, with the number of its socket as last argument.

        `heard` is called on another thread with each message, and finally with `WorkerDied`.
        """
        self._heard = heard
        self._printed: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by end)
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [*command, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=self._printed,
                stderr=self._printed,
                env=dict(environment),
                cwd=folder,
                pass_fds=[theirs.fileno()],
                # Ctrl-C is for the run, which then ends its workers and all their processes.
                start_new_session=True,
            )
        self._connection = Connection(ours.detach())
        self._to_send: SimpleQueue[bytes | None] = SimpleQueue()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._sends, self._reads)]
        for thread in self._threads:
            thread.start()

    def send(self, wire: bytes) -> None:
        """Queue a message."""
        self._to_send.put(wire)

    def end(self) -> None:
        """Kill the process and release everything that belongs to it."""
        self._kill()
        self._process.wait()
        self._to_send.put(None)
        for thread in self._threads:
            thread.join()
        self._connection.close()
        self._printed.close()

    def _sends(self) -> None:
        try:
            while (wire := self._to_send.get()) is not None:
                self._connection.send_bytes(wire)
        except OSError:
            return  # The process is gone; the thread that receives finds out.

    def _reads(self) -> None:
        try:
            while True:
                self._heard(self._connection.recv_bytes())
        except (EOFError, OSError):
            self._heard(WorkerDied(self._describe_end()))

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            # Its child processes too: an engine may keep its weights in others.
            os.killpg(self._process.pid, signal.SIGKILL)

    def _describe_end(self) -> str:
        """Return how the process ended, with its last output."""
        try:
            status = self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            # It closed its connection and still runs, which our own code never does.
            self._kill()
            status = self._process.wait()
        how = f"it ended with status {status}" if status >= 0 else f"it was ended by {_signal(-status)}"
        words = _tail(self._printed)
        return f"{how}; it last printed: {words}" if words else how


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _tail(printed: IO[bytes]) -> str:
    """Return the end of the output, on one line."""
    size = os.fstat(printed.fileno()).st_size
    last = os.pread(printed.fileno(), 4 * _LAST_WORDS, max(0, size - 4 * _LAST_WORDS))
    lines = [line.strip() for line in last.decode("utf-8", "replace").splitlines()]
    return " / ".join(line for line in lines if line)[-_LAST_WORDS:]


def python_path() -> str:
    """Return a PYTHONPATH with which a new process finds this copy of Assay."""
    here = str(Path(__file__).resolve().parents[3])
    return os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])


class ProcessWorkerGroup:
    """A fixed number of processes, each with the same setup."""

    def __init__(
        self,
        command: Sequence[str],
        setup: Callable[[], bytes],
        n: int,
        surroundings: Callable[[int], Mapping[str, str]],
    ) -> None:
        """`command` is started with the number of its socket as last argument, and first sent `setup()`.

        `surroundings`: the environment of the worker in slot 0 to n - 1; the replacement of a dead worker
        gets the same environment, such as its GPU.
        """
        self._command = command
        self._setup = setup
        self._n = n
        self._surroundings = surroundings
        self._processes: dict[int, WorkerProcess] = {}
        self._places: dict[int, int] = {}
        self._heard: SimpleQueue[tuple[int, bytes | WorkerDied]] = SimpleQueue()

    @property
    def n_wanted(self) -> int:
        """Return the number of workers."""
        return self._n

    def start(self, worker: int) -> None:
        """Start a process."""
        taken = {self._places[number] for number in self._processes}
        place = next(place for place in range(self._n) if place not in taken)
        environment = {**os.environ, **self._surroundings(place)}
        process = WorkerProcess(self._command, environment, lambda event: self._heard.put((worker, event)))
        process.send(self._setup())
        self._processes[worker], self._places[worker] = process, place

    def send(self, worker: int, batch: Batch) -> None:
        """Send a batch."""
        if worker in self._processes:
            self._processes[worker].send(encode_message(batch))

    def listen(self, timeout_s: float) -> Sequence[ReceivedEvent]:
        """Return the new events, or wait for one."""
        try:
            received = [self._heard.get(timeout=timeout_s) if timeout_s else self._heard.get_nowait()]
            received += [self._heard.get_nowait() for _ in range(self._heard.qsize())]
        except Empty:
            return ()
        events = []
        for worker, message in received:
            if worker not in self._processes:
                continue
            events.append(
                ReceivedEvent(worker, message if isinstance(message, WorkerDied) else read_message(message))
            )
            if isinstance(message, WorkerDied):
                self._processes.pop(worker).end()
        return events

    def end(self, worker: int) -> None:
        """Kill a process."""
        self._processes.pop(worker).end()

    def stats(self) -> Mapping[str, float]:
        """Return no counters: all workers are on this machine."""
        return {}

    def close(self) -> None:
        """Kill all processes."""
        while self._processes:
            self._processes.popitem()[1].end()
