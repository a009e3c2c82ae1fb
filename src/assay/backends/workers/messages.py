"""What the run and its workers say to each other, as bytes. Knows neither processes nor clusters."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from assay.backends.workers.model_check import OpenedModel
from assay.core import errors
from assay.core.errors import AssayError, BackendError, Problem
from assay.core.request import Request
from assay.core.response import Response


class Batch(msgspec.Struct, frozen=True):
    """Requests that one worker answers together. A worker takes one batch after the other."""

    number: int
    """No other batch of the run has it."""
    requests: tuple[Request, ...]


class WorkerReady(msgspec.Struct, frozen=True, tag="up"):
    """A worker can be given batches. Its weights are read with the first."""

    node: str
    """The machine it is on."""
    model: OpenedModel
    """What it found there."""


class BatchResponses(msgspec.Struct, frozen=True, tag="answers"):
    """Some of a batch's requests are answered."""

    batch: int
    responses: tuple[Response, ...]


class BatchFinished(msgspec.Struct, frozen=True, tag="finished"):
    """All of a batch is answered; with the counters of the worker's model since it began, and its notes."""

    batch: int
    stats: dict[str, float] = {}
    notes: tuple[str, ...] = ()


class WorkerFailed(msgspec.Struct, frozen=True, tag="raised"):
    """The model cannot work, for a reason that a person can mend: another worker would fail alike."""

    kind: str
    """Name of the error's class."""
    problems: tuple[Problem, ...]

    def error(self) -> AssayError:
        """Return the error as it was raised."""
        kind = getattr(errors, self.kind, BackendError)
        made: AssayError = kind(self.problems)
        return made


class WorkerDied(msgspec.Struct, frozen=True, tag="died"):
    """The worker is gone, with what it was working on. Said by the crew: the dead say nothing."""

    why: str
    """Half a sentence, such as `it ended with signal 9`."""
    is_blameless: bool = False
    """Whether something else took it away, such as the loss of its machine: no request is to blame."""


WorkerMessage: TypeAlias = WorkerReady | BatchResponses | BatchFinished | WorkerFailed
WorkerEvent: TypeAlias = WorkerMessage | WorkerDied

_encoder = msgspec.msgpack.Encoder()
_batches = msgspec.msgpack.Decoder(Batch)
_messages: msgspec.msgpack.Decoder[WorkerMessage] = msgspec.msgpack.Decoder(WorkerMessage)


def encode_message(said: Batch | WorkerMessage) -> bytes:
    """Return a message for the wire."""
    return _encoder.encode(said)


def read_batch(wire: bytes) -> Batch:
    """Return the batch that a worker was sent."""
    return _batches.decode(wire)


def read_message(wire: bytes) -> WorkerMessage:
    """Return what a worker said."""
    return _messages.decode(wire)


def make_worker_failed(error: AssayError) -> WorkerFailed:
    """Return the message of an error that ends the run."""
    return WorkerFailed(type(error).__name__, error.problems)
