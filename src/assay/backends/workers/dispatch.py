"""Distributes requests to workers, and makes sure that each is answered once, even if workers die.

A worker has one batch in progress and one waiting, so that it is never idle while the next one travels. When
it dies, the waiting batch goes to other workers unchanged. A request of the current batch may have killed
it: its unanswered requests are split into small pieces that run separately, down to single requests. A
request that repeatedly kills its worker while it is alone becomes a `Failure`, and the rest is answered.

Knows neither processes nor clusters, nor what a model does with a batch.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator

import msgspec

from assay.backends.workers.lookahead import FEWEST, Lookahead
from assay.backends.workers.messages import (
    Batch,
    BatchFinished,
    BatchResponses,
    WorkerDied,
    WorkerEvent,
    WorkerFailed,
    WorkerGroup,
    WorkerReady,
)
from assay.core.errors import BackendError, Problem
from assay.core.request import Request
from assay.core.response import Failure, Response

WORKER_DIED = "worker_died"
"""The failure kind of a request that killed its workers."""
_MOST_DEATHS = 3
"""Workers that one request may kill while it is alone; later requests of the same sample only one."""
_DEATHS_AT_FIRST = 8
_DEATHS_IN_A_ROW = 24
"""Workers that may die in a row without an answer: before the first answer of the run, when the model
probably does not load, and later."""
_PIECES = 16
"""Pieces into which the unanswered requests of a dead worker are split."""
_BATCHES_EACH = 2
_LISTEN_S = 1.0
_START_FACTOR = 6
"""Before its first answer, a worker loads its model, which takes an unknown time: it may be silent this many
times as long."""
_SLOWER_START = 2
"""After other workers have answered: how much slower than theirs a worker's start may be."""


class _SentBatch(msgspec.Struct):
    """A batch that was sent to a worker."""

    number: int
    owed: dict[str, Request]
    """Unanswered requests by id, in order."""
    is_suspect: bool = False
    """Whether one of its requests may have killed a worker."""
    is_given_up: bool = False
    """Whether its answers are no longer needed."""


class _Worker(msgspec.Struct):
    """The dispatcher's state of a worker."""

    node: str | None = None
    """None until it is ready."""
    batches: deque[_SentBatch] = msgspec.field(default_factory=deque)
    """The first one is in progress."""
    last_word: float = 0.0
    given_work: float = 0.0
    """When it last received a batch while it had none."""
    has_answered: bool = False


class Dispatcher:
    """Has requests answered by a group of workers."""

    def __init__(
        self,
        group: WorkerGroup,
        *,
        silence_s: float,
        refusal: Callable[[WorkerReady], BackendError | None] = lambda up: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`silence_s`: a worker with work that is silent for longer hangs, and is replaced.

        `refusal`: returns why a ready worker must not get work. This ends the run: with the other workers
        only, it would be slower for no visible reason.
        """
        self._group = group
        self._silence_s = silence_s
        self._refusal = refusal
        self._clock = clock
        self._workers: dict[int, _Worker] = {}
        self._n_started = 0
        self._n_batches = 0
        self._suspects: deque[tuple[Request, ...]] = deque()
        """Batches in which one request may have killed a worker."""
        self._innocent: deque[tuple[Request, ...]] = deque()
        """Batches that were waiting at a worker when it died."""
        self._deaths: dict[str, int] = {}
        """How many workers a request killed while it was alone."""
        self._killers: set[tuple[str, str]] = set()
        """Tasks and samples with a request that was given up."""
        self._n_in_a_row = 0
        """Deaths since the last answer."""
        self._slowest_start_s: float | None = None
        """Seconds from the first batch to the first answer; None: no answer yet."""
        self._stats: dict[int, dict[str, float]] = {}
        self._notes: dict[str, None] = {}
        self.has_more_at_hand = False
        """Whether the next response arrived together with the previous one."""
        self.n_deaths = 0
        self.last_death = ""
        self.n_requeued = 0
        """Requests that were sent again because their worker was lost."""

    # --- the run's side ---

    def run(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Answer requests, in any order, each once."""
        ahead = Lookahead(requests)
        self._forget()
        while True:
            has_room = ahead.fill(max(1, self._n_wanted(ahead)))
            if not (ahead or self._suspects or self._innocent or self._is_at_work):
                if ahead.is_at_end:
                    return
                continue
            self._adjust_workers(ahead)
            self._deal(ahead)
            for event in self._group.listen(0.0 if has_room else _LISTEN_S):
                yield from self._handle_event(event.worker, event.event)
            yield from self._end_silent_workers()

    @property
    def n_up(self) -> int:
        """Return how many workers are ready."""
        return sum(worker.node is not None for worker in list(self._workers.values()))

    @property
    def n_awaited(self) -> int:
        """Return how many workers were started and are not ready yet."""
        return sum(worker.node is None for worker in list(self._workers.values()))

    @property
    def stats(self) -> dict[str, float]:
        """Return the sum of the counters of all models, including those of dead workers. On any thread."""
        total: dict[str, float] = {}
        for stats in list(self._stats.values()):
            for name, value in stats.items():
                total[name] = total.get(name, 0.0) + value
        return total

    @property
    def notes(self) -> list[str]:
        """Return the notes of the models, each once."""
        return list(self._notes)

    def _forget(self) -> None:
        """Discard the rest of an earlier run that was not read to its end."""
        self._suspects.clear()
        self._innocent.clear()
        for worker in self._workers.values():
            for sent in worker.batches:
                sent.owed.clear()
                sent.is_given_up = True

    # --- distributing work ---

    @property
    def _is_at_work(self) -> bool:
        """Return whether answers, or the counters at the end of a batch, are still expected."""
        return any(not sent.is_given_up for worker in self._workers.values() for sent in worker.batches)

    def _n_wanted(self, ahead: Lookahead) -> int:
        """Return how many workers there should be: no more than there is work for."""
        if not ahead.is_at_end:
            return self._group.n_wanted
        n_left = len(ahead) + sum(map(len, (*self._suspects, *self._innocent)))
        n_busy = sum(bool(worker.batches) for worker in self._workers.values())
        return min(self._group.n_wanted, n_busy + -(-n_left // FEWEST))

    def _adjust_workers(self, ahead: Lookahead) -> None:
        n_wanted = self._n_wanted(ahead)
        while len(self._workers) < n_wanted:
            self._n_started += 1
            self._workers[self._n_started] = _Worker(last_word=self._clock())
            self._group.start(self._n_started)
        idle = [number for number, worker in self._workers.items() if not worker.batches]
        # Workers that are not ready yet are ended before those with a loaded model.
        for number in sorted(idle, key=lambda number: self._workers[number].node is not None):
            # The cluster has become smaller.
            if len(self._workers) > max(1, self._group.n_wanted):
                del self._workers[number]
                self._group.end(number)

    def _deal(self, ahead: Lookahead) -> None:
        """Give every worker the batches it lacks, idle workers first.

        Requests of dead workers come before new ones: samples are written in order, and all later ones wait
        for them. A suspect batch is alone at its worker, so that no other request is suspected. While one
        waits, workers finish the batches they have.
        """
        up = {number: worker for number, worker in self._workers.items() if worker.node is not None}
        for number, worker in up.items():
            if self._suspects and not worker.batches:
                self._give(number, worker, self._suspects.popleft(), is_suspect=True)
        for n_batches in range(_BATCHES_EACH):
            for number, worker in up.items():
                if self._suspects or len(worker.batches) != n_batches:
                    continue
                if any(sent.is_suspect for sent in worker.batches):
                    continue
                # Workers that are still starting count: the first ready worker must not take their share.
                n_sharing = len(self._workers)
                requests = self._innocent.popleft() if self._innocent else ahead.take(n_sharing)
                if not requests:
                    return
                self._give(number, worker, requests)

    def _give(
        self, number: int, worker: _Worker, requests: tuple[Request, ...], *, is_suspect: bool = False
    ) -> None:
        self._n_batches += 1
        if not worker.batches:
            worker.last_word = self._clock()
            worker.given_work = worker.last_word
        worker.batches.append(_SentBatch(self._n_batches, {r.id: r for r in requests}, is_suspect))
        self._group.send(number, Batch(self._n_batches, requests))

    # --- handling events ---

    def _handle_event(self, number: int, event: WorkerEvent) -> Iterator[Response]:
        worker = self._workers.get(number)
        if worker is None:
            return
        worker.last_word = self._clock()
        match event:
            case WorkerReady():
                self._accept_worker(number, worker, event)
            case BatchResponses(batch, responses):
                yield from self._accept_responses(worker, batch, responses)
            case BatchFinished(batch, stats, notes):
                self._stats[number] = stats
                self._notes.update(dict.fromkeys(notes))
                yield from self._finish_batch(worker, batch)
            case WorkerFailed():
                raise event.error()
            case WorkerDied(why, is_blameless):
                yield from self._remove_worker(number, why, is_blameless=is_blameless)

    def _accept_worker(self, number: int, worker: _Worker, up: WorkerReady) -> None:
        error = self._refusal(up)
        if error is not None:
            del self._workers[number]
            self._group.end(number)
            raise error
        worker.node = up.node

    def _accept_responses(
        self, worker: _Worker, batch: int, responses: tuple[Response, ...]
    ) -> Iterator[Response]:
        if not worker.has_answered:
            worker.has_answered = True
            took_s = worker.last_word - worker.given_work
            self._slowest_start_s = max(self._slowest_start_s or 0.0, took_s)
        self._n_in_a_row = 0
        sent = next((entry for entry in worker.batches if entry.number == batch), None)
        # Responses that are no longer expected belong to a run that was given up.
        expected = [] if sent is None else [r for r in responses if sent.owed.pop(r.request_id, None)]
        for n_left, response in zip(range(len(expected) - 1, -1, -1), expected, strict=True):
            self.has_more_at_hand = n_left > 0
            yield response

    def _finish_batch(self, worker: _Worker, batch: int) -> Iterator[Response]:
        if not worker.batches or worker.batches[0].number != batch:
            return
        for request in worker.batches.popleft().owed.values():
            yield _make_failed_response(
                request, Failure("no_answer", "the model returned no answer to this request")
            )

    # --- deaths ---

    def _end_silent_workers(self) -> Iterator[Response]:
        now = self._clock()
        for number, worker in list(self._workers.items()):
            patience_s = self._patience_s(worker)
            if worker.batches and now - worker.last_word > patience_s:
                self._group.end(number)
                yield from self._remove_worker(
                    number, f"it did not answer for {patience_s:,.0f} s and was terminated"
                )

    def _patience_s(self, worker: _Worker) -> float:
        """Return how long a worker with work may be silent."""
        if worker.has_answered:
            return self._silence_s
        if self._slowest_start_s is None:
            return self._silence_s * _START_FACTOR
        return self._silence_s + self._slowest_start_s * _SLOWER_START

    def _remove_worker(self, number: int, why: str, *, is_blameless: bool = False) -> Iterator[Response]:
        """Remove a worker; its requests go to others."""
        worker = self._workers.pop(number)
        self.n_deaths += 1
        self.last_death = why
        lost = [tuple(sent.owed.values()) for sent in worker.batches if sent.owed]
        self.n_requeued += sum(map(len, lost))
        if is_blameless:
            self._innocent.extend(lost)
            return
        self._n_in_a_row += 1
        if worker.batches and worker.batches[0].owed:
            current, *waiting = lost
            yield from self._isolate_suspects(current, why)
        else:
            waiting = lost
        self._innocent.extend(waiting)
        if self._n_in_a_row >= (_DEATHS_AT_FIRST if self._slowest_start_s is None else _DEATHS_IN_A_ROW):
            raise _make_dying_error(self._n_in_a_row, why)

    def _isolate_suspects(self, requests: tuple[Request, ...], why: str) -> Iterator[Response]:
        if len(requests) > 1:
            size = -(-len(requests) // _PIECES)
            self._suspects.extend(requests[at : at + size] for at in range(0, len(requests), size))
            return
        (request,) = requests
        n = self._deaths.pop(request.id, 0) + 1
        sample = (request.task, request.sample_id)
        if n < _MOST_DEATHS and sample not in self._killers:
            self._deaths[request.id] = n
            # Next: the cause is known sooner, and other requests of its sample need to kill only one worker.
            self._suspects.appendleft(requests)
            return
        self._killers.add(sample)
        self.n_requeued -= 1
        died = (
            "a worker died while it processed only this request"
            if n == 1
            else f"{n} workers died while they processed only this request"
        )
        message = f"{died}; the last one: {why}"
        yield _make_failed_response(request, Failure(WORKER_DIED, message, attempts=n))


def _make_failed_response(request: Request, failure: Failure) -> Response:
    return Response(request.id, request.key, failure)


def _make_dying_error(n: int, why: str) -> BackendError:
    what = f"{n} workers in a row died without an answer; the last one: {why}"
    fix = (
        "run the same command without --workers and --on to see the error; finished requests are kept, and "
        "the same command resumes"
    )
    return BackendError(Problem("WORKER-004", what, fix))
