"""An OpenAI-compatible server on the loopback: a small model, and every way in which one may fail."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from fakes.loopback import on_loopback

Body = dict[str, Any]
Model = Callable[[Body], Any]
"""Body -> what is sent back: a web.Response or Chunks as they are, anything else as JSON."""


@dataclass
class Chunks:
    """A reply in pieces, sent one by one."""

    pieces: Sequence[bytes]
    content_type: str = "text/event-stream"
    is_closed_early: bool = False
    """Whether the connection breaks after the last piece, before the reply is whole."""


def prompt_of(body: Body) -> str:
    """All that a body asks, as one text."""
    return str(body.get("prompt") or json.dumps(body["messages"]))


def words(body: Body, number: int = 0) -> list[str]:
    """Three words that follow from the prompt; a draw depends on the seed too."""
    seed = (body.get("seed"), number) if body.get("temperature", 1) > 0 else 0
    asked = f"{prompt_of(body)}/{seed}"
    digest = hashlib.blake2b(asked.encode(), digest_size=3).digest()
    return [f" {byte}" for byte in digest][: body.get("max_tokens", 3)]


def small_model(body: Body) -> Body:
    """A whole reply, or that of a stream put together again by who reads it."""
    choices = [choice(body, "".join(words(body, n)), index=n) for n in range(body.get("n", 1))]
    return reply(*choices, prompt_tokens=len(prompt_of(body)), completion_tokens=3)


def choice(
    body: Body, text: str | None, *, finish: str | None = "stop", index: int = 0, **expected: Any
) -> Body:
    """One of the texts, as the endpoint that was asked writes it."""
    if "prompt" in body:
        return {"index": index, "text": text, "finish_reason": finish}
    message = {"role": "assistant", "content": text, **expected}
    return {"index": index, "message": message, "finish_reason": finish}


def reply(*choices: Body, prompt_tokens: int = 7, completion_tokens: int = 3) -> Body:
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    return {"object": "any", "choices": list(choices), "usage": usage}


def event(document: object) -> bytes:
    return b"data: " + json.dumps(document, ensure_ascii=False).encode() + b"\n\n"


def streamed(body: Body) -> list[bytes]:
    """The small model's texts, word by word, as the events of a stream."""
    events: list[bytes] = []
    for n in range(body.get("n", 1)):
        for word in words(body, n):
            events.append(event({"choices": [_piece(body, word, n, None)]}))
        events.append(event({"choices": [_piece(body, None, n, "stop")]}))
    usage = {"prompt_tokens": len(prompt_of(body)), "completion_tokens": 3}
    return [*events, event({"choices": [], "usage": usage}), b"data: [DONE]\n\n"]


def _piece(body: Body, text: str | None, index: int, finish: str | None) -> Body:
    if "prompt" in body:
        return {"index": index, "text": text or "", "finish_reason": finish}
    return {"index": index, "delta": {"content": text} if text else {}, "finish_reason": finish}


def streaming_model(body: Body) -> Any:
    return Chunks(streamed(body)) if body.get("stream") else small_model(body)


@dataclass
class OpenAIServer:
    """What a server heard, and where it is."""

    model: Model
    models: Any = field(default_factory=lambda: {"data": [{"id": "first"}, {"id": "second"}]})
    url: str = ""
    key: str | None = None
    """The key it wants."""
    pages: dict[str, Callable[[web.Request], Any]] = field(default_factory=dict)
    """What else it shows, by path."""
    bodies: list[Body] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    n_under_way: int = 0
    most_under_way: int = 0

    @property
    def posted(self) -> list[str]:
        """The paths of all calls but those that ask for the list of models."""
        return [path for path in self.paths if path != "/v1/models"]

    async def answer(self, asked: web.Request) -> web.StreamResponse:
        body = json.loads(await asked.read())
        self.bodies.append(body)
        self.paths.append(asked.path)
        if (refused := self._refused(asked)) is not None:
            return refused
        self.n_under_way += 1
        self.most_under_way = max(self.most_under_way, self.n_under_way)
        try:
            message = await asyncio.to_thread(self.model, body)
        finally:
            self.n_under_way -= 1
        return await sent(asked, message)

    async def list_models(self, asked: web.Request) -> web.StreamResponse:
        self.paths.append(asked.path)
        return self._refused(asked) or await sent(asked, self.models)

    def _refused(self, asked: web.Request) -> web.Response | None:
        shown = asked.headers.get("Authorization")
        self.keys.append(shown)
        if self.key is None or shown == f"Bearer {self.key}":
            return None
        return error(401, f"Incorrect API key provided: {shown}")


async def sent(asked: web.Request, message: Any) -> web.StreamResponse:
    if isinstance(message, web.StreamResponse):
        return message
    if not isinstance(message, Chunks):
        return web.Response(body=json.dumps(message).encode(), content_type="application/json")
    response = web.StreamResponse(headers={"Content-Type": message.content_type})
    await response.prepare(asked)
    for piece in message.pieces:
        await response.write(piece)
        await asyncio.sleep(0.001)  # So that pieces do not travel together.
    if message.is_closed_early:
        assert asked.transport is not None
        asked.transport.close()
    else:
        await response.write_eof()
    return response


@contextmanager
def serving(model: Model = small_model, **settings: Any) -> Iterator[OpenAIServer]:
    """Serve a model at a free port until the block ends."""
    server = OpenAIServer(model, **settings)
    app = web.Application(client_max_size=2**28)
    app.router.add_post("/v1/chat/completions", server.answer)
    app.router.add_post("/v1/completions", server.answer)
    app.router.add_get("/v1/models", server.list_models)
    for path, page in server.pages.items():
        app.router.add_get(path, page)
    with on_loopback(app) as address:
        server.url = f"{address}/v1"
        yield server


def error(status: int, message: str, **headers: str) -> web.Response:
    """An error as OpenAI's own server words it."""
    body = json.dumps({"error": {"message": message, "type": "some_error", "code": status}})
    return web.Response(status=status, text=body, content_type="application/json", headers=headers)


def failing(status: int = 500, message: str = "out of order", **headers: str) -> Model:
    return lambda body: error(status, message, **headers)


def poisoned(poison: str, trouble: Model, otherwise: Model = small_model) -> Model:
    """Answer by the trouble whenever the prompt holds the poison."""
    return lambda body: (trouble if poison in prompt_of(body) else otherwise)(body)


def saying(text: str | None, finish: str | None = "stop", **message: Any) -> Model:
    """Always say the same."""
    return lambda body: reply(choice(body, text, finish=finish, **message))


def not_json(body: Body) -> web.Response:
    return web.Response(text='{"choices": [{"mess', content_type="application/json")


def closed_early(body: Body) -> Chunks:
    """The beginning of a reply, and then nobody."""
    return Chunks([b'{"choices": [{"message": {"content": "half'], "application/json", is_closed_early=True)
