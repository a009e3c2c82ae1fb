"""How fast a server answered, from the requests of a run itself."""

from __future__ import annotations

from array import array

from assay.core.response import Completion, Failure, Response
from assay.core.run import ServerSpeed, Spread


class SpeedGauge:
    """Takes the responses of a run; keeps two small numbers of each that a server gave."""

    def __init__(self) -> None:
        self._latencies = array("f")
        self._firsts = array("f")
        self._seconds = 0.0
        self._n_input = 0
        self._n_output = 0

    def add(self, response: Response) -> None:
        """Take a response. Of failures only the time counts; answers from the cache took none of it."""
        outcome = response.outcome
        if not response.latency_s or response.cached:
            return
        self._seconds += response.seconds
        if isinstance(outcome, Failure):
            return
        self._latencies.append(response.latency_s)
        if response.first_s:
            self._firsts.append(response.first_s)
        self._n_input += outcome.n_prompt_tokens
        if isinstance(outcome, Completion):
            self._n_output += sum(output.n_tokens for output in outcome.outputs)

    def speed(self) -> ServerSpeed | None:
        """Return how fast the server was; None when there was none."""
        if not self._latencies:
            return None
        return ServerSpeed(
            n_requests=len(self._latencies),
            seconds=self._seconds,
            n_input_tokens=self._n_input,
            n_output_tokens=self._n_output,
            latency=_spread(self._latencies),
            first_text=_spread(self._firsts) if self._firsts else None,
        )


def _spread(values: array[float]) -> Spread:
    import numpy as np  # Only here: a run on a local model needs none of it.

    found = np.frombuffer(values, dtype=np.float32).astype(np.float64)
    p50, p90, p99 = (float(value) for value in np.percentile(found, (50, 90, 99)))
    return Spread(len(found), float(found.mean()), p50, p90, p99, float(found.max()))
