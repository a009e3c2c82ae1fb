"""Messages between a run and its workers, as bytes, and the port for a group of workers.

Knows neither processes nor clusters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import msgspec

from assay.backends.workers.model_check import OpenedModel
from assay.core import errors
from assay.core.errors import AssayError, BackendError, Problem
from assay.core.request import Request
from assay.core.response import Response


class Batch(msgspec.Struct, frozen=True):
    """Requests that one worker answers together. A worker processes one batch at a time."""

    number: int
    """Unique within the run."""
    requests: tuple[Request, ...]


class WorkerReady(msgspec.Struct, frozen=True, tag="up"):
    """A worker can accept batches. It reads the weights with the first one."""

    node: str
    """The worker's machine."""
    model: OpenedModel
    """The model on that machine."""


class BatchResponses(msgspec.Struct, frozen=True, tag="answers"):
    """Answers to some of a batch's requests."""

    batch: int
    responses: tuple[Response, ...]


class BatchFinished(msgspec.Struct, frozen=True, tag="finished"):
    """A batch is complete; with the total counters of the worker's model, and its notes."""

    batch: int
    stats: dict[str, float] = {}
    notes: tuple[str, ...] = ()


class WorkerFailed(msgspec.Struct, frozen=True, tag="raised"):
    """The model cannot work, for a reason that the user can fix: another worker would fail as well."""

    kind: str
    """Name of the error's class."""
    problems: tuple[Problem, ...]

    def error(self) -> AssayError:
        """Return the error as it was raised."""
        kind = getattr(errors, self.kind, BackendError)
        error: AssayError = kind(self.problems)
        return error


class WorkerDied(msgspec.Struct, frozen=True, tag="died"):
    """The worker has ended, with the batch it was working on. Reported by the worker group."""

    why: str
    """Part of a sentence, such as `it ended with signal 9`."""
    is_blameless: bool = False
    """Whether an outside cause ended it, such as the loss of its machine: no request is suspect."""


WorkerMessage: TypeAlias = WorkerReady | BatchResponses | BatchFinished | WorkerFailed
WorkerEvent: TypeAlias = WorkerMessage | WorkerDied

_encoder = msgspec.msgpack.Encoder()
_batches = msgspec.msgpack.Decoder(Batch)
_messages: msgspec.msgpack.Decoder[WorkerMessage] = msgspec.msgpack.Decoder(WorkerMessage)


def encode_message(message: Batch | WorkerMessage) -> bytes:
    """Return a message as bytes."""
    return _encoder.encode(message)


def read_batch(wire: bytes) -> Batch:
    """Return the batch in a message to a worker."""
    return _batches.decode(wire)


def read_message(wire: bytes) -> WorkerMessage:
    """Return a worker's message."""
    return _messages.decode(wire)


def make_worker_failed(error: AssayError) -> WorkerFailed:
    """Return the message about an error that ends the run."""
    return WorkerFailed(type(error).__name__, error.problems)


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
