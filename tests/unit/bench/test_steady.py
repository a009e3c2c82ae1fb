from __future__ import annotations

import numpy as np
import pytest

from assay.bench.concurrent_requests import ConcurrencyCurve
from assay.bench.steady import NoSteadyWindow, SteadyWindow, find_steady_window


def under_way(spans: list[tuple[float, float]]) -> ConcurrencyCurve:
    return ConcurrencyCurve(*np.array(spans, dtype=np.float64).reshape(-1, 2).T)


def closed(places: int, rounds: int, pause: float = 0.0) -> ConcurrencyCurve:
    """Return a load with places that start one second after each other and make calls of ten seconds."""
    spans = [
        (place + turn * (10 + pause), place + turn * (10 + pause) + 10)
        for place in range(places)
        for turn in range(rounds)
    ]
    return under_way(spans)


def test_ramps_are_cut_from_a_closed_load() -> None:
    # Four places are filled at 3 s; the first has nothing more to do at 50 s.
    assert find_steady_window(closed(4, 5), level=4) == SteadyWindow(3, 50, 4, 4)


def test_pauses_between_calls_do_not_end_the_window() -> None:
    found = find_steady_window(closed(4, 5, pause=0.01), level=4)
    assert isinstance(found, SteadyWindow)
    assert (found.start, found.level) == (3, 4)
    assert found.end == pytest.approx(50.04)


def test_a_few_missing_of_many_are_steady_too() -> None:
    spans = [(0.0, 10.0)] * 97
    assert find_steady_window(under_way(spans), level=100) == SteadyWindow(0, 10, 100, 95)


def test_a_level_that_was_never_reached_is_named() -> None:
    found = find_steady_window(closed(4, 5), level=16)
    assert isinstance(found, NoSteadyWindow)
    assert "the peak was 4 concurrent requests" in found.reason


def test_a_level_that_was_only_touched_makes_no_window() -> None:
    spans = [(0.0, 100.0), (0.0, 1.0), (99.0, 100.0)]
    found = find_steady_window(under_way(spans), level=2)
    assert isinstance(found, NoSteadyWindow)
    assert "only 2 % of the time" in found.reason


def test_a_load_without_calls_has_no_window() -> None:
    assert isinstance(find_steady_window(under_way([])), NoSteadyWindow)
    assert isinstance(find_steady_window(under_way([(1, 1)])), NoSteadyWindow)


def test_an_open_load_that_is_mostly_idle_has_no_window() -> None:
    found = find_steady_window(under_way([(0, 1), (10, 11), (20, 21)]))
    assert found == NoSteadyWindow("no request was in progress for more than half of the time")


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("rate", [1.0, 4.0, 40.0])
def test_an_open_load_by_chance_is_steady(rate: float, seed: int) -> None:
    drawn = np.random.default_rng(seed)
    began = np.cumsum(drawn.exponential(1 / rate, int(120 * rate)))
    found = find_steady_window(ConcurrencyCurve(began, began + drawn.exponential(5.0, len(began))))
    assert isinstance(found, SteadyWindow)
    assert found.level == pytest.approx(5 * rate, rel=0.5)
    assert found.end - found.start > 80


def test_an_open_load_whose_server_cannot_follow_is_not_steady() -> None:
    began = np.arange(0, 60, 0.1)
    found = find_steady_window(ConcurrencyCurve(began, 2 * began + 1))
    assert isinstance(found, NoSteadyWindow)
    assert "kept rising" in found.reason


def test_the_window_of_an_open_load_ends_with_the_last_call_sent() -> None:
    began = np.arange(0.0, 20.0, 1.0)
    # Three or four are under way; three still are until 20.5 s.
    assert find_steady_window(ConcurrencyCurve(began, began + 3.5)) == SteadyWindow(2, 19, 3, 3)


def test_a_ramp_is_not_steady() -> None:
    began = 60 * np.sqrt(np.linspace(0, 1, 3_000))  # The rate grows from nothing to 100 a second.
    found = find_steady_window(ConcurrencyCurve(began, began + 1.0))
    assert isinstance(found, NoSteadyWindow)
    assert "kept rising" in found.reason


def test_a_slow_drift_of_many_short_calls_is_not_taken_for_chance() -> None:
    # From 60 under way to 140 in ten minutes: between moments that may be chance, over minutes not.
    began = np.cumsum(1 / np.linspace(60, 140, 60_000))
    found = find_steady_window(ConcurrencyCurve(began, began + 1.0))
    assert isinstance(found, NoSteadyWindow)
    assert "kept rising" in found.reason


@pytest.mark.parametrize(
    ("level", "at_least"), [(1, 1), (19, 19), (20, 19), (40, 38), (100, 95), (2000, 1900)]
)
def test_a_twentieth_of_the_level_may_be_missing(level: int, at_least: int) -> None:
    found = find_steady_window(under_way([(0, 10)] * level), level=level)
    assert found == SteadyWindow(0, 10, level, at_least)
