"""Messages between a run and its workers, as bytes. Knows neither processes nor clusters."""

from __future__ import annotations

from typing import TypeAlias

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
