"""Servers of UltraEval's protocol on the loopback: a small model, one with faults, or a real backend."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from aiohttp import web

from assay.core.ports import Backend
from assay.core.request import Ask, Generate, Sampling, Span, make_request
from assay.core.response import Completion, Likelihood
from fakes.loopback import on_loopback

Body = dict[str, Any]
Model = Callable[[Body], Any]
"""Body -> what is sent back: a web.Response as it is, anything else as JSON."""
PIECE = re.compile(r"\s*\S{1,4}|\s+")


def logprobs(text: str, *, has_bos: bool = False) -> list[float]:
    """The likelihood of each piece depends on the text before it and on the piece itself."""
    numbers = [-(1 + _number(text[: piece.end()]) % 5000) / 1000 for piece in PIECE.finditer(text)]
    return numbers if has_bos else numbers[1:]


def completion(text: str, params: Body) -> str:
    """Pieces of digits, as many as asked for; a draw depends on the seed."""
    seed = params["seed"] if params["temperature"] > 0 else 0
    n_pieces = min(params["max_tokens"], 3)
    return " ".join(str(_number(f"{text}/{seed}/{n}") % 100) for n in range(n_pieces))


def small_model(body: Body, *, has_bos: bool = False) -> list[Any]:
    params = body["params"]
    if params["prompt_logprobs"] is not None:
        return [logprobs(text, has_bos=has_bos) for text in body["instances"]]
    return [completion(text, params) for text in body["instances"]]


def real_model(backend: Backend) -> Model:
    """Serve a backend of ours by the protocol. One call at a time, as it computes in this process."""
    lock = threading.Lock()

    def answered(body: Body) -> list[Any]:
        params = body["params"]
        asks: list[Ask] = [_ask(text, params) for text in body["instances"]]
        with lock:
            requests = [make_request("t", str(n), "any", "answer", 0, ask) for n, ask in enumerate(asks)]
            found = {response.request_id: response.outcome for response in backend.run(requests)}
        return [_reply(found[one.id]) for one in requests]

    return answered


def _ask(text: str, params: Body) -> Ask:
    if params["prompt_logprobs"] is not None:
        return Span(text, 0, scores_first_token=False)
    stop = tuple(params["stop"] or ())
    return Generate(text, Sampling(params["max_tokens"], params["temperature"], params["top_p"], stop))


def _reply(outcome: object) -> Any:
    if isinstance(outcome, Likelihood):
        return outcome.token_logprobs
    if isinstance(outcome, Completion):
        return outcome.outputs[0].text
    return []  # One token alone: there is nothing to score.


class InferServer:
    """What a server heard, and where it is."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.bodies: list[Body] = []
        self.n_under_way = 0
        self.most_under_way = 0
        self.url = ""

    async def infer(self, asked: web.Request) -> web.StreamResponse:
        body = json.loads(await asked.read())
        self.bodies.append(body)
        self.n_under_way += 1
        self.most_under_way = max(self.most_under_way, self.n_under_way)
        try:
            reply = await asyncio.to_thread(self.model, body)
        finally:
            self.n_under_way -= 1
        if isinstance(reply, web.StreamResponse):
            return reply
        return web.Response(body=json.dumps(reply).encode(), content_type="application/json")

    @property
    def instances(self) -> list[str]:
        return [text for body in self.bodies for text in body["instances"]]


@contextmanager
def serving(model: Model = small_model) -> Iterator[InferServer]:
    """Serve a model at a free port until the block ends."""
    server = InferServer(model)
    app = web.Application(client_max_size=2**28)
    app.router.add_post("/infer", server.infer)
    with on_loopback(app) as address:
        server.url = f"{address}/infer"
        yield server


def in_turn(*models: Model) -> Model:
    """Answer each call by the next of these, the later ones by the last."""
    left = list(models)
    lock = threading.Lock()

    def answered(body: Body) -> Any:
        with lock:
            model = left.pop(0) if len(left) > 1 else left[0]
        return model(body)

    return answered


def failing(status: int = 500, text: str = "out of order") -> Model:
    return lambda body: web.Response(status=status, text=text)


def poisoned(poison: str, trouble: Model) -> Model:
    """Answer by the trouble whenever one text holds the poison."""

    def answered(body: Body) -> Any:
        is_hit = any(poison in text for text in body["instances"])
        return trouble(body) if is_hit else small_model(body)

    return answered


def replying(change: Callable[[list[Any]], Any]) -> Model:
    """Change what the small model would reply."""
    return lambda body: change(small_model(body))


def not_json(body: Body) -> web.Response:
    return web.Response(text="<html>please wait</html>")


def lengths(bodies: Sequence[Body]) -> list[int]:
    return [len(body["instances"]) for body in bodies]


def _number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest())
