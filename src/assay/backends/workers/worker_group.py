"""The port between the dispatcher and the processes or actors that answer requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from assay.backends.workers.messages import Batch, WorkerEvent


class ReceivedEvent(NamedTuple):
    """A message from a worker, or about it."""

    worker: int
    event: WorkerEvent


class WorkerGroup(Protocol):
    """Workers in other processes, each with its own model. All methods except `stats` run on one thread."""

    @property
    def n_wanted(self) -> int:
        """Return how many workers there should be now; a cluster grows and shrinks."""

    def start(self, worker: int) -> None:
        """Start a worker under a new number; it sends `WorkerReady` when it can accept work.

        Does not wait for it. If it does not start, `WorkerDied` is reported.
        """

    def send(self, worker: int, batch: Batch) -> None:
        """Send a batch to a worker that is ready. Does not wait, whatever the worker does."""

    def listen(self, timeout_s: float) -> Sequence[ReceivedEvent]:
        """Return the new events; if there are none, wait for the first, at most `timeout_s` seconds.

        The events of one worker come in order, and none follows its `WorkerDied`.
        """

    def end(self, worker: int) -> None:
        """End a worker at once. No further events of it are reported."""

    def stats(self) -> Mapping[str, float]:
        """Return counters of the workers' environment, such as the number of nodes.

        Called from any thread.
        """

    def close(self) -> None:
        """End all workers and release their environment."""
