"""What a worker has to say, until it is sent: answers that came meanwhile leave together."""

from __future__ import annotations

from itertools import groupby
from queue import Empty, SimpleQueue
from typing import TypeAlias

from assay.backends.workers.messages import Batch, BatchFinished, BatchResponses, WorkerMessage
from assay.core.ports import Backend
from assay.core.response import Response

_MOST_TOGETHER = 512

_Item: TypeAlias = tuple[int, Response] | WorkerMessage


class Outbox:
    """Filled by the thread on which the model answers, emptied by one that sends."""

    def __init__(self) -> None:
        self._items: SimpleQueue[_Item] = SimpleQueue()

    def say(self, said: WorkerMessage) -> None:
        """Put in a message."""
        self._items.put(said)

    def answer(self, model: Backend, batch: Batch) -> None:
        """Have a batch answered and put in the answers as they come."""
        for response in model.run(batch.requests):
            self._items.put((batch.number, response))
        self._items.put(BatchFinished(batch.number, dict(model.stats()), tuple(model.notes())))

    def take(self) -> list[WorkerMessage]:
        """Wait for something to say; return it with what there is beside it, in order."""
        items = [self._items.get()]
        try:
            while len(items) < _MOST_TOGETHER:
                items.append(self._items.get_nowait())
        except Empty:
            pass
        said: list[WorkerMessage] = []
        for batch, together in groupby(items, key=lambda item: item[0] if isinstance(item, tuple) else None):
            if batch is None:
                said += [item for item in together if not isinstance(item, tuple)]
            else:
                responses = tuple(item[1] for item in together if isinstance(item, tuple))
                said.append(BatchResponses(batch, responses))
        return said
