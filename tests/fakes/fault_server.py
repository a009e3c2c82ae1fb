"""An OpenAI-compatible server with faults: which ones a prompt meets, and in what order, is said beforehand.

It counts what it was asked and what it answered whole, by prompt, so that a test can tell what was repeated.
"""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from aiohttp import web

from fakes.loopback import Loopback
from fakes.openai_server import Body, Chunks, choice, error, prompt_of, reply, sent, streamed, streaming_model

Fault = Callable[["FaultServer", web.Request, Body], Awaitable[web.StreamResponse]]
"""What becomes of a request that is not answered as it should be."""


class FaultServer:
    """Answers well, but for prompts that hold a mark: their requests meet the mark's faults, one each."""

    def __init__(self, faults: Mapping[str, Sequence[Fault]]) -> None:
        self.faults = dict(faults)
        self.asked: Counter[str] = Counter()
        """Requests that came, by prompt."""
        self.finished: Counter[str] = Counter()
        """Requests that were answered well and whole, by prompt."""
        self.lets_through: float = math.inf
        """So many requests are answered well; those after them wait until the server stops."""
        self._n_through = 0
        self._is_full = threading.Event()
        self._loopback = Loopback(self._app)

    @property
    def url(self) -> str:
        return f"{self._loopback.address}/v1"

    def start(self) -> None:
        """Listen, again at the same port."""
        self._loopback.start()

    def stop(self) -> None:
        """Break all connections; whoever comes is refused."""
        self._loopback.stop()

    def close(self) -> None:
        self._loopback.close()

    def wait_until_full(self) -> None:
        """Wait until all that are let through were answered."""
        assert self._is_full.wait(120), f"{self.finished.total()} requests were answered"

    def asked_with(self, mark: str) -> int:
        """Return how many requests held a mark."""
        return sum(n for prompt, n in self.asked.items() if mark in prompt)

    def forget(self) -> None:
        """Count from 0, and have no faults any more."""
        self.asked.clear()
        self.finished.clear()
        self.faults.clear()

    def _app(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._answer)
        app.router.add_post("/v1/completions", self._answer)
        return app

    async def _answer(self, asked: web.Request) -> web.StreamResponse:
        body = json.loads(await asked.read())
        prompt = prompt_of(body)
        n_before = self.asked[prompt]
        self.asked[prompt] += 1
        for mark, faults in self.faults.items():
            if mark in prompt and n_before < len(faults):
                return await faults[n_before](self, asked, body)
        self._n_through += 1
        if self._n_through > self.lets_through:
            return await slow_first_byte(self, asked, body)
        response = await sent(asked, streaming_model(body))
        # Written here and not after the return: what is counted has left.
        await response.prepare(asked)
        await response.write_eof()
        self.finished[prompt] += 1
        if self.finished.total() >= self.lets_through:
            self._is_full.set()
        return response


@contextmanager
def faulty(faults: Mapping[str, Sequence[Fault]] | None = None) -> Iterator[FaultServer]:
    """Serve with faults until the block ends."""
    server = FaultServer(faults or {})
    try:
        server.start()
        yield server
    finally:
        server.close()


def forever(fault: Fault) -> Sequence[Fault]:
    """The same fault, however often a prompt comes."""
    return [fault] * 100


# --- the faults ---


def status(number: int, message: str = "out of order", **headers: str) -> Fault:
    """Say no."""

    async def fault(server: FaultServer, asked: web.Request, body: Body) -> web.StreamResponse:
        return error(number, message, **headers)

    return fault


async def slow_first_byte(server: FaultServer, asked: web.Request, body: Body) -> web.StreamResponse:
    """Say nothing for longer than anybody waits."""
    await asyncio.Event().wait()
    raise AssertionError("cancelled before")


async def stall(server: FaultServer, asked: web.Request, body: Body) -> web.StreamResponse:
    """Begin a stream, and stand still."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(asked)
    await response.write(streamed(body)[0])
    await asyncio.Event().wait()
    raise AssertionError("cancelled before")


async def early_close(server: FaultServer, asked: web.Request, body: Body) -> web.StreamResponse:
    """Begin, and go."""
    whole = b"".join(streamed(body)) if body.get("stream") else json.dumps(streaming_model(body)).encode()
    kind = "text/event-stream" if body.get("stream") else "application/json"
    return await sent(asked, Chunks([whole[: len(whole) // 2]], kind, is_closed_early=True))


async def broken_json(server: FaultServer, asked: web.Request, body: Body) -> web.StreamResponse:
    """Reply with half of a document, and call it whole."""
    return web.Response(text='{"choices": [{"mess', content_type="application/json")


async def null_content(server: FaultServer, asked: web.Request, body: Body) -> web.StreamResponse:
    """Reply with no text and no reason."""
    return await sent(asked, reply(choice(body, None, finish=None)))


async def wrong_logprobs(server: FaultServer, asked: web.Request, body: Body) -> web.StreamResponse:
    """Reply with more tokens than log-probabilities."""
    wrong = {"tokens": [" a", " b", " c"], "token_logprobs": [-1.0], "text_offset": [0, 2]}
    message = choice(body, " a b c")
    return await sent(asked, reply({**message, "logprobs": wrong}))
