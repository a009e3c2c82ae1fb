"""The evaluation loop: samples become requests, and responses become scores, in order and in bounded memory.

The backend pulls requests when it has capacity, so nothing is rendered before it is needed and nothing is
kept in memory after it is scored. Requests answered in the journal or the cache are never sent again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from typing import Protocol

from assay.core.errors import RAISED_BY_AUTHORS, BudgetReached
from assay.core.method import Method
from assay.core.ports import Aggregator, Backend, Journal, ResponseCache, Sink
from assay.core.request import Request
from assay.core.response import Completion, Failure, Likelihood, Outcome, Response
from assay.core.run import Cost, ServerSpeed
from assay.core.sample import Sample
from assay.core.score import Score, Verdict
from assay.core.tally import SCORING, MethodPace, Tally
from assay.core.task import AnsweredRequest, CorpusScorer, Evaluation, RunningScorer, Scorer, Task
from assay.core.time_profile import measuring
from assay.engine.context_fitting import ContextFitter
from assay.engine.lost_scores import (
    DeferredSample,
    describe_scoring_problem,
    is_fatal_error,
    make_failed_scores,
)
from assay.engine.multi_turn import MultiTurnRunner
from assay.engine.pending_samples import PendingSample, PendingSamples
from assay.engine.server_speed import SpeedGauge
from assay.engine.spending import BudgetGate, Meter
from assay.engine.uniform_rejections import check_uniform_rejections

_MEMO_LIMIT = 50_000
_PROGRESS_EVERY = 64
"""Progress is reported after this many started samples while no answer arrives."""
_MANY_DEFERRED = 100_000
"""A note reports deferred scoring from this many samples on."""
_MEMO_TOKENS = 1024
"""Longer answers are not kept in memory."""


class RequestBuilder(Protocol):
    """Builds the requests of a sample that fit the model, like `ContextFitter`."""

    def requests(self, task: Task, sample: Sample) -> Sequence[Request]:
        """Return the requests for a sample."""

    def note(self, cost: Cost, n_samples: int) -> str:
        """Return a note about how many examples a method of a task had to omit."""


class Execution:
    """One run of tasks on a backend."""

    def __init__(
        self,
        tasks: Sequence[Task],
        backend: Backend,
        scorers: Mapping[str, Sequence[Scorer | CorpusScorer]],
        *,
        journal: Journal,
        cache: ResponseCache,
        sink: Sink,
        aggregator: Aggregator,
        on_progress: Callable[[Tally], None],
        fitting: RequestBuilder | None = None,
        keeps_going: bool = True,
        meter: Meter | None = None,
        gate: BudgetGate | None = None,
    ) -> None:
        """`keeps_going`: whether to continue if the first requests are all rejected the same way.

        `meter` adds up the cost of the answers; None: they have none. `gate` keeps the run within its budget.
        """
        self._tasks = tasks
        self._turns = MultiTurnRunner(backend)
        self._fitting = fitting or ContextFitter(backend)
        self._scorers = {
            task: [scorer for scorer in named if isinstance(scorer, Scorer)]
            for task, named in scorers.items()
        }
        self._corpus_scorers = {
            task: [scorer for scorer in named if not isinstance(scorer, Scorer)]
            for task, named in scorers.items()
        }
        self._journal = journal
        self._cache = cache
        self._sink = sink
        self._aggregator = aggregator
        self._on_progress = on_progress
        self._keeps_going = keeps_going
        self._gate = gate
        self._meter = meter
        self._is_held = False
        """Whether the next sample waits for the budget."""
        self._reached: BudgetReached | None = None
        """Set when the judge reached the budget; requests in progress are then only stored."""
        self.tally = Tally(n_samples=sum(task.spec.n_samples for task in tasks))
        self._samples: Iterator[tuple[Task, Sample]] = (
            (task, sample) for task in tasks for sample in task.samples()
        )
        self._are_all_begun = False
        self._pending = PendingSamples()
        # Samples that wait for an ask: the first request with a key is sent, the others wait for its answer.
        self._waiting: dict[str, list[tuple[PendingSample, int]]] = {}
        self._memo: dict[str, Outcome] = {}
        self._failed: set[tuple[str, str]] = set()
        """Failed samples that can fail again when their whole list is scored."""
        self._deferred: dict[str, list[DeferredSample]] = {}
        """Samples of tasks that are scored after all samples are complete."""
        self._lost: dict[tuple[str, str], str] = {}
        """Tasks and tracks whose scoring code raised while it received a sample, and why."""
        self._scoring_notes: list[str] = []
        self._gauge = SpeedGauge()

    def run(self) -> Tally:
        """Process all remaining requests; raise BudgetReached if the budget does not allow all of them."""
        responses = self._responses()
        if not self._keeps_going:
            responses = check_uniform_rejections(responses, lambda: self.tally.n_cached > 0)
        try:
            for response in responses:
                self._settle(response)
        finally:
            self._journal.flush()
        if self._reached is not None:
            raise self._reached
        self._score_completed()
        with measuring("score"):
            self._score_corpora()
        return self.tally

    def notes(self) -> list[str]:
        """Return notes for the user about how the samples were evaluated."""
        sizes = {task.spec.name: task.spec.n_samples for task in self._tasks}
        costs = self.tally.costs.values()
        shortened = [self._fitting.note(cost, sizes[cost.task]) for cost in costs if cost.n_shortened]
        return [*shortened, *self._scoring_notes]

    def speed(self) -> ServerSpeed | None:
        """Return how fast the model's server was; None without a server."""
        return self._gauge.speed()

    def _responses(self) -> Iterator[Response]:
        gate = self._gate
        while not self._are_all_begun and self._reached is None:
            if gate is None:
                yield from self._turns.run(self._iterate_missing())
                continue
            n_sent = gate.n_sent
            with closing(self._turns.run(self._iterate_missing())) as responses:
                for response in responses:
                    yield response
                    if gate.may_drop and gate.is_used_up and not self._turns.has_more_at_hand:
                        raise gate.reached()
            if self._is_held and gate.n_sent == n_sent:
                raise gate.reached()

    def _iterate_missing(self) -> Iterator[Request]:
        """Iterate over the samples and yield the requests that are not answered yet.

        Stops early if too many samples wait for the first one. After the backend has answered its requests,
        those samples complete, and the iteration continues.
        """
        tally, waiting = self.tally, self._waiting
        self._is_held = False
        for task, sample in self._samples:
            with measuring("requests"):
                requests = self._fitting.requests(task, sample)
            if self._reached is not None:
                return
            if self._gate is not None and not self._may_begin(requests, self._gate):
                self._samples = chain([(task, sample)], self._samples)
                self._is_held = True
                return
            tally.n_begun += 1
            pending = self._pending.begin(task, sample, requests)
            for index, request in enumerate(requests):
                tally.n_requests += 1
                self._pace(request).n_requests += 1
                if (response := self._find_stored(request)) is not None:
                    self._answer(pending, index, response)
                elif request.key in waiting:
                    waiting[request.key].append((pending, index))
                else:
                    waiting[request.key] = [(pending, index)]
                    self._journal.flush()
                    if self._gate is not None and self._meter is not None:
                        self._gate.reserve(request, self._meter)
                    yield request
            # Progress does not have to be reported for every started sample.
            if not pending.n_missing or not tally.n_begun % _PROGRESS_EVERY:
                self._score_completed()
            if self._pending.is_backlog_full:
                return
        self._are_all_begun = True

    def _may_begin(self, requests: Sequence[Request], gate: BudgetGate) -> bool:
        """Return whether the budget allows the requests of a sample that are not answered yet."""
        assert self._meter is not None  # A budget needs one.
        missing = [
            one
            for one in requests
            if one.key not in self._waiting
            and self._journal.get(one.id, one.key) is None
            and not self._memo.get(one.key)
            and self._journal.answer(one.key) is None
            and self._cache.get(one.key) is None
        ]
        return not missing or gate.may_send(missing, self._meter)

    def _find_stored(self, request: Request) -> Response | None:
        """Return the stored answer to a request, or None."""
        response = self._journal.get(request.id, request.key)
        if response is not None:
            self.tally.n_journaled += 1
            return response
        outcome = self._memo.get(request.key) or self._journal.answer(request.key)
        if outcome is not None:
            self.tally.n_shared += 1
        else:
            outcome = self._cache.get(request.key)
            if outcome is None:
                return None
            self.tally.n_cached += 1
        response = Response(request.id, request.key, outcome, cached=True)
        self._journal.append(response)
        return response

    def _settle(self, response: Response) -> None:
        """Process a response from the backend: journal it, then pass it to all samples that wait for it."""
        if self._gate is not None and self._meter is not None:
            self._gate.settle(response, self._meter)
        with measuring("journal"):
            self._store(response)
        if self._reached is None:
            try:
                self._score_completed()
            except BudgetReached as reached:
                self._reached = reached

    def _store(self, response: Response) -> None:
        waiting = self._waiting.pop(response.key)
        first = True
        for pending, index in waiting:
            request_id = pending.requests[index].id
            journaled = (
                response if first else Response(request_id, response.key, response.outcome, cached=True)
            )
            self._journal.append(journaled)
            self._answer(pending, index, journaled, is_from_model=first)
            self.tally.n_shared += not first
            first = False
        if not isinstance(response.outcome, Failure):
            self._cache.put(response.key, response.outcome)
            self._remember(response)
        if not self._turns.has_more_at_hand:
            self._journal.flush()

    def _remember(self, response: Response) -> None:
        outcome = response.outcome
        is_long = isinstance(outcome, Likelihood) and outcome.n_tokens > _MEMO_TOKENS
        if isinstance(outcome, Completion) or is_long:
            return  # Generation prompts and whole texts rarely repeat, and would fill memory.
        if len(self._memo) >= _MEMO_LIMIT:
            self._memo.clear()
        self._memo[response.key] = response.outcome

    def _pace(self, request: Request) -> MethodPace:
        methods = self.tally.methods
        return methods.get(request.track) or methods.setdefault(request.track, MethodPace())

    def _answer(
        self, pending: PendingSample, index: int, response: Response, *, is_from_model: bool = False
    ) -> None:
        self.tally.n_answered += 1
        pace = self._pace(pending.requests[index])
        pace.n_answered += 1
        if is_from_model:
            pace.time(response.seconds)
        if self._pending.add_answer(pending, index, response):
            self.tally.n_done += 1

    def _score_completed(self) -> None:
        """Score and write the completed samples, in order."""
        if self._pending.has_completed:
            with measuring("score"):
                for pending in self._pending.pop_completed():
                    self._score(pending)
        self._on_progress(self.tally)

    def _score(self, pending: PendingSample) -> None:
        answers = [
            AnsweredRequest(request, response)
            for request, response in zip(pending.requests, pending.answers, strict=True)
            if response is not None
        ]
        scores: list[Score] = []
        task = pending.task.spec.name
        for scorer in self._scorers[task]:
            score = self._score_sample(scorer, task, pending.sample, answers)
            self._aggregator.add(score)
            scores.append(score)
        for late in self._corpus_scorers[task]:
            self._defer_sample(late, task, pending.sample, answers)
        # The error of a failed request is more informative than that of the score that failed because of it.
        self._count(answers)
        self._note_failures(scores)
        if self._failed and not self._corpus_scorers[task]:
            self._failed.discard((task, pending.sample.id))
        landed = self.tally.landed
        landed[task] = landed.get(task, 0) + 1
        self._sink.write(task, pending.sample, pending.requests, scores)

    def _score_sample(
        self, scorer: Scorer, task: str, sample: Sample, answers: Sequence[AnsweredRequest]
    ) -> Score:
        """Return a sample's score, or a failed score if the scorer raises."""
        try:
            return scorer.score(sample, _select_track(scorer.track, answers))
        except RAISED_BY_AUTHORS as error:
            if is_fatal_error(error):
                raise
            why = str(describe_scoring_problem(error, task, scorer.track))
            return make_failed_scores([DeferredSample.of(sample)], task, scorer.track, why)[0]

    def _defer_sample(
        self, scorer: CorpusScorer, task: str, sample: Sample, answers: Sequence[AnsweredRequest]
    ) -> None:
        """Pass a sample to a corpus scorer. A list with a missing sample is not scored."""
        if scorer is self._corpus_scorers[task][0]:
            self._deferred.setdefault(task, []).append(DeferredSample.of(sample))
        if (task, scorer.track) in self._lost:
            return
        try:
            scorer.add(sample, _select_track(scorer.track, answers))
        except RAISED_BY_AUTHORS as error:
            if is_fatal_error(error):
                raise
            self._lost[task, scorer.track] = str(describe_scoring_problem(error, task, scorer.track))

    def _finish_scorer(self, scorer: CorpusScorer | RunningScorer, task: str) -> Evaluation:
        """Return the results of a scorer over all samples. If it raises, the method has no score."""
        why = self._lost.get((task, scorer.track))
        if why is None:
            try:
                return scorer.finish()
            except RAISED_BY_AUTHORS as error:
                if is_fatal_error(error):
                    raise
                why = str(describe_scoring_problem(error, task, scorer.track))
        self._aggregator.lose(task, scorer.track, why)
        return Evaluation(make_failed_scores(self._deferred.get(task, ()), task, scorer.track, why))

    def _score_corpora(self) -> None:
        """Score the tracks that need all samples, and collect the results of running scorers."""
        for task, running in self._scorers.items():
            for scorer in running:
                if isinstance(scorer, RunningScorer):
                    self._aggregator.take(self._finish_scorer(scorer, task)._replace(scores=()))
        for task, scorers in self._corpus_scorers.items():
            evaluations = [self._finish_scorer(scorer, task) for scorer in scorers]
            if scorers and (n := self.tally.landed.get(task, 0)) >= _MANY_DEFERRED:
                note = f"{task}: {n:,} samples were kept in memory until all were answered"
                self._scoring_notes.append(f"{note}, because its metrics need the whole list")
            for evaluation in evaluations:
                self._aggregator.take(evaluation)
                self._scoring_notes += [note for note in evaluation.notes if note not in self._scoring_notes]
            # The scores of all methods for one sample together.
            for scores in zip(*(evaluation.scores for evaluation in evaluations), strict=True):
                self._note_failures(scores)
                self._sink.write_scores(scores)
            if scorers:
                self._on_progress(self.tally)

    def _note_failures(self, scores: Iterable[Score]) -> None:
        """Count failed samples; a metric or a judge can fail on a good answer."""
        for score in scores:
            if score.verdict is Verdict.FAILED:
                self._fail(score.task, score.sample_id, SCORING, score.why or SCORING)

    def _fail(self, task: str, sample_id: str, reason: str, message: str) -> None:
        """Count a failed sample once."""
        if (task, sample_id) in self._failed:
            return
        self._failed.add((task, sample_id))
        self.tally.n_failed += 1
        self.tally.failures[reason] = self.tally.failures.get(reason, 0) + 1
        self.tally.last_failure = f"{sample_id}: {message}"

    def _count(self, answers: Sequence[AnsweredRequest]) -> None:
        shots: dict[str, tuple[Cost, Request]] = {}
        for request, response in answers:
            track = (request.task, request.track)
            cost = self.tally.costs.get(track)
            if cost is None:
                cost = self.tally.costs[track] = Cost(*track)
            cost.n_requests += 1
            if request.n_shots or request.n_shots_left_out:
                shots[request.track] = cost, request
            cost.seconds += response.seconds
            if self._meter is not None:
                usd = self._meter.add(response)
                cost.usd += usd or 0.0
                cost.n_unpriced += usd is None
            self._gauge.add(response)
            outcome = response.outcome
            if isinstance(outcome, Failure):
                # Not every server can score an option alone. If that decides, the score fails.
                if request.role != "unconditional":
                    message = f"{outcome.kind}: {outcome.message}"
                    self._fail(request.task, request.sample_id, outcome.kind, message)
                continue
            cost.n_prompt_tokens += outcome.n_prompt_tokens
            if isinstance(outcome, Completion):
                cost.n_generated_tokens += sum([output.n_tokens for output in outcome.outputs])
                for output in outcome.outputs:
                    if output.has_thought:
                        cost.n_thoughts += 1
                        cost.n_thinking_tokens += output.n_thinking_tokens
                        cost.n_cut_thoughts += output.is_cut_in_thought
            elif isinstance(outcome, Likelihood):
                cost.n_scored_tokens += outcome.n_tokens
        # All requests of a track show the same examples, so count them once.
        for cost, request in shots.values():
            cost.n_shots += request.n_shots
            cost.n_shots_left_out += request.n_shots_left_out
            cost.n_shortened += request.n_shots_left_out > 0


def _select_track(track: Method, answers: Sequence[AnsweredRequest]) -> list[AnsweredRequest]:
    return [answer for answer in answers if answer.request.track == track]
