"""A worker's side in a process of its own: batches in, answers out, over one connection.

The model answers on the main thread, as it would in a run without workers. Another thread reads what is sent,
so that the next batch is here when it is needed, and ends the process when the run is gone. A third sends:
answers leave as they come, and those that came while it was sending leave together.
"""

from __future__ import annotations

import os
import platform
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from queue import SimpleQueue

from assay.backends.workers.messages import (
    Batch,
    WorkerFailed,
    WorkerMessage,
    WorkerReady,
    encode_message,
    make_worker_failed,
    read_batch,
)
from assay.backends.workers.model_check import describe_opened_model
from assay.backends.workers.outbox import Outbox
from assay.core.errors import AssayError
from assay.core.ports import Backend


def serve(
    connection: Connection, open_model: Callable[[], Backend], *, after_batch: Callable[[], None]
) -> None:
    """Answer what comes until the run is gone, or the model cannot work.

    `after_batch` may raise what became known meanwhile and ends the run.
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
    said: WorkerMessage | None = None
    try:
        while not isinstance(said, WorkerFailed):
            for said in outbox.take():
                connection.send_bytes(encode_message(said))
    except OSError:
        _end_at_once()


def _end_at_once() -> None:
    """End this process: the run is gone, and nobody waits for what the model is computing."""
    if os.getpgrp() == os.getpid():
        # With all that the model has started.
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)
