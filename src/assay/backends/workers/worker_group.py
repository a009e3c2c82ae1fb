"""Who works: the port between dealing requests out and the processes or actors that answer them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from assay.backends.workers.messages import Batch, WorkerEvent


class ReceivedEvent(NamedTuple):
    """What a worker said, or what was heard of it."""

    worker: int
    said: WorkerEvent


class WorkerGroup(Protocol):
    """Workers somewhere else, each with a model of its own. All but `stats` is called from one thread."""

    @property
    def n_wanted(self) -> int:
        """How many workers there should be now; a cluster grows and shrinks."""

    def start(self, worker: int) -> None:
        """Begin to start a worker, under a number that no other had; it says `Up` when it can be given work.

        Does not wait for it. Where it does not come up, `Died` is heard of it.
        """

    def send(self, worker: int, batch: Batch) -> None:
        """Hand a batch to a worker that is up. Does not wait for it, whatever the worker does."""

    def listen(self, timeout_s: float) -> Sequence[ReceivedEvent]:
        """Return what was said since; when nothing was, wait for the first word, but no longer than this.

        The words of one worker come in their order, and none after its `Died`.
        """

    def end(self, worker: int) -> None:
        """End a worker at once. Nothing is heard of it afterwards."""

    def stats(self) -> Mapping[str, float]:
        """Return what there is to tell of the place where they work, such as the number of nodes.

        Called from any thread.
        """

    def close(self) -> None:
        """End all workers and let go of the place."""
