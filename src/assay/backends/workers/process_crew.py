"""Workers as processes on this machine, each over a pair of sockets of its own.

Started as programs and not forked: a fork would copy threads' locks and a GPU's context, and the start of
multiprocessing's own would run the caller's main module again. For each worker one thread sends and one
reads, so that a worker that hangs, even in the middle of a message, holds up nobody.
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

from assay.backends.workers.crew import Word
from assay.backends.workers.messages import Batch, Died, read_message, to_bytes

_LAST_WORDS = 600
"""Characters of what a dead worker printed last."""
_END_S = 10.0


class ProcessCrew:
    """So many processes, each told the same at its start."""

    def __init__(
        self,
        command: Sequence[str],
        setup: bytes,
        n: int,
        surroundings: Callable[[int], Mapping[str, str]],
    ) -> None:
        """`command` is started with the number of its socket behind it, and sent `setup` first.

        `surroundings`: the environment of the worker in a place from 0 to n - 1; who takes a dead worker's
        place gets its surroundings, such as its GPU.
        """
        self._command = command
        self._setup = setup
        self._n = n
        self._surroundings = surroundings
        self._processes: dict[int, _Process] = {}
        self._heard: SimpleQueue[Word] = SimpleQueue()

    @property
    def n_wanted(self) -> int:
        """Return how many there are to be."""
        return self._n

    def start(self, worker: int) -> None:
        """Start a process."""
        taken = {process.place for process in self._processes.values()}
        place = next(place for place in range(self._n) if place not in taken)
        environment = {**os.environ, **self._surroundings(place)}
        process = _Process(worker, place, self._command, environment, self._heard)
        process.send(self._setup)
        self._processes[worker] = process

    def send(self, worker: int, batch: Batch) -> None:
        """Hand a batch over."""
        if worker in self._processes:
            self._processes[worker].send(to_bytes(batch))

    def listen(self, timeout_s: float) -> Sequence[Word]:
        """Return what was said since, or wait for it."""
        try:
            words = [self._heard.get(timeout=timeout_s) if timeout_s else self._heard.get_nowait()]
            words += [self._heard.get_nowait() for _ in range(self._heard.qsize())]
        except Empty:
            return ()
        words = [word for word in words if word.worker in self._processes]
        for word in words:
            if isinstance(word.said, Died):
                self._processes.pop(word.worker).end()
        return words

    def end(self, worker: int) -> None:
        """Kill a process."""
        self._processes.pop(worker).end()

    def stats(self) -> Mapping[str, float]:
        """Return nothing: all are on this machine."""
        return {}

    def close(self) -> None:
        """Kill all processes."""
        while self._processes:
            self._processes.popitem()[1].end()


class _Process:
    """One worker's process, with the threads that speak with it."""

    def __init__(
        self,
        worker: int,
        place: int,
        command: Sequence[str],
        environment: Mapping[str, str],
        heard: SimpleQueue[Word],
    ) -> None:
        self.place = place
        self._worker = worker
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
                pass_fds=[theirs.fileno()],
                # Ctrl-C is for the run, which then ends its workers and all that they started.
                start_new_session=True,
            )
        self._connection = Connection(ours.detach())
        self._to_send: SimpleQueue[bytes | None] = SimpleQueue()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._sends, self._reads)]
        for thread in self._threads:
            thread.start()

    def send(self, wire: bytes) -> None:
        """Have something sent."""
        self._to_send.put(wire)

    def end(self) -> None:
        """Kill the process and let go of all that belongs to it."""
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
            return  # It is gone, as the thread that reads will find.

    def _reads(self) -> None:
        try:
            while True:
                self._heard.put(Word(self._worker, read_message(self._connection.recv_bytes())))
        except (EOFError, OSError):
            self._heard.put(Word(self._worker, Died(self._why())))

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            # Its own processes too: an engine may keep its weights in others.
            os.killpg(self._process.pid, signal.SIGKILL)

    def _why(self) -> str:
        """Return how the process ended, in words, with what it printed last."""
        try:
            status = self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            # It closed its connection and lives on, which nothing of ours does.
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
    """Return the end of what was printed, on one line."""
    size = os.fstat(printed.fileno()).st_size
    last = os.pread(printed.fileno(), 4 * _LAST_WORDS, max(0, size - 4 * _LAST_WORDS))
    lines = [line.strip() for line in last.decode("utf-8", "replace").splitlines()]
    return " / ".join(line for line in lines if line)[-_LAST_WORDS:]


def python_path() -> str:
    """Return a PYTHONPATH by which a new process finds the Assay that runs here."""
    here = str(Path(__file__).resolve().parents[3])
    return os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
