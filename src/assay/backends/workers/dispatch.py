"""Deals requests out to workers, and sees to it that each is answered once, whatever becomes of a worker.

A worker has one batch under way and one that waits, so that it never idles while the next one travels. When
it dies, the batch that waited goes to others as it was. Something in the batch under way may have killed it:
what was not yet answered of it is cut into small pieces that are asked apart, down to single requests; one
that kills its worker again and again while it is alone there becomes a `Failure`, and the rest is answered.

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
    WorkerReady,
)
from assay.backends.workers.worker_group import WorkerGroup
from assay.core.errors import BackendError, Problem
from assay.core.request import Request
from assay.core.response import Failure, Response

WORKER_DIED = "worker_died"
"""The trouble of a request that killed its workers."""
_MOST_DEATHS = 3
"""Workers that one request may kill while it is alone there; the next of the same sample only one."""
_DEATHS_AT_FIRST = 8
_DEATHS_IN_A_ROW = 24
"""Workers that may die one after the other with no answer between them: before the first answer of all, when
it is likely that the model does not even load, and later."""
_PIECES = 16
"""What was under way at a death is cut into so many pieces."""
_BATCHES_EACH = 2
_LISTEN_S = 1.0
_START_FACTOR = 6
"""Before its first answer a worker loads its model, and nobody knows how long that takes: it may be silent so
many times as long."""
_SLOWER_START = 2
"""Once others have answered: how much slower than theirs the start of a worker may be."""


class _SentBatch(msgspec.Struct):
    """A batch at a worker."""

    number: int
    owed: dict[str, Request]
    """By id, in their order, what is not answered yet."""
    is_suspect: bool = False
    """Whether one of its requests may have killed a worker."""
    is_given_up: bool = False
    """Whether nobody waits for it any more."""


class _Worker(msgspec.Struct):
    """A worker as the dispatcher knows it."""

    node: str | None = None
    """None before it is up."""
    batches: deque[_SentBatch] = msgspec.field(default_factory=deque)
    """The first is under way."""
    last_word: float = 0.0
    given_work: float = 0.0
    """When it was last sent a batch and had none."""
    has_answered: bool = False


class Dispatcher:
    """Has requests answered by a crew."""

    def __init__(
        self,
        crew: WorkerGroup,
        *,
        silence_s: float,
        refusal: Callable[[WorkerReady], BackendError | None] = lambda up: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`silence_s`: a worker that has work and says nothing for so long hangs, and is replaced.

        `refusal`: why a worker that came up may not be given work. That ends the run: with the others alone
        it would be slower and nobody would know why.
        """
        self._crew = crew
        self._silence_s = silence_s
        self._refusal = refusal
        self._clock = clock
        self._workers: dict[int, _Worker] = {}
        self._n_started = 0
        self._n_batches = 0
        self._suspects: deque[tuple[Request, ...]] = deque()
        """Batches of which one request may have killed a worker."""
        self._innocent: deque[tuple[Request, ...]] = deque()
        """Batches that were with a worker when it died, and not begun."""
        self._deaths: dict[str, int] = {}
        """How many workers a request killed while it was alone."""
        self._killers: set[tuple[str, str]] = set()
        """Tasks and samples of which a request was given up."""
        self._n_in_a_row = 0
        """Deaths since the last answer."""
        self._slowest_start_s: float | None = None
        """From the first batch to the first answer; None: there was none yet."""
        self._stats: dict[int, dict[str, float]] = {}
        self._notes: dict[str, None] = {}
        self.has_more_at_hand = False
        """Whether the next response came together with the one before."""
        self.n_deaths = 0
        self.last_death = ""
        self.n_requeued = 0
        """Requests that had to be asked again, since their worker was gone."""

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
            for word in self._crew.listen(0.0 if has_room else _LISTEN_S):
                yield from self._heard(word.worker, word.said)
            yield from self._end_silent_workers()

    @property
    def n_up(self) -> int:
        """Return how many workers can be given work."""
        return sum(worker.node is not None for worker in list(self._workers.values()))

    @property
    def n_awaited(self) -> int:
        """Return how many were started and cannot be given work yet."""
        return sum(worker.node is None for worker in list(self._workers.values()))

    @property
    def stats(self) -> dict[str, float]:
        """Return the counters of all models together, those of dead workers included. On any thread."""
        added: dict[str, float] = {}
        for stats in list(self._stats.values()):
            for name, value in stats.items():
                added[name] = added.get(name, 0.0) + value
        return added

    @property
    def notes(self) -> list[str]:
        """Return what the models had to say, each thing once."""
        return list(self._notes)

    def _forget(self) -> None:
        """Let go of what an earlier run left behind that was not heard to its end."""
        self._suspects.clear()
        self._innocent.clear()
        for worker in self._workers.values():
            for sent in worker.batches:
                sent.owed.clear()
                sent.is_given_up = True

    # --- giving out work ---

    @property
    def _is_at_work(self) -> bool:
        """Whether answers are owed, or the counters that a model tells at the end of a batch."""
        return any(not sent.is_given_up for worker in self._workers.values() for sent in worker.batches)

    def _n_wanted(self, ahead: Lookahead) -> int:
        """Return how many workers there should be: no more than there is work for."""
        if not ahead.is_at_end:
            return self._crew.n_wanted
        n_left = len(ahead) + sum(map(len, (*self._suspects, *self._innocent)))
        n_busy = sum(bool(worker.batches) for worker in self._workers.values())
        return min(self._crew.n_wanted, n_busy + -(-n_left // FEWEST))

    def _adjust_workers(self, ahead: Lookahead) -> None:
        n_wanted = self._n_wanted(ahead)
        while len(self._workers) < n_wanted:
            self._n_started += 1
            self._workers[self._n_started] = _Worker(last_word=self._clock())
            self._crew.start(self._n_started)
        idle = [number for number, worker in self._workers.items() if not worker.batches]
        # Who still waits for a place goes before one that has its model.
        for number in sorted(idle, key=lambda number: self._workers[number].node is not None):
            # The cluster has become smaller.
            if len(self._workers) > max(1, self._crew.n_wanted):
                del self._workers[number]
                self._crew.end(number)

    def _deal(self, ahead: Lookahead) -> None:
        """Give every worker what it lacks; those that have nothing come first.

        What was with the dead is dealt out before anything new: samples are written in order, and all others
        wait for it. A suspect is alone with its worker, so that no other can be taken for the killer; while
        one waits, workers come to their end with what they have.
        """
        up = {number: worker for number, worker in self._workers.items() if worker.node is not None}
        for number, worker in up.items():
            if self._suspects and not worker.batches:
                self._give(number, worker, self._suspects.popleft(), is_suspect=True)
        for n_held in range(_BATCHES_EACH):
            for number, worker in up.items():
                if self._suspects or len(worker.batches) != n_held:
                    continue
                if any(sent.is_suspect for sent in worker.batches):
                    continue
                # Those that are still starting count: who is up first must not take their share too.
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
        worker.batches.append(_SentBatch(self._n_batches, {one.id: one for one in requests}, is_suspect))
        self._crew.send(number, Batch(self._n_batches, requests))

    # --- hearing of it ---

    def _heard(self, number: int, said: WorkerEvent) -> Iterator[Response]:
        worker = self._workers.get(number)
        if worker is None:
            return
        worker.last_word = self._clock()
        match said:
            case WorkerReady():
                self._accept_worker(number, worker, said)
            case BatchResponses(batch, responses):
                yield from self._taken(worker, batch, responses)
            case BatchFinished(batch, stats, notes):
                self._stats[number] = stats
                self._notes.update(dict.fromkeys(notes))
                yield from self._finished(worker, batch)
            case WorkerFailed():
                raise said.error()
            case WorkerDied(why, is_blameless):
                yield from self._lost(number, why, is_blameless=is_blameless)

    def _accept_worker(self, number: int, worker: _Worker, up: WorkerReady) -> None:
        refused = self._refusal(up)
        if refused is not None:
            del self._workers[number]
            self._crew.end(number)
            raise refused
        worker.node = up.node

    def _taken(self, worker: _Worker, batch: int, responses: tuple[Response, ...]) -> Iterator[Response]:
        if not worker.has_answered:
            worker.has_answered = True
            took_s = worker.last_word - worker.given_work
            self._slowest_start_s = max(self._slowest_start_s or 0.0, took_s)
        self._n_in_a_row = 0
        sent = next((one for one in worker.batches if one.number == batch), None)
        # What nobody waits for any more was asked by a run that was given up.
        wanted = [] if sent is None else [one for one in responses if sent.owed.pop(one.request_id, None)]
        for n_left, response in zip(range(len(wanted) - 1, -1, -1), wanted, strict=True):
            self.has_more_at_hand = n_left > 0
            yield response

    def _finished(self, worker: _Worker, batch: int) -> Iterator[Response]:
        if not worker.batches or worker.batches[0].number != batch:
            return
        for request in worker.batches.popleft().owed.values():
            yield _make_failed_response(
                request, Failure("no_answer", "the model gave no answer to this request")
            )

    # --- deaths ---

    def _end_silent_workers(self) -> Iterator[Response]:
        now = self._clock()
        for number, worker in list(self._workers.items()):
            patience_s = self._patience_s(worker)
            if worker.batches and now - worker.last_word > patience_s:
                self._crew.end(number)
                yield from self._lost(number, f"it gave no answer for {patience_s:,.0f} s, and was ended")

    def _patience_s(self, worker: _Worker) -> float:
        """Return how long a worker that has work may be silent."""
        if worker.has_answered:
            return self._silence_s
        if self._slowest_start_s is None:
            return self._silence_s * _START_FACTOR
        return self._silence_s + self._slowest_start_s * _SLOWER_START

    def _lost(self, number: int, why: str, *, is_blameless: bool = False) -> Iterator[Response]:
        """Take a worker off the list; what it had goes to others."""
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
            under_way, *waiting = lost
            yield from self._isolate_suspects(under_way, why)
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
            # At once: it is known sooner, and others of its sample then need to kill only one worker.
            self._suspects.appendleft(requests)
            return
        self._killers.add(sample)
        self.n_requeued -= 1
        died = (
            "a worker that was asked this alone died"
            if n == 1
            else f"{n} workers that were asked this alone died"
        )
        message = f"{died}; of the last: {why}"
        yield _make_failed_response(request, Failure(WORKER_DIED, message, attempts=n))


def _make_failed_response(request: Request, failure: Failure) -> Response:
    return Response(request.id, request.key, failure)


def _make_dying_error(n: int, why: str) -> BackendError:
    what = f"{n} workers died one after the other and none of them answered anything; of the last: {why}"
    fix = (
        "try the same command without --workers and --on, to see what goes wrong; what was answered is kept, "
        "and the same command goes on"
    )
    return BackendError(Problem("WORKER-004", what, fix))
