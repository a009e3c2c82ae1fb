"""Sending a load in virtual time: the schedule is exact on any machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from itertools import cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.bench.arrivals import Arrivals, Ramp, TraceArrivals
from assay.bench.drive import LoadDriver, warm_up
from assay.bench.items import LoadItem
from assay.bench.load import ClosedLoad, Load, OpenLoad
from assay.bench.load_result import LoadResult
from assay.bench.records import CallRecord
from assay.core.errors import AuthorError, BackendError
from assay.core.prompt import Message
from assay.core.request import Generate, Sampling
from assay.core.response import Finish
from assay.core.timing import LoadProgress, TimedCall
from fakes.timed_client import FakeTimedClient
from fakes.virtual_time import now, run_virtually


def items(n: int) -> list[LoadItem]:
    return [LoadItem(f"i{number}", f"p{number}") for number in range(n)]


def driven(
    client: FakeTimedClient,
    source: Iterable[LoadItem],
    load: Load,
    *,
    on_progress: Callable[[LoadProgress], None] | None = None,
    stop_at: float | None = None,
) -> tuple[LoadResult, list[CallRecord]]:
    records: list[CallRecord] = []

    async def doing() -> LoadResult:
        drive = LoadDriver(client, source, load, records.append, on_progress=on_progress, clock=now)
        if stop_at is not None:
            asyncio.get_running_loop().call_later(stop_at, drive.stop)
        async with client:
            return await drive.run()

    return run_virtually(doing()), records


def moments(client: FakeTimedClient) -> list[float]:
    return [round(at, 6) for at, _ in client.sent]


# Closed loads.


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(0, 60),
    concurrency=st.integers(1, 12),
    seconds=st.lists(st.integers(1, 9), min_size=1, max_size=7),
)
def test_a_closed_load_is_what_a_queue_with_so_many_servers_does(
    n: int, concurrency: int, seconds: list[int]
) -> None:
    client = FakeTimedClient(lambda number: float(seconds[number % len(seconds)]))
    result, records = driven(client, items(n), Load(ClosedLoad(concurrency)))
    # The oracle: each item goes to the client that is free first.
    free = [0.0] * concurrency
    expected = []
    for number in range(n):
        began = min(free)
        free[free.index(began)] = began + seconds[number % len(seconds)]
        expected.append(began)
    assert moments(client) == expected
    assert [prompt for _, prompt in client.sent] == [f"p{number}" for number in range(n)]
    assert sorted(record.number for record in records) == list(range(n))
    assert (result.n_items, result.n_sent, result.n_done, result.n_failed) == (n, n, n, 0)
    assert result.seconds == pytest.approx(max(free) if n else 0)


def test_a_closed_load_keeps_exactly_so_many_under_way_until_the_items_run_out() -> None:
    client = FakeTimedClient(lambda number: 1.0 + number % 3 / 10)
    driven(client, items(50), Load(ClosedLoad(4)))
    by_moment = dict(client.levels)  # What was so at the end of each moment.
    last_sent = client.sent[-1][0]
    assert {level for at, level in by_moment.items() if at <= last_sent} == {4}


def test_clients_begin_at_a_pace_of_their_own() -> None:
    client = FakeTimedClient(lambda number: 100.0)
    driven(client, items(4), Load(ClosedLoad(4, starts_per_s=2)))
    assert moments(client) == [0, 0.5, 1, 1.5]


def test_no_client_begins_when_there_is_nothing_left_to_take() -> None:
    client = FakeTimedClient(lambda number: 0.1)
    result, _ = driven(client, items(2), Load(ClosedLoad(1000, starts_per_s=1)))
    # The first client took both; the second never began, nor did the load wait for the other 998.
    assert moments(client) == [0, 0.1]
    assert result.seconds == client.left_at == pytest.approx(0.2)


def test_a_limit_of_calls_per_second_spaces_calls_and_makes_nothing_up() -> None:
    client = FakeTimedClient(lambda number: 0.1 if number != 1 else 5.0)
    driven(client, items(8), Load(ClosedLoad(2, at_most_per_s=2)))
    assert moments(client) == [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5]
    slow = FakeTimedClient(lambda number: 10.0 if number < 2 else 0.1)
    driven(slow, items(6), Load(ClosedLoad(2, at_most_per_s=2)))
    # After ten seconds without a call there is no burst.
    assert moments(slow) == [0, 0.5, 10, 10.5, 11, 11.5]


def test_a_number_of_items_and_a_least_time_go_together() -> None:
    client = FakeTimedClient(lambda number: 1.0)
    load = Load(ClosedLoad(2, least_seconds=4.5), n=4)
    result, _ = driven(client, cycle(items(3)), load)
    assert result.n_items == 10  # Two at each of 0, 1, 2, 3 and 4 seconds.
    many, _ = driven(FakeTimedClient(), cycle(items(3)), Load(ClosedLoad(2, least_seconds=1), n=9))
    assert many.n_items == 9


def test_idle_clients_are_the_clients_fault_and_reported() -> None:
    result, _ = driven(FakeTimedClient(before_s=0.02), items(20), Load(ClosedLoad(2)))
    assert result.idleness is not None
    assert (result.idleness.n, result.idleness.late_share) == (18, 1.0)
    assert result.idleness.p50_s == pytest.approx(0.02, abs=1e-4)
    assert any("the client was the bottleneck" in note for note in result.notes)
    quick, _ = driven(FakeTimedClient(), items(20), Load(ClosedLoad(2)))
    assert quick.notes == ()


# Pressure.


def test_pressure_goes_round_and_sends_nothing_after_its_time() -> None:
    client = FakeTimedClient(lambda number: 0.75)
    result, records = driven(client, cycle(items(3)), Load(ClosedLoad(2), seconds=3.0))
    # At 3.0 a call ends and no other is sent; calls of 2.25 end then, and are whole.
    assert moments(client) == [0, 0, 0.75, 0.75, 1.5, 1.5, 2.25, 2.25]
    assert [record.item for record in sorted(records, key=lambda one: one.number)] == [
        *("i0", "i1", "i2") * 2,
        "i0",
        "i1",
    ]
    assert result.n_cut == 0
    assert not result.is_partial


def test_concurrent_requests_when_time_is_up_are_waited_for_as_long_as_the_grace() -> None:
    waited, records = driven(FakeTimedClient(lambda number: 7.0), items(5), Load(ClosedLoad(2), seconds=10))
    assert (len(records), waited.n_cut, waited.seconds) == (4, 0, 14)
    cut, records = driven(
        FakeTimedClient(lambda number: 7.0), items(5), Load(ClosedLoad(2), seconds=10, grace_s=3)
    )
    assert (len(records), cut.n_cut, cut.n_sent) == (2, 2, 4)
    assert any("2 requests were cancelled" in note for note in cut.notes)


def test_clients_that_wait_for_their_slot_leave_when_time_is_up() -> None:
    client = FakeTimedClient(lambda number: 0.0)
    result, _ = driven(client, cycle(items(9)), Load(ClosedLoad(5, at_most_per_s=0.1), seconds=15))
    assert moments(client) == [0, 10]
    assert (result.seconds, client.left_at) == (10, 15)


def test_going_round_nothing_ends() -> None:
    result, _ = driven(FakeTimedClient(), [], Load(ClosedLoad(2), seconds=5))
    assert result.n_items == 0


# Open loads.


def test_items_are_sent_when_they_are_due_whatever_is_under_way() -> None:
    client = FakeTimedClient(lambda number: 1000.0)
    arrivals = Arrivals(rate=40, burstiness=1, seed=3)
    result, records = driven(client, items(500), Load(OpenLoad(arrivals)))
    expected = list(arrivals.moments(500))
    assert [at for at, _ in client.sent] == pytest.approx(expected, abs=1e-9)
    assert [record.due for record in records] == pytest.approx(expected)
    assert max(level for _, level in client.levels) == 500
    assert result.lateness is not None
    assert (result.lateness.n, result.lateness.late_share) == (500, 0)
    assert result.notes == ()


def test_all_that_is_due_at_once_is_sent_at_once() -> None:
    client = FakeTimedClient()
    source = [LoadItem(str(number), "p", at_s=float(number // 150)) for number in range(450)]
    driven(client, source, Load(OpenLoad(TraceArrivals())))
    assert moments(client) == [0.0] * 150 + [1.0] * 150 + [2.0] * 150


def test_a_trace_is_replayed_at_its_speed() -> None:
    client = FakeTimedClient(lambda number: 9.0)
    source = [LoadItem(str(at), "p", at_s=at) for at in (0.5, 2.0, 2.0, 7.0, 8.0)]
    driven(client, source, Load(OpenLoad(TraceArrivals(speed=2)), n=4))
    assert moments(client) == [0.25, 1.0, 1.0, 3.5]


@pytest.mark.parametrize(("at", "seen"), [(None, "no timestamp"), (1.0, "timestamp 1 s")])
def test_a_trace_whose_moments_are_missing_or_fall_is_an_error(at: float | None, seen: str) -> None:
    source = [LoadItem("a", "p", at_s=3.0), LoadItem("b", "p", at_s=at)]
    with pytest.raises(AuthorError, match=f"LOAD-003 item 'b' of the trace has {seen}"):
        driven(FakeTimedClient(), source, Load(OpenLoad(TraceArrivals())))


def test_a_cap_holds_items_back_and_counts_them_apart_from_the_clients_own_lateness() -> None:
    client = FakeTimedClient(lambda number: 1.0 if number < 2 else 0.07)
    load = Load(OpenLoad(Arrivals(rate=10), at_most_under_way=2))
    result, records = driven(client, items(20), load)
    # Two take the places until 1.0 and 1.1; the third is due at 0.2 and waits.
    assert moments(client)[:5] == [0, 0.1, 1.0, 1.07, 1.1]
    assert max(level for _, level in client.levels) == 2
    by_number = sorted(records, key=lambda record: record.number)
    late = [record.times.began - (record.due or 0) > 1e-9 for record in by_number]
    assert result.n_held == sum(late) > 0
    assert result.lateness is not None
    assert result.lateness.max_s == pytest.approx(0.8)
    assert any(f"{result.n_held} items were sent late" in note for note in result.notes)
    assert not any("client itself" in note for note in result.notes)


def test_a_client_that_sends_late_says_that_it_was_the_limit() -> None:
    result, _ = driven(FakeTimedClient(before_s=0.008), items(30), Load(OpenLoad(Arrivals(rate=50))))
    assert result.lateness is not None
    assert result.lateness.p99_s == pytest.approx(0.008, abs=1e-4)
    assert result.notes == ("the client was the bottleneck: it sent 100.0% of the items more than 5 ms late",)


def test_an_open_load_ends_at_its_time() -> None:
    client = FakeTimedClient(lambda number: 0.2)
    result, _ = driven(client, cycle(items(3)), Load(OpenLoad(Arrivals(rate=2)), seconds=2.0))
    # The call that is due at 2.0 is not sent: the load is over.
    assert moments(client) == [0, 0.5, 1, 1.5]
    assert result.notes == ()
    ramp = Arrivals(ramp=Ramp(0, 8, seconds=4))
    client = FakeTimedClient()
    driven(client, cycle(items(3)), Load(OpenLoad(ramp), seconds=4))
    assert len(client.sent) == 16  # The area below the ramp.


def test_fewer_items_than_asked_for_are_reported() -> None:
    result, _ = driven(FakeTimedClient(), items(3), Load(OpenLoad(Arrivals(rate=2)), n=5))
    assert result.notes == ("there were 3 items, fewer than the 5 requested",)
    some, _ = driven(FakeTimedClient(), items(9), Load(OpenLoad(Arrivals(rate=2)), n=5))
    assert (some.n_items, some.notes) == (5, ())


# Conversations.


def test_a_conversation_goes_turn_by_turn_in_one_place() -> None:
    client = FakeTimedClient(lambda number: 1.0)
    talk = LoadItem("talk", (Message("user", "a"),), max_tokens=9, turns=("b", "c"))
    result, records = driven(client, [talk, *items(1)], Load(ClosedLoad(1), think_s=0.5))
    assert moments(client) == [0, 1.5, 3.0, 4.0]
    assert client.sent[2][1] == (
        Message("user", "a"),
        Message("assistant", "re:a"),
        Message("user", "b"),
        Message("assistant", "re:b"),
        Message("user", "c"),
    )
    assert [(record.item, record.turn, record.number) for record in records] == [
        ("talk", 0, 0),
        ("talk", 1, 1),
        ("talk", 2, 2),
        ("i0", 0, 3),
    ]
    assert [ask.sampling.max_tokens for ask in client.asks] == [9, 9, 9, Sampling().max_tokens]
    assert (result.n_items, result.n_sent) == (2, 4)


def test_only_the_first_turn_of_a_conversation_is_due() -> None:
    client = FakeTimedClient(lambda number: 1.0)
    talks = [LoadItem(str(number), f"p{number}", turns=("more",)) for number in range(3)]
    _, records = driven(client, talks, Load(OpenLoad(Arrivals(rate=10))))
    assert [record.due is None for record in sorted(records, key=lambda one: one.number)] == [False] * 3 + [
        True
    ] * 3
    assert moments(client) == [0, 0.1, 0.2, 1.0, 1.1, 1.2]


def test_a_failed_turn_ends_its_conversation_and_no_other() -> None:
    talks = [LoadItem("bad", "x", turns=("y!", "z")), LoadItem("good", "x", turns=("y",))]
    result, records = driven(FakeTimedClient(), talks, Load(ClosedLoad(1)))
    assert [(record.item, record.turn, record.failure is None) for record in records] == [
        ("bad", 0, True),
        ("bad", 1, False),
        ("good", 0, True),
        ("good", 1, True),
    ]
    assert (result.n_failed, result.n_turns_unsent) == (1, 1)


def test_turns_that_the_time_did_not_allow_are_counted() -> None:
    talks = [LoadItem("talk", "x", turns=("a", "b", "c"))]
    client = FakeTimedClient(lambda number: 1.0)
    result, _ = driven(client, talks, Load(ClosedLoad(1), seconds=3, think_s=0.9))
    # At 0 and at 1.9; the answer comes at 2.9, and the time is up while the user thinks.
    assert moments(client) == [0, 1.9]
    assert result.n_turns_unsent == 2
    assert result.seconds == pytest.approx(2.9)
    assert client.left_at == pytest.approx(3)


# The report of a call.


def test_a_record_holds_what_the_server_counted() -> None:
    source = [LoadItem("a", "fine", n_prompt_tokens=5), LoadItem("b", "wrong!", n_prompt_tokens=5)]
    result, (fine, wrong) = driven(FakeTimedClient(), source, Load(ClosedLoad(1)))
    assert (fine.n_input, fine.n_output, fine.finish) == (7, 3, Finish.END)
    assert (wrong.n_input, wrong.n_output, wrong.finish) == (5, 0, None)
    assert wrong.failure is not None
    assert wrong.failure.kind == "injected"
    assert (result.n_done, result.n_failed) == (2, 1)


def test_progress_is_reported_while_it_continues() -> None:
    reported: list[LoadProgress] = []
    driven(FakeTimedClient(lambda number: 0.5), items(80), Load(ClosedLoad(4)), on_progress=reported.append)
    assert [round(one.seconds, 6) for one in reported] == [
        (number + 1) / 4 for number in range(len(reported))
    ]
    middle = reported[len(reported) // 2]
    assert middle.n_sent - middle.n_done == middle.n_under_way == 4
    assert middle.per_s == pytest.approx(8, rel=0.1)
    reported.clear()
    slower = FakeTimedClient(lambda number: 0.1 if number < 200 else 1.0)
    driven(slower, items(220), Load(ClosedLoad(1)), on_progress=reported.append)
    # Ten a second for twenty seconds, then one a second: what was long ago is not now.
    assert reported[72].per_s == pytest.approx(10, rel=0.1)
    assert reported[-1].per_s == pytest.approx(1, rel=0.3)


# Ending from outside.


@pytest.mark.parametrize(
    "load",
    [
        Load(ClosedLoad(3)),
        Load(OpenLoad(Arrivals(rate=3))),
        Load(OpenLoad(Arrivals(rate=30), at_most_under_way=3)),
        Load(ClosedLoad(3, at_most_per_s=3)),
    ],
)
def test_what_is_complete_is_kept_when_a_load_is_stopped(load: Load) -> None:
    client = FakeTimedClient(lambda number: 1.0)
    result, records = driven(client, items(100), load, stop_at=4.5)
    assert result.is_partial
    assert result.n_cut == 3
    assert len(records) == result.n_done == result.n_sent - 3
    assert client.n_under_way == 0
    assert "stopped early" in result.notes[0]
    assert max(at for at, _ in client.sent) <= 4.5


def test_cancelling_the_task_ends_the_calls_too() -> None:
    client = FakeTimedClient(lambda number: 100.0)

    async def doing() -> None:
        async with client:
            run = asyncio.create_task(
                LoadDriver(client, items(9), Load(ClosedLoad(3)), lambda record: None, clock=now).run()
            )
            await asyncio.sleep(1)
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run

    run_virtually(doing())
    assert client.n_under_way == 0


def test_an_error_of_the_one_who_is_reported_ends_the_load() -> None:
    class FullError(OSError):
        pass

    def full(record: CallRecord) -> None:
        raise FullError("no space left")

    client = FakeTimedClient()

    async def doing() -> None:
        async with client:
            await LoadDriver(client, items(9), Load(ClosedLoad(3)), full, clock=now).run()

    with pytest.raises(FullError, match="no space"):
        run_virtually(doing())


def test_a_client_that_breaks_its_promise_is_not_taken_for_a_failed_call() -> None:
    class Broken(FakeTimedClient):
        async def call(self, ask: Generate) -> TimedCall:
            raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        driven(Broken(), items(1), Load(OpenLoad(Arrivals(rate=1))))


# Warming up.


def test_warming_up_sends_so_many_at_a_time() -> None:
    client = FakeTimedClient()
    run_virtually(warm_up(client, items(5), Sampling(), 2, clock=now))
    assert moments(client) == [0, 0, 1, 1, 2]


def test_a_server_that_answers_nothing_ends_the_warm_up() -> None:
    source = [LoadItem("a", "x!"), LoadItem("b", "y!")]
    with pytest.raises(
        BackendError, match=r"LOAD-004 all 2 warm-up requests failed.* 'injected': asked to fail"
    ):
        run_virtually(warm_up(FakeTimedClient(), source, Sampling(), 2, clock=now))
    run_virtually(warm_up(FakeTimedClient(), [*source, *items(1)], Sampling(), 2, clock=now))


@pytest.mark.parametrize("arrivals", [Arrivals(rate=10), Arrivals(rate=10, burstiness=1), TraceArrivals()])
def test_the_clock_of_an_open_load_starts_once_its_first_call_is_ready(
    arrivals: Arrivals | TraceArrivals,
) -> None:
    n_taken = 0
    n_taken_at: list[int] = []

    def source() -> Iterable[LoadItem]:
        nonlocal n_taken
        for number in range(3):
            n_taken += 1
            yield LoadItem(f"i{number}", "p", at_s=number / 10)

    def clock() -> float:
        n_taken_at.append(n_taken)
        return now()

    client = FakeTimedClient(lambda number: 0.5)
    records: list[CallRecord] = []

    async def doing() -> LoadResult:
        async with client:
            return await LoadDriver(
                client, source(), Load(OpenLoad(arrivals)), records.append, clock=clock
            ).run()

    assert run_virtually(doing()).n_items == len(records) == 3
    assert n_taken_at[0] == 1, "drawing the first moment would make the first call late"


def test_the_tokens_of_a_first_prompt_are_not_those_of_the_next() -> None:
    talk = LoadItem("talk", (Message("user", "x!"),), n_prompt_tokens=5)
    longer = LoadItem("longer", (Message("user", "x"),), turns=("y!",), n_prompt_tokens=5)
    _, records = driven(FakeTimedClient(), [talk, longer], Load(ClosedLoad(1)))
    assert [(record.item, record.turn, record.n_input) for record in records] == [
        ("talk", 0, 5),
        ("longer", 0, 7),
        ("longer", 1, 0),
    ]
