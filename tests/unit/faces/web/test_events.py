"""Event streams: their limit, their keep-alive messages, and their end."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from assay.core.errors import Problem, StoreError
from assay.faces.web import events
from assay.faces.web.error_responses import HttpError, not_found_error
from assay.faces.web.events import Streams, StreamUpdate


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_LOOK_EVERY_S", 0.01)


def test_one_too_many_is_rejected_until_another_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_MOST", 2)

    async def tried() -> None:
        streams = Streams()
        first, second = streams._events(lambda: 0), streams._news(lambda: StreamUpdate(None))
        for one in (first, second):
            assert (await anext(one)).startswith(b"retry: ")
        with pytest.raises(HttpError, match="WEB-019"):
            streams.open(lambda: 0)
        with pytest.raises(HttpError, match="WEB-019"):
            streams.follow(lambda: StreamUpdate(None))
        streams.end()
        assert [one async for one in first] == []
        streams.open(lambda: 0)
        assert [one async for one in second] == []

    asyncio.run(tried())


def test_a_stream_that_has_nothing_to_tell_says_that_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_SIGN_EVERY_S", 0.03)

    async def tried() -> None:
        streams = Streams()
        for one in (streams._events(lambda: 0), streams._news(lambda: StreamUpdate(None))):
            assert [await anext(one) for _ in range(2)] == [b"retry: 2000\n\n", b": still here\n\n"]
        streams.end()

    asyncio.run(tried())


def test_a_change_is_reported_once_and_what_is_gone_ends_the_stream() -> None:
    stamps = itertools.chain([1, 1, 2, 2], itertools.repeat(3, 3))

    def stamp() -> int:
        found = next(stamps, None)
        if found is None:
            raise not_found_error("run")
        return found

    async def read_events() -> list[bytes]:
        return [one async for one in Streams()._events(stamp)]

    changed = b"event: changed\ndata: \n\n"
    assert asyncio.run(read_events()) == [b"retry: 2000\n\n", changed, changed, b"event: gone\ndata: \n\n"]


def test_the_last_news_end_a_stream() -> None:
    news = iter([StreamUpdate(b"a"), StreamUpdate(None), StreamUpdate(b"b", is_last=True)])

    async def read_events() -> list[bytes]:
        return [one async for one in Streams()._news(lambda: next(news))]

    assert asyncio.run(read_events()) == [b"retry: 2000\n\n", b"a", b"b"]


def test_a_stream_ends_quietly_where_the_database_is_away() -> None:
    """The browser asks again by itself; nothing is said to be gone."""

    def away() -> StreamUpdate:
        raise StoreError(Problem("STORE-023", "the database is away", "wait"))

    async def read_events() -> list[list[bytes]]:
        streams = Streams()
        return [[one async for one in stream] for stream in (streams._news(away), streams._events(away))]

    assert asyncio.run(read_events()) == [[b"retry: 2000\n\n"], []]
