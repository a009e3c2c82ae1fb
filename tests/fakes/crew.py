"""A crew without processes: workers that answer a little at a time, and break down as a test says."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from assay.backends.workers.messages import (
    Batch,
    BatchFinished,
    BatchResponses,
    ReceivedEvent,
    WorkerDied,
    WorkerEvent,
    WorkerReady,
)
from assay.backends.workers.model_check import OpenedModel
from assay.core.model import ModelIdentity
from assay.core.request import Request
from assay.core.response import Completion, Finish, Output, Response


def answer_to(request: Request) -> Response:
    """Return what a worker answers: its request's id, as a text."""
    return Response(request.id, request.key, Completion((Output(request.id, Finish.END, 1),), 1))


@dataclass
class _Hand:
    """A worker."""

    batches: deque[Batch] = field(default_factory=deque)
    at: int = 0
    n_answered: int = 0
    is_up: bool = False


@dataclass
class FakeCrew:
    """Workers in memory. Each time it is listened to, one step of work happens at every worker."""

    n: int = 2
    kills: Callable[[Request], bool] = lambda request: False
    """Whether a request kills its worker."""
    hangs: Callable[[Request], bool] = lambda request: False
    dies_by_itself: Callable[[int], str | None] = lambda step: None
    """By the number of a step: whether a worker then dies `guilty` or `blameless`."""
    up_at: Callable[[int], int] = lambda worker: 0
    """By the number of a worker: the step at which it comes up."""
    opened: Callable[[int], OpenedModel] = lambda worker: OpenedModel(ModelIdentity("fake", "fake"))
    """By the number of a worker: the model that it finds."""
    forgets: bool = False
    """Whether answers that a worker had not yet sent when it died are lost, those of whole batches too."""
    n_step: int = 3
    """Answers of a worker in one step."""
    clock: float = 0.0
    step_s: float = 1.0
    hands: dict[int, _Hand] = field(default_factory=dict)
    started: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    sent: list[tuple[int, Batch]] = field(default_factory=list)
    most_held: int = 0
    is_closed: bool = False
    _n_steps: int = 0

    @property
    def n_wanted(self) -> int:
        return self.n

    def start(self, worker: int) -> None:
        assert worker not in self.started
        self.started.append(worker)
        self.hands[worker] = _Hand()

    def send(self, worker: int, batch: Batch) -> None:
        assert self.hands[worker].is_up, "work for a worker that is not up"
        self.hands[worker].batches.append(batch)
        self.sent.append((worker, batch))
        self.most_held = max(self.most_held, len(self.hands[worker].batches))

    def listen(self, timeout_s: float) -> Sequence[ReceivedEvent]:
        self.clock += self.step_s
        self._n_steps += 1
        words = [
            ReceivedEvent(worker, message) for worker in list(self.hands) for message in self._step(worker)
        ]
        death = self.dies_by_itself(self._n_steps)
        if death is not None and self.hands:
            worker = min(self.hands)
            del self.hands[worker]
            words.append(
                ReceivedEvent(worker, WorkerDied("it was unplugged", is_blameless=death == "blameless"))
            )
        return words

    def end(self, worker: int) -> None:
        del self.hands[worker]
        self.ended.append(worker)

    def stats(self) -> Mapping[str, float]:
        return {"nodes": 1.0}

    def close(self) -> None:
        self.hands.clear()
        self.is_closed = True

    def _step(self, worker: int) -> list[WorkerEvent]:
        hand = self.hands[worker]
        if not hand.is_up:
            if self._n_steps < self.up_at(worker):
                return []
            hand.is_up = True
            return [WorkerReady("here", self.opened(worker))]
        if not hand.batches:
            return []
        batch = hand.batches[0]
        answered: list[Response] = []
        for request in batch.requests[hand.at : hand.at + self.n_step]:
            if self.kills(request):
                del self.hands[worker]
                return [*_together(batch, answered), WorkerDied("it was poisoned")]
            if self.hangs(request):
                return _together(batch, answered)
            answered.append(answer_to(request))
            hand.n_answered += 1
            hand.at += 1
        message = _together(batch, answered)
        if hand.at == len(batch.requests):
            hand.batches.popleft()
            hand.at = 0
            message.append(BatchFinished(batch.number, {"tokens": float(hand.n_answered)}))
            if self.forgets and hand.batches and self.kills(hand.batches[0].requests[0]):
                # It went on to the next batch before this was sent.
                del self.hands[worker]
                return [WorkerDied("it was poisoned")]
        return message


def _together(batch: Batch, answered: list[Response]) -> list[WorkerEvent]:
    return [BatchResponses(batch.number, tuple(answered))] if answered else []
