"""Run a load: send items through a client on schedule, and pass on the record of each call.

One dispatcher sleeps until something is due and starts everything due by then: clients of a closed load, or
items of an open one. Waiting and finished items take no memory: memory use depends only on
the number of concurrent items. The driver also measures its own delays, since sockets and timers of one
process have limits, and a load that was shaped by them must report it.

This module uses neither protocols nor files.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from itertools import chain, islice

import msgspec

from assay.bench.arrivals import TraceArrivals
from assay.bench.items import LoadItem
from assay.bench.load import ClosedLoad, Load, OpenLoad
from assay.bench.load_result import LoadResult, LoadTally
from assay.bench.records import CallRecord
from assay.core.errors import BackendError, Problem
from assay.core.ports import TimedClient
from assay.core.prompt import append_turn
from assay.core.request import Generate, Sampling
from assay.core.response import Completion, Failure
from assay.core.timing import LoadProgress, TimedCall

Clock = Callable[[], float]
"""The clock of the client: due times and start times must be comparable."""

TICK_S = 0.25
_STARTS_PER_YIELD = 64
"""Number of starts before sockets are served again."""


class LoadDriver:
    """Runs one load. Used once, on one event loop."""

    def __init__(
        self,
        client: TimedClient,
        items: Iterable[LoadItem],
        load: Load,
        on_record: Callable[[CallRecord], None],
        *,
        on_progress: Callable[[LoadProgress], None] | None = None,
        clock: Clock = time.perf_counter,
    ) -> None:
        self._client = client
        self._items = iter(items)
        self._load = load
        self._on_record = on_record
        self._on_progress = on_progress
        self._clock = clock
        self._tally = LoadTally()
        self._units: set[asyncio.Task[None]] = set()
        """Running clients of a closed load, or running items of an open one."""
        self._bell: asyncio.Future[None] | None = None
        """What the dispatcher waits for."""
        self._waits_for_place = False
        self._n_past_due = 0
        self._held_until = float("-inf")
        """When the dispatcher last waited because the maximum concurrency was reached."""
        self._pauses: set[asyncio.Future[None]] = set()
        self._next_slot = float("-inf")
        self._began = 0.0
        self._deadline = float("inf")
        self._is_stopped = False
        self._is_out = False
        """Whether clients of a closed load have no more items."""

    async def run(self) -> LoadResult:
        """Send all items, wait for the responses, and return the result."""
        loop = asyncio.get_running_loop()
        load = self._load
        # Computed before the clock starts: the first time of a schedule takes long to draw.
        arriving = (
            _draw_first(self._iter_arrivals(load.shape)) if isinstance(load.shape, OpenLoad) else iter(())
        )
        self._began = self._clock()
        timers: list[asyncio.TimerHandle] = []
        if load.seconds is not None:
            self._deadline = self._began + load.seconds
            timers.append(loop.call_later(load.seconds, self._end_sending))
            if load.grace_s is not None:
                timers.append(loop.call_later(load.seconds + load.grace_s, self._cancel_units))
        try:
            async with asyncio.TaskGroup() as whole:
                ticker = whole.create_task(self._tick())
                async with asyncio.TaskGroup() as units:
                    if isinstance(load.shape, ClosedLoad):
                        await self._start_clients(units, load.shape)
                    else:
                        await self._send_when_due(units, load.shape, arriving)
                ticker.cancel()
        except BaseExceptionGroup as errors:
            raise _find_first_error(errors) from None
        finally:
            for timer in timers:
                timer.cancel()
        return self._tally.build_result(load, self._began, is_partial=self._is_stopped)

    def stop(self) -> None:
        """Stop now: send nothing more and cancel running calls. Call it from the thread of the loop."""
        self._is_stopped = True
        self._end_sending()
        self._cancel_units()

    # Start what is due.

    async def _start_clients(self, group: asyncio.TaskGroup, shape: ClosedLoad) -> None:
        between = 0.0 if shape.starts_per_s is None else 1 / shape.starts_per_s
        for number in range(shape.concurrency):
            await self._wait_until(self._began + number * between)
            if self._is_out or not self._sends:
                return
            self._start(group, self._run_client(shape))

    async def _send_when_due(
        self, group: asyncio.TaskGroup, shape: OpenLoad, arriving: Iterator[tuple[float, LoadItem]]
    ) -> None:
        most = shape.at_most_under_way
        for offset, item in arriving:
            due = self._began + offset
            await self._wait_until(due)
            while most is not None and len(self._units) >= most and self._sends:
                await self._wait_for_bell(None)
                self._held_until = self._clock()
            if not self._sends:
                return
            # An item that did not wait may still be late because of earlier ones that did.
            is_held = due < self._held_until
            self._tally.n_held += is_held
            self._tally.n_items += 1
            self._start(group, self._send_one(item, due, is_held))

    def _iter_arrivals(self, shape: OpenLoad) -> Iterator[tuple[float, LoadItem]]:
        if not isinstance(shape.arrivals, TraceArrivals):
            yield from zip(shape.arrivals.moments(self._load.n), self._items, strict=False)
            return
        offset = 0.0
        for item in islice(self._items, self._load.n):
            offset = shape.arrivals.moment(item, offset)
            yield offset, item

    def _start(self, group: asyncio.TaskGroup, unit: Coroutine[None, None, None]) -> None:
        task = group.create_task(unit)
        self._units.add(task)
        task.add_done_callback(self._discard_unit)

    def _discard_unit(self, unit: asyncio.Task[None]) -> None:
        self._units.discard(unit)
        if self._waits_for_place:
            _wake(self._bell)

    async def _wait_until(self, moment: float) -> None:
        """Wait until a time, or until sending ends."""
        if self._clock() >= moment:
            self._n_past_due += 1
            if self._n_past_due % _STARTS_PER_YIELD == 0:
                await asyncio.sleep(0)
            return
        # Timers of some loops have a resolution of milliseconds and fire early.
        while self._sends and not self._is_out and (wait := moment - self._clock()) > 0:
            await self._wait_for_bell(wait)

    async def _wait_for_bell(self, seconds: float | None) -> None:
        """Let the dispatcher wait for some seconds, or for a free slot; less if sending ends."""
        self._bell = asyncio.get_running_loop().create_future()
        self._waits_for_place = seconds is None
        try:
            await _wait_for_future(self._bell, seconds)
        finally:
            self._bell = None
            self._waits_for_place = False

    # Run what was started.

    async def _run_client(self, shape: ClosedLoad) -> None:
        """Send items one after the other."""
        freed: float | None = None
        while (item := self._take_item(shape)) is not None:
            ended = await self._send_conversation(item, freed=freed)
            # A client that waits for its rate slot is idle by intention.
            freed = ended if shape.at_most_per_s is None else None

    def _take_item(self, shape: ClosedLoad) -> LoadItem | None:
        """Return the next item for a client; None if there are no more."""
        if self._is_out or not self._sends:
            return None
        is_enough = self._load.n is not None and self._tally.n_items >= self._load.n
        is_long_enough = self._clock() - self._began >= shape.least_seconds
        item = None if is_enough and is_long_enough else next(self._items, None)
        if item is None:
            self._is_out = True
            _wake(self._bell)
            return None
        self._tally.n_items += 1
        return item

    async def _send_one(self, item: LoadItem, due: float, is_held: bool) -> None:
        await self._send_conversation(item, due=due, is_held=is_held)

    async def _send_conversation(
        self, item: LoadItem, *, due: float | None = None, is_held: bool = False, freed: float | None = None
    ) -> float | None:
        """Send an item turn by turn; return when its last response ended, None if nothing was sent.

        `due`: when the first turn should be sent. `freed`: since when its client was idle.
        """
        sampling = self._load.sampling
        if item.max_tokens is not None:
            sampling = msgspec.structs.replace(sampling, max_tokens=item.max_tokens)
        prompt = item.prompt
        ended: float | None = None
        for turn in range(len(item.turns) + 1):
            if turn and self._load.think_s:
                await self._pause(self._load.think_s)
            await self._wait_for_slot()
            if not self._sends:
                self._tally.n_turns_unsent += len(item.turns) + 1 - turn
                break
            number = self._tally.n_sent
            call = await self._call(Generate(prompt, sampling))
            began, ended = call.times.began, call.times.ended
            if turn == 0 and due is not None:
                self._tally.count_lateness(began - due, is_held=is_held)
            if turn == 0 and freed is not None:
                self._tally.count_idle_time(began - freed)
            self._on_record(_record(item, number, call, turn, due if turn == 0 else None))
            if isinstance(call.outcome, Failure):
                self._tally.n_turns_unsent += len(item.turns) - turn
                break
            if turn < len(item.turns):
                prompt = append_turn(prompt, call.outcome.outputs[0].text, item.turns[turn])
        return ended

    async def _call(self, ask: Generate) -> TimedCall:
        self._tally.n_sent += 1
        self._tally.n_under_way += 1
        try:
            call = await self._client.call(ask)
        except asyncio.CancelledError:
            self._tally.n_cut += 1
            raise
        finally:
            self._tally.n_under_way -= 1
        self._tally.count_call(call)
        return call

    async def _wait_for_slot(self) -> None:
        """Wait for the next slot if calls per second are limited."""
        shape = self._load.shape
        if not isinstance(shape, ClosedLoad) or shape.at_most_per_s is None:
            return
        now = self._clock()
        slot = max(now, self._next_slot)
        self._next_slot = slot + 1 / shape.at_most_per_s
        if slot > now:
            await self._pause(slot - now)

    async def _pause(self, seconds: float) -> None:
        """Wait for some seconds, or until sending ends."""
        pause = asyncio.get_running_loop().create_future()
        self._pauses.add(pause)
        try:
            await _wait_for_future(pause, seconds)
        finally:
            self._pauses.discard(pause)

    # End and monitor the load.

    @property
    def _sends(self) -> bool:
        return not self._is_stopped and self._clock() < self._deadline

    def _end_sending(self) -> None:
        # A timer may fire a little early by the clock.
        self._deadline = min(self._deadline, self._clock())
        _wake(self._bell)
        for pause in self._pauses:
            _wake(pause)

    def _cancel_units(self) -> None:
        for unit in self._units:
            unit.cancel()

    async def _tick(self) -> None:
        """Measure how late timers are, and report progress."""
        loop = asyncio.get_running_loop()
        while True:
            planned = loop.time() + TICK_S
            await asyncio.sleep(TICK_S)
            self._tally.lag.add(loop.time() - planned)
            progress = self._tally.progress(self._clock() - self._began)
            if self._on_progress is not None:
                self._on_progress(progress)


def _draw_first(arriving: Iterator[tuple[float, LoadItem]]) -> Iterator[tuple[float, LoadItem]]:
    first = list(islice(arriving, 1))
    return chain(first, arriving)


def _record(item: LoadItem, number: int, call: TimedCall, turn: int, due: float | None) -> CallRecord:
    n_known = (item.n_prompt_tokens or 0) if turn == 0 else 0
    if not isinstance(call.outcome, Completion):
        return CallRecord(item.id, number, call.times, turn, due, n_known, failure=call.outcome)
    (output,) = call.outcome.outputs
    n_input = call.outcome.n_prompt_tokens or n_known
    return CallRecord(item.id, number, call.times, turn, due, n_input, output.n_tokens, output.finish)


async def _wait_for_future(bell: asyncio.Future[None], seconds: float | None) -> None:
    """Wait until the future is done, or for some seconds."""
    timer = None if seconds is None else asyncio.get_running_loop().call_later(seconds, _wake, bell)
    try:
        await bell
    finally:
        if timer is not None:
            timer.cancel()


def _wake(bell: asyncio.Future[None] | None) -> None:
    if bell is not None and not bell.done():
        bell.set_result(None)


def _find_first_error(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error of nested groups."""
    error = errors.exceptions[0]
    return _find_first_error(error) if isinstance(error, BaseExceptionGroup) else error


async def warm_up(
    client: TimedClient,
    items: Iterable[LoadItem],
    sampling: Sampling,
    concurrency: int,
    *,
    clock: Clock = time.perf_counter,
) -> LoadResult:
    """Send items with the given concurrency; raise BackendError if all of them fail."""
    first: Failure | None = None

    def keep_first(record: CallRecord) -> None:
        nonlocal first
        first = first or record.failure

    driven = await LoadDriver(
        client, items, Load(ClosedLoad(concurrency), sampling), keep_first, clock=clock
    ).run()
    if first is not None and driven.n_failed == driven.n_done:
        raise BackendError(
            Problem(
                "LOAD-004",
                f"all {driven.n_done} warm-up requests failed; the first error was "
                f"{first.kind!r}: {first.message}",
                "check the server, the model name and the API key, or set the warm-up to 0 to skip it",
            )
        )
    return driven
