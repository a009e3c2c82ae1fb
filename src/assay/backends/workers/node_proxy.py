"""What stands for a worker on a node of a cluster: it keeps the worker's process, and passes messages on.

The model does not run in the actor itself but in the same program as on one machine. So a fault of the model
takes only that program with it: its keeper is left to tell how it ended and what it printed last, and when
a keeper is gone, its node is, or the cluster took it away. Knows nothing of what the messages say.
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
"""A keeper that has nothing to pass on says so after so long."""


class ProxyReport(NamedTuple):
    """What a keeper passes on."""

    node: str
    """The id of its node."""
    wires: list[bytes]
    """What the worker said, in its order."""
    why_dead: str | None
    """How the worker ended; None: it lives."""


class NodeProxy:
    """Starts a worker's process with itself, and ends it."""

    def __init__(
        self, node: str, command: Sequence[str], setup: bytes, around: Mapping[str, str], folder: str
    ) -> None:
        """`folder`: where the run was started; a worker starts there too, where its node has that folder."""
        self._node = node
        self._heard: SimpleQueue[bytes | WorkerDied] = SimpleQueue()
        self._process = WorkerProcess(
            [sys.executable, *command],
            {**os.environ, **around, "PYTHONPATH": python_path()},
            self._heard.put,
            folder if Path(folder).is_dir() else None,
        )
        self._process.send(setup)

    def send(self, wire: bytes) -> None:
        """Pass a batch on to the worker."""
        self._process.send(wire)

    def take(self) -> ProxyReport:
        """Wait for the worker to say something; return it, with all that it has said since."""
        wires: list[bytes] = []
        try:
            said = self._heard.get(timeout=_LONGEST_S)
            while not isinstance(said, WorkerDied):
                wires.append(said)
                said = self._heard.get_nowait()
        except Empty:
            return ProxyReport(self._node, wires, None)
        return ProxyReport(self._node, wires, said.why)

    def end(self) -> None:
        """Kill the worker and all that it started."""
        self._process.end()
