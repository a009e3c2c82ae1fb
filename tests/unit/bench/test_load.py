"""Valid loads."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from assay.bench.arrivals import Arrivals, Ramp, TraceArrivals
from assay.bench.load import ClosedLoad, Load, OpenLoad
from assay.core.errors import UsageError
from assay.core.request import Sampling


@pytest.mark.parametrize(
    ("make", "code", "message"),
    [
        (lambda: ClosedLoad(0), "LOAD-001", "the concurrency is 0"),
        (lambda: ClosedLoad(1, starts_per_s=0), "LOAD-001", "starts per second is 0"),
        (lambda: ClosedLoad(1, at_most_per_s=-2), "LOAD-001", "the maximum rate is -2"),
        (lambda: OpenLoad(Arrivals(rate=1), 0), "LOAD-001", "the maximum number of concurrent items is 0"),
        (lambda: Load(ClosedLoad(1), n=0), "LOAD-001", "the number of requests is 0"),
        (lambda: Load(ClosedLoad(1), seconds=0), "LOAD-001", "the duration of the load in seconds is 0"),
        (lambda: Load(ClosedLoad(1), think_s=-1), "LOAD-001", "the think time is -1"),
        (lambda: Load(ClosedLoad(1), Sampling(n=2)), "LOAD-001", "the number of responses per request is 2"),
        (lambda: Load(ClosedLoad(1), goes_round=True), "LOAD-002", "has no end"),
        (
            lambda: Load(OpenLoad(TraceArrivals()), n=5, goes_round=True),
            "LOAD-002",
            "a trace cannot be repeated",
        ),
        (lambda: Load(OpenLoad(Arrivals(ramp=Ramp(1, 2)))), "LOAD-002", "their number is not known"),
    ],
)
def test_a_load_that_cannot_be_is_reported_before_anything_is_sent(
    make: Callable[[], object], code: str, message: str
) -> None:
    with pytest.raises(UsageError) as error:
        make()
    assert error.value.problems[0].code == code
    assert message in str(error.value)


@pytest.mark.parametrize(
    "load",
    [
        Load(ClosedLoad(4, starts_per_s=2.0), seconds=15, goes_round=True),
        Load(OpenLoad(Arrivals(ramp=Ramp(1, 9, "exponential", 5)), 100), n=5),
        Load(OpenLoad(TraceArrivals(2.0))),
    ],
)
def test_a_load_is_read_as_it_was_stored(load: Load) -> None:
    assert msgspec.json.decode(msgspec.json.encode(load), type=Load) == load


@pytest.mark.parametrize(
    ("load", "n"),
    [
        (Load(ClosedLoad(4), n=7, seconds=3), 7),
        (Load(ClosedLoad(4), seconds=3), None),
        (Load(OpenLoad(Arrivals(rate=2.5)), seconds=3), 8),
        (Load(OpenLoad(Arrivals(ramp=Ramp(9, 3, seconds=1))), seconds=2), 18),
        (Load(OpenLoad(Arrivals(rate=2.5))), None),
        (Load(OpenLoad(TraceArrivals()), seconds=3), None),
    ],
)
def test_how_many_items_a_load_will_take(load: Load, n: int | None) -> None:
    assert load.n_expected == n
