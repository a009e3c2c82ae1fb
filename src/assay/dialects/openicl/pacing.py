"""The request schedule of AISBench's service configs: concurrency and request times.

Values are AISBench's own. Where its code and documentation differ, this follows the code, with one exception:
a ramp also works without a rate, which the original's code ignores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from assay.core.errors import listing, suggest_name

PACING_KEYS = ("request_rate", "use_timestamp", "traffic_cfg")
"""Keys of a service's config that apply only if its speed is measured."""
MIN_RATE = 0.001
"""The rate (requests per second) below which the original does not wait at all."""
_MAX_CONCURRENCY = 100_000
_MAX_RATE = 64_000.0
_TRAFFIC_KEYS = ("burstiness", "ramp_up_strategy", "ramp_up_start_rps", "ramp_up_end_rps")

RampForm: TypeAlias = Literal["linear", "exponential"]
OnProblem: TypeAlias = Callable[[str, str], None]
"""Takes the problem and the fix."""


class RampUp(msgspec.Struct, frozen=True):
    """A rate that changes from one value to another over all requests."""

    form: RampForm
    start: float
    """Requests per second."""
    end: float


class Pacing(msgspec.Struct, frozen=True):
    """The request schedule."""

    batch_size: int = 1
    """Maximum concurrent requests."""
    rate: float | None = None
    """Requests per second. None: as soon as a slot is free."""
    burstiness: float = 1.0
    """Shape of the gamma distribution of the gaps; 0: even gaps. The default is 0 in the original's
    documentation, but 1 in its code."""
    ramp: RampUp | None = None
    uses_timestamps: bool = False
    """Whether to use a dataset's own timestamps, if it has any."""


def read_pacing(entry: Mapping[str, Any], on_problem: OnProblem) -> Pacing:
    """Return the request schedule of a model's entry; report problems to `on_problem`."""
    reading = _PacingReader(entry, on_problem)
    batch = reading.number(entry, "batch_size", 1, least=1, most=_MAX_CONCURRENCY)
    if batch != int(batch):
        on_problem(f"batch_size is {batch:g}, expected a whole number", "correct the value")
    rate = reading.number(entry, "request_rate", 0, least=0, most=_MAX_RATE)
    uses_timestamps = entry.get("use_timestamp") or False
    if not isinstance(uses_timestamps, bool):
        on_problem(f"use_timestamp is {uses_timestamps!r:.60}, expected True or False", "correct the value")
    traffic = reading.traffic()
    return Pacing(
        int(batch),
        None if rate < MIN_RATE else rate,
        reading.number(traffic, "burstiness", 1.0, least=0, of="traffic_cfg."),
        reading.ramp(traffic),
        uses_timestamps is True,
    )


class _PacingReader:
    """Reads the schedule of one entry."""

    def __init__(self, entry: Mapping[str, Any], on_problem: OnProblem) -> None:
        self._entry = entry
        self._problem = on_problem

    def traffic(self) -> Mapping[str, Any]:
        traffic = self._entry.get("traffic_cfg") or {}
        if not isinstance(traffic, Mapping):
            self._problem(f"traffic_cfg is {traffic!r:.60}, expected a dict", "write traffic_cfg=dict(...)")
            return {}
        for key in traffic:
            if key not in _TRAFFIC_KEYS:
                what = f"traffic_cfg has the unknown key {key!r}{suggest_name(str(key), _TRAFFIC_KEYS)}"
                self._problem(what, f"supported: {listing(_TRAFFIC_KEYS)}")
        return traffic

    def ramp(self, traffic: Mapping[str, Any]) -> RampUp | None:
        form = traffic.get("ramp_up_strategy")
        ends = [traffic.get(key) for key in _TRAFFIC_KEYS[2:]]
        if not form:
            if any(end is not None for end in ends):
                what = "traffic_cfg has a start or end rate of a ramp, but no ramp_up_strategy"
                self._problem(what, "write ramp_up_strategy='linear', or remove both rates")
            return None
        if form not in get_args(RampForm):
            what = f"traffic_cfg.ramp_up_strategy is {form!r:.60}, expected one of "
            self._problem(what + listing(get_args(RampForm)), "correct the value")
            return None
        if any(end is None for end in ends):
            what = "traffic_cfg has a ramp_up_strategy, but not both ramp_up_start_rps and ramp_up_end_rps"
            self._problem(what, "write ramp_up_start_rps=1 and ramp_up_end_rps=10")
            return None
        start, end = (
            self.number(traffic, key, 1, least=MIN_RATE, most=_MAX_RATE, of="traffic_cfg.")
            for key in _TRAFFIC_KEYS[2:]
        )
        return RampUp(form, start, end)

    def number(
        self,
        given: Mapping[str, Any],
        key: str,
        default: float,
        *,
        least: float,
        most: float = math.inf,
        of: str = "",
    ) -> float:
        value = given.get(key)
        if value is None:
            return default
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not least <= value <= most or math.isinf(value):
            expected = f"a number from {least:g}" + (f" to {most:g}" if most < math.inf else " upwards")
            self._problem(f"{of}{key} is {value!r:.60}, expected {expected}", "correct the value")
            return default
        return float(value)
