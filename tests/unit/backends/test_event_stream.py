"""Events out of bytes, wherever the network cut them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.backends.event_stream import EventStream

STREAM = (
    ": a comment\r\n\r\n"
    'data: {"text": "héllo"}\n\n'
    "event: message\rid: 7\rdata: two\r\r"
    "data:no space\ndata:  two lines\n\n"
    "data: 한국어 \U0001f600\r\n\r\n"
    "retry: 10\n\n"
    "data\n\n"
    "data: [DONE]\n\n"
    "data: never ended"
).encode()
EVENTS = [
    '{"text": "héllo"}'.encode(),
    b"two",
    b"no space\n two lines",
    "한국어 \U0001f600".encode(),
    b"",
    b"[DONE]",
]


def events(pieces: Sequence[bytes]) -> list[bytes]:
    stream = EventStream()
    return [data for piece in pieces for data in stream.feed(piece)]


def test_an_event_is_data_up_to_an_empty_line() -> None:
    assert events([STREAM]) == EVENTS


@given(st.lists(st.integers(0, len(STREAM))))
def test_cuts_change_nothing(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    assert events([STREAM[a:b] for a, b in pairwise(places)]) == EVENTS


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_an_event_is_there_as_soon_as_it_is_whole(end: bytes) -> None:
    stream = EventStream()
    assert list(stream.feed(b"data: one" + end)) == []
    # A carriage return alone may still become half of a line end.
    assert list(stream.feed(end + b"data: two")) == [b"one"]
