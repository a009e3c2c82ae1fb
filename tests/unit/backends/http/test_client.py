"""HTTP responses split anywhere, closed early, kept open, late, or not HTTP at all."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.backends.http.client import HttpClient
from assay.backends.http.exchange import (
    ChunkConsumer,
    ConnectionBroken,
    HttpReply,
    ReplyStalled,
    ReplyTimeout,
    ServerUnreachable,
    TimeLimits,
)
from assay.backends.http.pull import new_event_loop

PATIENT = TimeLimits(30.0)
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n"
    b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"
)

Scene = Callable[["Wire"], Awaitable[None]]
"""What a server does on one connection."""


class Wire:
    """The server's end of a connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.asked: list[bytes] = []

    async def hear(self) -> bytes:
        """Wait for a whole request; return its head and body."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        named = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        length = int(named[0].partition(b":")[2]) if named else 0
        body = await self.reader.readexactly(length)
        self.asked.append(head + body)
        return head + body

    async def say(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()
            await asyncio.sleep(0)

    def drop(self) -> None:
        self.writer.close()


def held(
    scene: Scene, asks: Callable[[HttpClient], Awaitable[object]], tls: ssl.SSLContext | None = None
) -> tuple[object, int]:
    """What asking brings, against a server that plays a scene on every connection; and their number."""
    n_connections = 0

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal n_connections
        n_connections += 1
        try:
            await scene(Wire(reader, writer))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # The client has what it wants.
        finally:
            writer.close()

    async def main() -> object:
        server = await asyncio.start_server(play, "127.0.0.1", 0, ssl=tls)
        port = server.sockets[0].getsockname()[1]
        scheme = "https" if tls else "http"
        try:
            async with HttpClient(f"{scheme}://127.0.0.1:{port}/v1") as client:
                return await asks(client)
        finally:
            server.close()

    loop = new_event_loop()
    try:
        return loop.run_until_complete(main()), n_connections
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _get(client: HttpClient, limits: TimeLimits = PATIENT) -> HttpReply:
    return await client.call("POST", "/v1/x", b'{"a":1}', limits)


def always(*pieces: bytes) -> Scene:
    async def scene(wire: Wire) -> None:
        while True:
            await wire.hear()
            await wire.say(*pieces)

    return scene


def answered(scene: Scene, limits: TimeLimits = PATIENT) -> HttpReply:
    reply, _ = held(scene, lambda client: _get(client, limits))
    assert isinstance(reply, HttpReply)
    return reply


def test_a_request_is_sent_as_the_protocol_says() -> None:
    heard: list[bytes] = []

    async def scene(wire: Wire) -> None:
        heard.append(await wire.hear())
        await wire.say(OK)

    async def asks(client: HttpClient) -> HttpReply:
        return await client.call("POST", "/v1/x", b"{}", PATIENT, headers="Authorization: Bearer k\r\n")

    held(scene, asks)
    head, _, body = heard[0].partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"POST /v1/x HTTP/1.1"
    assert any(line.startswith(b"Host: 127.0.0.1:") for line in lines)
    assert {b"Authorization: Bearer k", b"Content-Type: application/json", b"Content-Length: 2"} <= set(lines)
    assert body == b"{}"


@given(cuts=st.lists(st.integers(1, len(CHUNKED) - 1), max_size=6, unique=True))
@settings(max_examples=25, deadline=None)
def test_a_reply_is_the_same_wherever_it_is_cut(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(CHUNKED)]
    reply = answered(always(*(CHUNKED[a:b] for a, b in pairwise(places))))
    assert (reply.status, reply.content) == (200, b"hello")
    assert reply.headers["content-type"] == "text/event-stream"


def test_a_reply_without_a_length_ends_with_its_connection() -> None:
    async def scene(wire: Wire) -> None:
        await wire.hear()
        await wire.say(b"HTTP/1.1 200 OK\r\n\r\nhel", b"lo")

    assert answered(scene).content == b"hello"


def test_what_announces_a_reply_is_not_taken_for_it() -> None:
    assert answered(always(b"HTTP/1.1 100 Continue\r\n\r\n", OK)).content == b"hello"
    assert answered(always(b"HTTP/1.1 204 No Content\r\n\r\n")).status == 204


def test_connections_are_used_again_and_replaced_when_the_server_says_so() -> None:
    async def thrice(client: HttpClient) -> list[bytes]:
        return [(await _get(client)).content for _ in range(3)]

    assert held(always(OK), thrice) == ([b"hello"] * 3, 1)
    closing = OK.replace(b"Content-Type", b"Connection: close\r\nContent-Type")
    assert held(always(closing), thrice) == ([b"hello"] * 3, 3)
    old = OK.replace(b"HTTP/1.1", b"HTTP/1.0")
    assert held(always(old), thrice) == ([b"hello"] * 3, 3)


def test_a_connection_that_was_closed_while_idle_is_replaced_without_a_word() -> None:
    async def once(wire: Wire) -> None:
        await wire.hear()
        await wire.say(OK)

    async def twice(client: HttpClient) -> list[bytes]:
        first = await _get(client)
        await asyncio.sleep(0.05)
        return [first.content, (await _get(client)).content]

    assert held(once, twice) == ([b"hello", b"hello"], 2)


def test_a_connection_that_closes_at_the_second_request_is_replaced_once() -> None:
    async def once(wire: Wire) -> None:
        await wire.hear()
        await wire.say(OK)
        await wire.hear()
        wire.drop()

    async def twice(client: HttpClient) -> list[bytes]:
        return [(await _get(client)).content for _ in range(2)]

    assert held(once, twice) == ([b"hello", b"hello"], 2)


def test_a_first_connection_that_closes_without_a_word_is_trouble() -> None:
    async def scene(wire: Wire) -> None:
        await wire.hear()

    with pytest.raises(ConnectionBroken, match="closed the connection"):
        answered(scene)


def test_a_reply_that_ends_early_is_trouble() -> None:
    async def scene(wire: Wire) -> None:
        await wire.hear()
        await wire.say(OK[:-2])

    with pytest.raises(ConnectionBroken, match="before the reply was complete"):
        answered(scene)


def test_what_is_no_http_is_trouble() -> None:
    with pytest.raises(ConnectionBroken, match="not HTTP"):
        answered(always(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"))


def test_a_server_that_changes_the_protocol_is_trouble() -> None:
    with pytest.raises(ConnectionBroken, match="another protocol"):
        answered(always(b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"))


def test_nothing_listens() -> None:
    async def asks(_: HttpClient) -> object:
        async with HttpClient("http://127.0.0.1:9/v1") as nobody:
            return await _get(nobody)

    with pytest.raises(ServerUnreachable, match=r"127\.0\.0\.1:9"):
        held(always(OK), asks)


async def _silent(wire: Wire) -> None:
    await wire.hear()
    await wire.reader.read()


async def _stalling(wire: Wire) -> None:
    await wire.hear()
    await wire.say(OK[:-2])
    await wire.reader.read()


def test_a_call_ends_when_its_time_is_over() -> None:
    with pytest.raises(ReplyTimeout, match=r"0\.2 s"):
        answered(_silent, TimeLimits(0.2))
    with pytest.raises(ReplyTimeout):
        answered(_stalling, TimeLimits(0.2))


def test_a_reply_that_is_still_ends_before_that() -> None:
    with pytest.raises(ReplyStalled, match=r"no data for 0\.1 s"):
        answered(_stalling, TimeLimits(600.0, idle_s=0.1))


def test_waiting_for_the_first_byte_is_not_standing_still() -> None:
    with pytest.raises(ReplyTimeout):
        answered(_silent, TimeLimits(0.4, idle_s=0.05))


def test_pieces_are_taken_as_they_come() -> None:
    taken: list[bytes] = []
    is_first_there = asyncio.Event()

    async def scene(wire: Wire) -> None:
        await wire.hear()
        await wire.say(CHUNKED[:-7])
        await is_first_there.wait()  # Only who sees the first piece before the rest lets it go on.
        await wire.say(CHUNKED[-7:])

    def take(piece: bytes, now: float) -> None:
        taken.append(piece)
        is_first_there.set()

    def on_head(status: int, headers: Mapping[str, str]) -> ChunkConsumer | None:
        assert (status, headers["transfer-encoding"]) == (200, "chunked")
        return take

    async def asks(client: HttpClient) -> HttpReply:
        return await client.call("GET", "/", None, PATIENT, on_head=on_head)

    reply, _ = held(scene, asks)
    assert isinstance(reply, HttpReply)
    assert (b"".join(taken), reply.content) == (b"hello", b"")


def test_what_a_taker_raises_ends_the_call_and_its_connection() -> None:
    def on_head(status: int, headers: Mapping[str, str]) -> ChunkConsumer | None:
        def take(piece: bytes, now: float) -> None:
            raise LookupError("not what I wanted")

        return take

    async def asks(client: HttpClient) -> Sequence[bytes]:
        with pytest.raises(LookupError, match="not what I wanted"):
            await client.call("GET", "/", None, PATIENT, on_head=on_head)
        return [(await _get(client)).content]

    assert held(always(OK), asks) == ([b"hello"], 2)


def test_a_cancelled_call_leaves_nothing_for_the_next() -> None:
    async def scene(wire: Wire) -> None:
        await wire.hear()
        await asyncio.sleep(0.2)
        await wire.say(OK.replace(b"hello", b"stale"))

    async def asks(client: HttpClient) -> bool:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(_get(client), 0.05)
        return (await _get(client)).content == b"stale"  # The second connection's own.

    assert held(scene, asks) == (True, 2)


def test_a_cancelled_call_closes_its_connection_at_once() -> None:
    """A server goes on writing for whoever seems to listen."""
    closed = asyncio.Event()

    async def scene(wire: Wire) -> None:
        await wire.hear()
        assert await wire.reader.read() == b""
        closed.set()

    async def asks(client: HttpClient) -> bool:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(_get(client), 0.05)
        await asyncio.wait_for(closed.wait(), 5)
        return True

    assert held(scene, asks) == (True, 1)


def test_a_used_connection_that_breaks_after_a_word_is_trouble() -> None:
    """The server had begun to answer: the call is not made a second time in silence."""

    async def scene(wire: Wire) -> None:
        await wire.hear()
        await wire.say(OK)
        await wire.hear()
        await wire.say(OK[:20])

    async def asks(client: HttpClient) -> bool:
        await _get(client)
        with pytest.raises(ConnectionBroken):
            await _get(client)
        return True

    assert held(scene, asks) == (True, 1)


def test_a_connection_on_which_something_came_unasked_is_not_used_again() -> None:
    is_first = True

    async def scene(wire: Wire) -> None:
        nonlocal is_first
        is_stray, is_first = is_first, False
        while True:
            await wire.hear()
            await wire.say(OK)
            if is_stray:
                await asyncio.sleep(0.05)
                await wire.say(OK.replace(b"hello", b"stray"))

    async def asks(client: HttpClient) -> bytes:
        await _get(client)
        await asyncio.sleep(0.2)
        return (await _get(client)).content

    assert held(scene, asks) == (b"hello", 2)


def test_headers_of_an_announcement_are_not_those_of_the_reply() -> None:
    reply = answered(always(b"HTTP/1.1 103 Early Hints\r\nX-Hint: 1\r\n\r\n", OK))
    assert (reply.content, "x-hint" in reply.headers) == (b"hello", False)


def test_many_calls_at_once_get_each_its_own_reply() -> None:
    async def scene(wire: Wire) -> None:
        while True:
            asked = await wire.hear()
            number = asked.rpartition(b"\r\n\r\n")[2]
            await asyncio.sleep(int(number) % 3 / 1000)
            await wire.say(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(number), number))

    async def asks(client: HttpClient) -> list[bytes]:
        calls = (client.call("POST", "/", b"%d" % n, PATIENT) for n in range(200))
        return [reply.content for reply in await asyncio.gather(*calls)]

    replies, _ = held(scene, asks)
    assert replies == [b"%d" % n for n in range(200)]


@pytest.fixture
def own_certificate(tmp_path: Path) -> tuple[ssl.SSLContext, Path]:
    """A server's context, and the certificate that nobody else vouches for."""
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    written = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=here"]
    written += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(written, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context, certificate


def test_connections_are_opened_beforehand() -> None:
    async def asks(client: HttpClient) -> list[bytes]:
        await client.connect(70, PATIENT)
        await client.connect(3, PATIENT)
        return [(await _get(client)).content for _ in range(2)]

    assert held(always(OK), asks) == ([b"hello", b"hello"], 70)


def test_a_certificate_that_nobody_vouches_for_is_rejected(
    own_certificate: tuple[ssl.SSLContext, Path],
) -> None:
    context, _ = own_certificate
    with pytest.raises(ServerUnreachable, match="certificate"):
        held(always(OK), _get, context)


def test_a_certificate_that_the_environment_names_is_taken(
    own_certificate: tuple[ssl.SSLContext, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    context, certificate = own_certificate
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    reply, _ = held(always(OK), _get, context)
    assert isinstance(reply, HttpReply)
    assert reply.content == b"hello"
