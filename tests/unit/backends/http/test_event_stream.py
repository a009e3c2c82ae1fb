"""Events out of bytes, wherever the network cut them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.backends.http.event_stream import EventStream

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


def test_lines_of_one_event_stay_together_whatever_ends_them() -> None:
    for end in (b"\n", b"\r\n", b"\r"):
        stream = b"data: one" + end + b"data: two" + end + end + b"data: three" + end + end + b":"
        for at in range(len(stream)):
            assert events([stream[:at], stream[at:]]) == [b"one\ntwo", b"three"], (end, at)
    assert events([b"data: one\r\rdata: two\n\n"]) == [b"one", b"two"]
    assert events([b"data: one\n", b"data: two\n\n"]) == [b"one\ntwo"]


@given(st.integers(1, 40), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_a_mark_of_the_byte_order_before_the_first_event_is_no_part_of_it(step: int, end: bytes) -> None:
    stream = b"\xef\xbb\xbf" + b"".join(b"data: %d%b%b" % (n, end, end) for n in range(3)) + b": end" + end
    assert events([stream[at : at + step] for at in range(0, len(stream), step)]) == [b"0", b"1", b"2"]


def test_a_long_event_in_small_pieces_takes_no_longer_than_it_must() -> None:
    """Each piece is looked at once: with a look at all that came before, this takes minutes."""
    stream = b"data: " + b"x" * 5_000_000 + b"\n\n"
    began = time.process_time()
    (event,) = events([stream[at : at + 1448] for at in range(0, len(stream), 1448)])
    assert len(event) == 5_000_000
    assert time.process_time() - began < 10


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_an_event_is_there_as_soon_as_it_is_whole(end: bytes) -> None:
    stream = EventStream()
    assert list(stream.feed(b"data: one" + end)) == []
    # A carriage return alone may still become half of a line end.
    assert list(stream.feed(end + b"data: two")) == [b"one"]
