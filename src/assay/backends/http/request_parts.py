"""Requests that need several calls: collects the answers to their parts and builds the response."""

from __future__ import annotations

import time
from functools import reduce
from typing import NamedTuple

from assay.core.billing import Bill
from assay.core.request import Generate, Request
from assay.core.response import Completion, Failure, LabelProbs, Likelihood, Outcome, Output, Response


class PartAnswer(NamedTuple):
    """The answer to one part of a request."""

    request: Request
    number: int
    """The number of this part's first text within the request."""
    outcome: tuple[Output, ...] | Likelihood | LabelProbs | Failure
    seconds: float
    n_prompt_tokens: int = 0
    first_s: float = 0.0
    """Seconds until the first text, if the server streams."""
    bill: Bill | None = None
    """What the server reported about its calls; None: nothing."""


class PendingRequests:
    """Requests with unanswered parts."""

    def __init__(self) -> None:
        self._n_parts: dict[str, int] = {}
        self._answers: dict[str, list[PartAnswer]] = {}
        self._last = time.perf_counter()

    def expect(self, request: Request, n_parts: int) -> None:
        """Register a request with this many parts."""
        self._n_parts[request.id] = n_parts
        self._answers[request.id] = []

    def complete(self, answer: PartAnswer) -> Response | None:
        """Take an answer; return the response to its request if it was the last part."""
        request = answer.request
        answers = self._answers[request.id]
        answers.append(answer)
        if len(answers) < self._n_parts[request.id]:
            return None
        del self._n_parts[request.id], self._answers[request.id]
        latency_s = max(part.seconds for part in answers)
        first_s = min((part.first_s for part in answers if part.first_s), default=0.0)
        outcome = _outcome(request, answers)
        bills = [part.bill for part in answers if part.bill is not None]
        return Response(
            request.id,
            request.key,
            outcome,
            self._share(),
            latency_s=latency_s,
            first_s=first_s,
            bill=reduce(Bill.plus, bills) if bills else None,
        )

    def _share(self) -> float:
        """Return the time since the previous response: times of concurrent calls do not add up."""
        now = time.perf_counter()
        share, self._last = now - self._last, now
        return share


def _outcome(request: Request, answers: list[PartAnswer]) -> Outcome:
    """Return the answer of all parts: their texts in order, or the first outcome that is not a text."""
    outputs: list[Output] = []
    answers.sort(key=lambda answer: answer.number)
    for answer in answers:
        if not isinstance(answer.outcome, tuple):
            return answer.outcome
        outputs += answer.outcome
    assert isinstance(request.ask, Generate)
    if len(outputs) == 1:
        outputs *= request.ask.sampling.n  # Greedy texts are identical, so only one was generated.
    return Completion(tuple(outputs), answers[0].n_prompt_tokens)
