"""The loop of a worker process: receives batches and sends answers over one connection.

The model answers on the main thread, as in a run without workers. A second thread receives, so that the next
batch is available when it is needed, and ends the process when the run is gone. A third thread sends: answers
are sent as they come, and those that came meanwhile are sent together.
"""

from __future__ import annotations

import os
import platform
import signal
import threading
from collections.abc import Callable
from itertools import groupby
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import TypeAlias

from assay.backends.workers.messages import (
    Batch,
    BatchFinished,
    BatchResponses,
    WorkerFailed,
    WorkerMessage,
    WorkerReady,
    encode_message,
    make_worker_failed,
    read_batch,
)
from assay.backends.workers.model_check import describe_opened_model
from assay.core.errors import AssayError
from assay.core.ports import Backend
from assay.core.response import Response

_MOST_TOGETHER = 512

_Item: TypeAlias = tuple[int, Response] | WorkerMessage


class Outbox:
    """Filled by the thread on which the model answers, emptied by the thread that sends."""

    def __init__(self) -> None:
        self._items: SimpleQueue[_Item] = SimpleQueue()

    def say(self, message: WorkerMessage) -> None:
        """Add a message."""
        self._items.put(message)

    def answer(self, model: Backend, batch: Batch) -> None:
        """Have the model answer a batch, and add the answers as they come."""
        for response in model.run(batch.requests):
            self._items.put((batch.number, response))
        self._items.put(BatchFinished(batch.number, dict(model.stats()), tuple(model.notes())))

    def take(self) -> list[WorkerMessage]:
        """Wait for a message; return it with all further ones, in order."""
        items = [self._items.get()]
        try:
            while len(items) < _MOST_TOGETHER:
                items.append(self._items.get_nowait())
        except Empty:
            pass
        messages: list[WorkerMessage] = []
        for batch, together in groupby(items, key=lambda item: item[0] if isinstance(item, tuple) else None):
            if batch is None:
                messages += [item for item in together if not isinstance(item, tuple)]
            else:
                responses = tuple(item[1] for item in together if isinstance(item, tuple))
                messages.append(BatchResponses(batch, responses))
        return messages


def serve(
    connection: Connection, open_model: Callable[[], Backend], *, after_batch: Callable[[], None]
) -> None:
    """Answer batches until the run is gone or the model cannot work.

    `after_batch` may raise an error that ends the run.
    """
    inbox: SimpleQueue[Batch] = SimpleQueue()
    outbox = Outbox()
    sending = threading.Thread(target=_send, args=(connection, outbox), daemon=True)
    sending.start()
    try:
        model = open_model()
        outbox.say(WorkerReady(platform.node(), describe_opened_model(model)))
        threading.Thread(target=_receive, args=(connection, inbox), daemon=True).start()
        while True:
            outbox.answer(model, inbox.get())
            after_batch()
    except AssayError as error:
        outbox.say(make_worker_failed(error))
        sending.join()


def _receive(connection: Connection, inbox: SimpleQueue[Batch]) -> None:
    try:
        while True:
            inbox.put(read_batch(connection.recv_bytes()))
    except (EOFError, OSError):
        _end_at_once()


def _send(connection: Connection, outbox: Outbox) -> None:
    message: WorkerMessage | None = None
    try:
        while not isinstance(message, WorkerFailed):
            for message in outbox.take():
                connection.send_bytes(encode_message(message))
    except OSError:
        _end_at_once()


def _end_at_once() -> None:
    """End this process: the run is gone, and nobody needs the model's answers."""
    if os.getpgrp() == os.getpid():
        # With all processes that the model has started.
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)
