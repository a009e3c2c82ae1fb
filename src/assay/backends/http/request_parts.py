"""Requests that take several calls: what came of each part, put together when the last one is there."""

from __future__ import annotations

import time
from typing import NamedTuple

from assay.core.request import Generate, Request
from assay.core.response import Completion, Failure, LabelProbs, Likelihood, Outcome, Output, Response


class PartAnswer(NamedTuple):
    """What came of one part."""

    request: Request
    number: int
    """Which of the request's texts is the first of this part."""
    outcome: tuple[Output, ...] | Likelihood | LabelProbs | Failure
    seconds: float
    n_prompt_tokens: int = 0
    first_s: float = 0.0
    """Until the first text came, where the server streams."""


class PendingRequests:
    """The requests of which parts are owed."""

    def __init__(self) -> None:
        self._n_owed: dict[str, int] = {}
        self._answers: dict[str, list[PartAnswer]] = {}
        self._last = time.perf_counter()

    def expect(self, request: Request, n_parts: int) -> None:
        """Note that a request has so many parts."""
        self._n_owed[request.id] = n_parts
        self._answers[request.id] = []

    def complete(self, answer: PartAnswer) -> Response | None:
        """Take an answer; return the response to its request, if it was the last one owed."""
        request = answer.request
        answers = self._answers[request.id]
        answers.append(answer)
        if len(answers) < self._n_owed[request.id]:
            return None
        del self._n_owed[request.id], self._answers[request.id]
        latency_s = max(one.seconds for one in answers)
        first_s = min((one.first_s for one in answers if one.first_s), default=0.0)
        outcome = _outcome(request, answers)
        return Response(request.id, request.key, outcome, self._share(), latency_s=latency_s, first_s=first_s)

    def _share(self) -> float:
        """Return the time since the response before: calls run side by side, their times do not add up."""
        now = time.perf_counter()
        share, self._last = now - self._last, now
        return share


def _outcome(request: Request, answers: list[PartAnswer]) -> Outcome:
    """Return what all parts together answer: all texts in their order, or the first that is none."""
    outputs: list[Output] = []
    answers.sort(key=lambda answer: answer.number)
    for answer in answers:
        if not isinstance(answer.outcome, tuple):
            return answer.outcome
        outputs += answer.outcome
    assert isinstance(request.ask, Generate)
    if len(outputs) == 1:
        outputs *= request.ask.sampling.n  # Greedy texts are equal: one was written.
    return Completion(tuple(outputs), answers[0].n_prompt_tokens)
