from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from assay.core import time_profile
from assay.core.time_profile import (
    find_process_start,
    get_recorder,
    iterate_measured,
    measuring,
    recording_time,
)


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time_profile, "time", clock)
    return clock


def test_a_phase_does_not_count_the_phases_inside_it(clock: Clock) -> None:
    with recording_time() as recorder:
        with measuring("plan"):
            clock.now += 2
            with measuring("tokenize"):
                clock.now += 3
            clock.now += 1
        clock.now += 4
        with measuring("plan"):
            clock.now += 0.0001
    assert recorder.compute_seconds() == pytest.approx({"tokenize": 3, "plan": 3.0001, "other": 4})
    thread, *trace = recorder.build_trace()["traceEvents"]
    assert (thread["name"], thread["ph"], thread["args"]) == ("thread_name", "M", {"name": "MainThread"})
    # The shortest one is in the sums only.
    assert [(one["name"], one["ph"], one["ts"], one["dur"]) for one in trace] == [
        ("plan", "X", 0, 6_000_000),
        ("tokenize", "X", 2_000_000, 3_000_000),
    ]


def test_a_phase_ends_with_an_error(clock: Clock) -> None:
    def fail() -> None:
        with measuring("score"):
            clock.now += 1
            raise ZeroDivisionError

    with recording_time() as recorder, pytest.raises(ZeroDivisionError):
        fail()
    assert recorder.compute_seconds()["score"] == pytest.approx(1)


def test_items_count_until_they_arrive(clock: Clock) -> None:
    def count() -> list[int]:
        items = []
        for item in iterate_measured("device", iter_slowly(clock)):
            clock.now += 10
            items.append(item)
        return items

    with recording_time() as recorder:
        assert count() == [0, 1, 2]
    assert recorder.compute_seconds() == pytest.approx({"device": 6, "other": 30})


def iter_slowly(clock: Clock) -> Iterator[int]:
    for item in range(3):
        clock.now += 2
        yield item


def test_nothing_is_recorded_unless_asked(clock: Clock) -> None:
    with measuring("plan"):
        clock.now += 1
    assert get_recorder() is None
    assert list(iterate_measured("plan", [1, 2])) == [1, 2]


def test_other_threads_do_not_count_in_the_whole_time(clock: Clock) -> None:
    def prepare() -> None:
        with measuring("tokenize"):
            clock.now += 5

    with recording_time() as recorder, measuring("wait"):
        thread = threading.Thread(target=prepare, name="ahead")
        thread.start()
        thread.join()
        clock.now += 1
    assert recorder.compute_seconds() == pytest.approx({"wait": 6, "other": 0})
    assert recorder.compute_seconds_ahead() == pytest.approx({"tokenize": 5})
    trace = recorder.build_trace()["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in trace if event["ph"] == "M"}
    assert {names[event["tid"]]: event["name"] for event in trace if event["ph"] == "X"} == {
        "MainThread": "wait",
        "ahead": "tokenize",
    }


def test_the_start_of_the_process_is_a_phase(clock: Clock) -> None:
    clock.now += 7
    with recording_time(clock.now - 3) as recorder:
        clock.now += 2
    assert recorder.compute_seconds() == pytest.approx({"start": 3, "other": 2})


def test_the_process_began_before_it_used_time() -> None:
    began = find_process_start()
    # Of this thread: several threads together can use more time than has passed.
    assert began <= time.perf_counter() - time.thread_time() + 0.02
