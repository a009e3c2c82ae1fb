"""The rows that a SPAN or LABELS request waits for, and its response once they are computed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.backends.hf.likelihood import Row, RowReading, Rows
from assay.backends.local.label_spellings import EncodedLabels
from assay.backends.local.tokenization import EncodedSpan, EncodedWindows
from assay.core.request import Request
from assay.core.response import Failure, LabelProbs, Likelihood, Outcome, Response


@dataclass(slots=True, frozen=True)
class SpanPlan:
    """A SPAN request and its single reading."""

    request: Request
    encoded: EncodedSpan
    reading: RowReading

    @property
    def readings(self) -> Sequence[RowReading]:
        """Return all readings that the answer needs."""
        return (self.reading,)

    def outcome(self) -> Outcome:
        """Return the likelihood of the scored tokens."""
        encoded, logprobs = self.encoded, self.reading.logprobs
        return Likelihood(
            sum_logprob=math.fsum(logprobs),
            n_tokens=len(logprobs),
            n_chars=encoded.n_chars,
            n_bytes=encoded.n_bytes,
            is_greedy=self.reading.is_greedy,
            n_prompt_tokens=encoded.first_scored,
            token_ids=encoded.ids[encoded.first_scored :],
            token_logprobs=tuple(logprobs),
            straddles=encoded.straddles,
            token_starts=encoded.starts,
        )


@dataclass(slots=True, frozen=True)
class WindowsPlan:
    """A SPAN request over a whole text; one reading per window."""

    request: Request
    encoded: EncodedWindows
    readings: tuple[RowReading, ...]

    def outcome(self) -> Outcome:
        """Return the likelihood of the tokens that all windows score together."""
        encoded = self.encoded
        logprobs = tuple(logprob for reading in self.readings for logprob in reading.logprobs)
        return Likelihood(
            sum_logprob=math.fsum(logprobs),
            n_tokens=len(logprobs),
            n_chars=encoded.length.n_chars,
            n_bytes=encoded.length.n_bytes,
            is_greedy=all(reading.is_greedy for reading in self.readings),
            n_prompt_tokens=encoded.n_prompt_tokens,
            token_ids=tuple(
                id_ for window in encoded.windows for id_ in encoded.ids[window.first_scored : window.end]
            ),
            token_logprobs=logprobs,
            n_words=encoded.length.n_words,
            token_starts=encoded.starts,
        )


@dataclass(slots=True, frozen=True)
class LabelsPlan:
    """A LABELS request; each label has one reading per spelling."""

    request: Request
    n_prompt_tokens: int
    labels: tuple[tuple[RowReading, ...], ...]

    @property
    def readings(self) -> Sequence[RowReading]:
        """Return all readings that the answer needs."""
        return [reading for label in self.labels for reading in label]

    def outcome(self) -> Outcome:
        """Return each label's probability: the sum over its spellings."""
        probs = tuple(
            math.fsum(math.exp(math.fsum(reading.logprobs)) for reading in label) for label in self.labels
        )
        return LabelProbs(probs, math.fsum(probs), self.n_prompt_tokens)


ScoringPlan = SpanPlan | WindowsPlan | LabelsPlan
PendingPlans = dict[Row, list[ScoringPlan]]
"""Unfinished rows, and the plans that wait for each."""


def plan_span(rows: Rows, request: Request, encoded: EncodedSpan) -> SpanPlan:
    """Add the row that a SPAN needs."""
    return SpanPlan(request, encoded, rows.continuation(encoded.ids, encoded.first_scored))


def plan_windows(rows: Rows, request: Request, encoded: EncodedWindows) -> WindowsPlan:
    """Add the rows that a SPAN over windows needs."""
    readings = [
        rows.continuation(
            encoded.ids[window.begin : window.end], window.first_scored - window.begin, is_window=True
        )
        for window in encoded.windows
    ]
    return WindowsPlan(request, encoded, tuple(readings))


def plan_labels(rows: Rows, request: Request, encoded: EncodedLabels) -> LabelsPlan:
    """Add the rows that LABELS needs: one next-token distribution, and a span for each longer spelling."""
    next_ids = [one.ids[-1] for spellings in encoded.labels for one in spellings if one.is_next_token]
    next_tokens = rows.each_next_token(encoded.context, next_ids)
    labels = tuple(
        tuple(
            next(next_tokens) if one.is_next_token else rows.continuation(*encoded.build_whole(one))
            for one in spellings
        )
        for spellings in encoded.labels
    )
    return LabelsPlan(request, len(encoded.context), labels)


def respond(plan: ScoringPlan) -> Response:
    """Return the response to a plan whose rows are all computed."""
    rows: list[Row] = list({id(reading.row): reading.row for reading in plan.readings}.values())
    # A row's time is divided among all plans that read from it.
    seconds = math.fsum(reading.row.seconds / reading.row.n_users for reading in plan.readings)
    trouble = next((row.failure for row in rows if row.failure is not None), None)
    outcome: Outcome
    if trouble is not None:
        outcome = trouble
    elif not all(math.isfinite(logprob) for reading in plan.readings for logprob in reading.logprobs):
        outcome = Failure("not_finite", "the model computed a log-probability that is not a finite number")
    else:
        outcome = plan.outcome()
    return Response(plan.request.id, plan.request.key, outcome, seconds)


def complete_requests(done: Sequence[Row], waiting: PendingPlans) -> Iterator[Response]:
    """Yield the responses that these rows complete. A request with several rows waits for the last one."""
    for row in done:
        for plan in waiting.pop(row, ()):
            if not any(reading.row in waiting for reading in plan.readings):
                yield respond(plan)
