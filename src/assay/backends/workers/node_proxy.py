"""The proxy of a worker on a cluster node: it runs the worker's process and passes messages on.

The model does not run in the Ray actor itself, but in the same program as on one machine. So a crash of the
model ends only that program: its proxy can report how it ended and what it printed last. If a proxy is gone,
its node is lost, or the cluster removed the actor. Does not interpret the messages.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple

from assay.backends.workers.messages import WorkerDied
from assay.backends.workers.worker_process import WorkerProcess, python_path

_LONGEST_S = 30.0
"""A proxy without messages returns after this time."""


class ProxyReport(NamedTuple):
    """Messages that a proxy passes on."""

    node: str
    """The id of its node."""
    wires: list[bytes]
    """The worker's messages, in order."""
    why_dead: str | None
    """How the worker ended; None: it is alive."""


class NodeProxy:
    """Starts a worker's process, and ends it."""

    def __init__(
        self, node: str, command: Sequence[str], setup: bytes, environment: Mapping[str, str], folder: str
    ) -> None:
        """`folder`: the run's working directory; the worker uses it too, if it exists on its node."""
        self._node = node
        self._received: SimpleQueue[bytes | WorkerDied] = SimpleQueue()
        self._process = WorkerProcess(
            [sys.executable, *command],
            {**os.environ, **environment, "PYTHONPATH": python_path()},
            self._received.put,
            folder if Path(folder).is_dir() else None,
        )
        self._process.send(setup)

    def send(self, wire: bytes) -> None:
        """Pass a batch on to the worker."""
        self._process.send(wire)

    def take(self) -> ProxyReport:
        """Wait for a message of the worker; return it with all further ones that have arrived."""
        wires: list[bytes] = []
        try:
            message = self._received.get(timeout=_LONGEST_S)
            while not isinstance(message, WorkerDied):
                wires.append(message)
                message = self._received.get_nowait()
        except Empty:
            return ProxyReport(self._node, wires, None)
        return ProxyReport(self._node, wires, message.why)

    def end(self) -> None:
        """Kill the worker and all processes that it started."""
        self._process.end()
