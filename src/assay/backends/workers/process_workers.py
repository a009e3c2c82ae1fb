"""Workers as processes on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue

from assay.backends.workers.messages import Batch, WorkerDied, encode_message, read_message
from assay.backends.workers.worker_group import ReceivedEvent
from assay.backends.workers.worker_process import WorkerProcess


class ProcessWorkerGroup:
    """So many processes, each told the same at its start."""

    def __init__(
        self,
        command: Sequence[str],
        setup: Callable[[], bytes],
        n: int,
        surroundings: Callable[[int], Mapping[str, str]],
    ) -> None:
        """`command` is started with the number of its socket behind it, and sent what `setup` returns first.

        `surroundings`: the environment of the worker in a place from 0 to n - 1; who takes a dead worker's
        place gets its surroundings, such as its GPU.
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
        """Return how many there are to be."""
        return self._n

    def start(self, worker: int) -> None:
        """Start a process."""
        taken = {self._places[number] for number in self._processes}
        place = next(place for place in range(self._n) if place not in taken)
        environment = {**os.environ, **self._surroundings(place)}
        process = WorkerProcess(self._command, environment, lambda said: self._heard.put((worker, said)))
        process.send(self._setup())
        self._processes[worker], self._places[worker] = process, place

    def send(self, worker: int, batch: Batch) -> None:
        """Hand a batch over."""
        if worker in self._processes:
            self._processes[worker].send(encode_message(batch))

    def listen(self, timeout_s: float) -> Sequence[ReceivedEvent]:
        """Return what was said since, or wait for it."""
        try:
            heard = [self._heard.get(timeout=timeout_s) if timeout_s else self._heard.get_nowait()]
            heard += [self._heard.get_nowait() for _ in range(self._heard.qsize())]
        except Empty:
            return ()
        words = []
        for worker, said in heard:
            if worker not in self._processes:
                continue
            words.append(ReceivedEvent(worker, said if isinstance(said, WorkerDied) else read_message(said)))
            if isinstance(said, WorkerDied):
                self._processes.pop(worker).end()
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
