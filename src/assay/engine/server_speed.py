"""The speed of a server, measured with the requests of a run."""

from __future__ import annotations

from array import array

from assay.core.response import Completion, Failure, Response
from assay.core.run import ServerSpeed, Spread


class SpeedGauge:
    """Collects the responses of a run; keeps two small numbers per response of a server."""

    def __init__(self) -> None:
        self._latencies = array("f")
        self._firsts = array("f")
        self._seconds = 0.0
        self._n_input = 0
        self._n_output = 0

    def add(self, response: Response) -> None:
        """Add a response. Failures only count with their time; cached answers do not count."""
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
        """Return the speed of the server; None without one."""
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
    import numpy as np  # Imported here: a run on a local model does not need it.

    samples = np.frombuffer(values, dtype=np.float32).astype(np.float64)
    p50, p90, p99 = (float(value) for value in np.percentile(samples, (50, 90, 99)))
    return Spread(len(samples), float(samples.mean()), p50, p90, p99, float(samples.max()))
