"""Prefetched items."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.item_prefetch import ItemPrefetcher
from assay.bench.items import LoadItem
from assay.core.prompt import Message


class CountedItems:
    """Items, and how many of them were made so far."""

    def __init__(self, n: int, size: int = 1) -> None:
        self._n = n
        self._size = size
        self.n = 0

    def __iter__(self) -> Iterator[LoadItem]:
        for number in range(self._n):
            self.n += 1
            yield LoadItem(str(number), (Message("user", "x" * self._size),))


@given(
    n=st.integers(0, 40),
    ahead=st.integers(1, 20),
    expected=st.one_of(st.none(), st.integers(0, 60)),
    pauses=st.sets(st.integers(0, 40)),
)
def test_items_come_in_their_order_however_many_lie_ready(
    n: int, ahead: int, expected: int | None, pauses: set[int]
) -> None:
    async def taken() -> list[str]:
        stock = ItemPrefetcher(CountedItems(n), ahead=ahead)
        stock.prepare(expected)
        found = []
        for number, item in enumerate(stock):
            found.append(item.id)
            if number in pauses:
                await asyncio.sleep(0)
        return found

    assert asyncio.run(taken()) == [str(number) for number in range(n)]


def test_a_load_of_known_length_is_made_before_it_begins_and_nothing_more() -> None:
    made = CountedItems(10_000)

    async def doing() -> None:
        stock = ItemPrefetcher(made)
        assert stock.prepare(600) == 600
        for _ in range(600):
            next(stock)
            await asyncio.sleep(0)
        # Some lie ready for a load that goes on longer than was known.
        assert 600 <= made.n <= 600 + 256
        assert stock.n_unready == 0

    asyncio.run(doing())


def test_taking_makes_another_only_after_what_is_to_be_sent_was_sent() -> None:
    made = CountedItems(100)

    async def doing() -> None:
        stock = ItemPrefetcher(made, ahead=5)
        assert stock.prepare(None) == 5
        for _ in range(5):
            next(stock)
        assert made.n == 5
        await asyncio.sleep(0)
        assert made.n == 10
        for _ in range(7):
            next(stock)
        assert stock.n_unready == 2

    asyncio.run(doing())


def test_a_load_of_unknown_length_has_some_ready_for_all_its_clients() -> None:
    assert ItemPrefetcher(CountedItems(10_000)).prepare(None, at_once=10) == 256
    assert ItemPrefetcher(CountedItems(10_000)).prepare(None, at_once=1000) == 2000
    assert ItemPrefetcher(CountedItems(100_000)).prepare(None, at_once=50_000) == 8192


def test_long_prompts_are_made_ahead_in_smaller_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.bench.item_prefetch.MAX_PREFETCHED_CHARS", 950)
    made = CountedItems(100, size=100)

    async def doing() -> None:
        stock = ItemPrefetcher(made)
        assert stock.prepare(50) == 10
        for number in range(20):
            next(stock)
            await asyncio.sleep(0)
            assert made.n == 11 + number

    asyncio.run(doing())


def test_what_is_ready_is_the_next_loads() -> None:
    async def doing() -> None:
        stock = ItemPrefetcher(CountedItems(30), ahead=8)
        stock.prepare(3)
        assert [next(stock).id for _ in range(3)] == ["0", "1", "2"]
        stock.prepare(3)
        assert [next(stock).id for _ in range(3)] == ["3", "4", "5"]

    asyncio.run(doing())
