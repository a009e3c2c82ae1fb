"""Server speed from the responses of a run."""

from __future__ import annotations

import pytest

from assay.core.response import Completion, Failure, Finish, LabelProbs, Outcome, Output, Response
from assay.engine.server_speed import SpeedGauge

TEXT = Completion((Output("a", Finish.END, 3), Output("b", Finish.END, 4)), n_prompt_tokens=10)


def response(outcome: Outcome, seconds: float, latency_s: float, **more: float) -> Response:
    return Response("id", "key", outcome, seconds, latency_s=latency_s, **more)  # type: ignore[arg-type]


def test_without_a_server_there_is_no_speed() -> None:
    gauge = SpeedGauge()
    gauge.add(Response("id", "key", TEXT, 3.0))
    gauge.add(response(Failure("timeout", "late"), 3.0, 3.0))
    assert gauge.speed() is None


def test_tokens_and_times_are_those_of_the_answers() -> None:
    gauge = SpeedGauge()
    for number in range(1, 101):
        gauge.add(response(TEXT, 0.5, float(number), first_s=number / 10))
    gauge.add(response(LabelProbs((0.5, 0.5), 1.0, 8), 0.5, 200.0))
    speed = gauge.speed()
    assert speed is not None
    assert (speed.n_requests, speed.n_input_tokens, speed.n_output_tokens) == (101, 1008, 700)
    assert speed.seconds == pytest.approx(50.5)
    assert (speed.latency.p50, speed.latency.max) == (51, 200)
    assert speed.first_text is not None
    assert speed.first_text.n == 100, "what did not stream has no first text"
    assert speed.first_text.mean == pytest.approx(5.05)


def test_answers_of_the_cache_are_nobodys_and_took_no_time() -> None:
    gauge = SpeedGauge()
    gauge.add(response(TEXT, 1.0, 1.0))
    gauge.add(response(TEXT, 9.0, 9.0, cached=True))
    speed = gauge.speed()
    assert speed is not None
    assert (speed.n_requests, speed.seconds, speed.latency.max) == (1, 1.0, 1.0)


def test_the_time_of_failures_counts_and_their_latency_does_not() -> None:
    """A server that fails half of all calls for a minute is not as fast as if the minute had not been."""
    gauge = SpeedGauge()
    gauge.add(response(TEXT, 1.0, 2.0))
    gauge.add(response(Failure("timeout", "late"), 60.0, 60.0))
    speed = gauge.speed()
    assert speed is not None
    assert (speed.n_requests, speed.seconds, speed.latency.max) == (1, 61.0, 2.0)
