"""Servers on the loopback that follow the public documents of TGI and of Triton's generate extension.

TGI: its OpenAPI document; the bounds of parameters are those of its validation. Triton: the generate
extension; parameters are texts, numbers and booleans.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from fakes.loopback import on_loopback
from fakes.openai_server import Chunks, event, sent

Body = dict[str, Any]
Model = Callable[[str, Body], Any]
"""Prompt and parameters -> words; or a web.Response or Chunks, sent as they are."""


def words(prompt: str, parameters: Body) -> list[str]:
    """Three words that follow from the prompt; a draw depends on the seed too."""
    seed = parameters.get("seed") if parameters.get("temperature") else 0
    digest = hashlib.blake2b(f"{prompt}/{seed}".encode(), digest_size=3).digest()
    most = parameters.get("max_new_tokens", parameters.get("max_tokens", 3))
    return [f" {byte}" for byte in digest][:most]


@dataclass
class GenerateServer:
    """What a server heard, and where it is."""

    model: Model = words
    url: str = ""
    key: str | None = None
    echoes: bool = False
    """Whether Triton's model repeats the prompt, as vLLM's does by default."""
    bodies: list[Body] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    async def tgi(self, asked: web.Request) -> web.StreamResponse:
        body, is_stream = await self._heard(asked)
        if self.key is not None and asked.headers.get("Authorization") != f"Bearer {self.key}":
            return tgi_error(401, "unauthorized", "authorization")
        parameters = body.get("parameters") or {}
        if (wrong := _wrong_for_tgi(parameters)) is not None:
            return tgi_error(422, f"Input validation error: {wrong}", "validation")
        written = self.model(body["inputs"], parameters)
        if not isinstance(written, list):
            return await sent(asked, written)
        is_cut = len(written) == parameters.get("max_new_tokens", 100)
        details = {
            "finish_reason": "length" if is_cut else "eos_token",
            "generated_tokens": len(written),
            "seed": parameters.get("seed"),
        }
        if is_stream:
            return await sent(asked, Chunks(tgi_events(written, {**details, "input_length": 7})))
        whole: Body = {"generated_text": "".join(written)}
        if parameters.get("details"):
            whole["details"] = {**details, "prefill": [], "tokens": []}
        return await sent(asked, whole)

    async def triton(self, asked: web.Request) -> web.StreamResponse:
        body, is_stream = await self._heard(asked)
        if asked.match_info["name"] != "llm":
            return web.json_response({"error": "Request for unknown model"}, status=400)
        parameters = body.get("parameters") or {}
        if any(isinstance(value, list | dict) for value in parameters.values()):
            message = "parameters must be a string, a number or a boolean"
            return web.json_response({"error": message}, status=400)
        written = self.model(body["text_input"], {**body, **parameters})
        if not isinstance(written, list):
            return await sent(asked, written)
        if self.echoes:
            written = [body["text_input"], *written]
        if is_stream:
            return await sent(asked, Chunks([event(triton_reply(word)) for word in written]))
        return await sent(asked, triton_reply("".join(written)))

    async def _heard(self, asked: web.Request) -> tuple[Body, bool]:
        body: Body = json.loads(await asked.read())
        self.bodies.append(body)
        self.paths.append(asked.path)
        return body, asked.path.endswith("_stream")

    async def info(self, asked: web.Request) -> web.Response:
        return web.json_response({"model_id": "org/model", "model_sha": "abc123", "model_dtype": "bfloat16"})

    async def metadata(self, asked: web.Request) -> web.Response:
        return web.json_response({"name": asked.match_info["name"], "versions": ["1"], "platform": "vllm"})


def _wrong_for_tgi(parameters: Body) -> str | None:
    temperature, top_p = parameters.get("temperature"), parameters.get("top_p")
    if temperature is not None and temperature <= 0:
        return "`temperature` must be strictly positive"
    if top_p is not None and not 0 < top_p < 1:
        return "`top_p` must be > 0.0 and < 1.0"
    return None


def tgi_error(status: int, message: str, kind: str) -> web.Response:
    return web.json_response({"error": message, "error_type": kind}, status=status)


def tgi_events(written: list[str], details: Body) -> list[bytes]:
    """Return a stream: a token each, and the whole text with the last one, which ends the text."""
    tokens: list[Body] = [{"text": word, "special": False} for word in written]
    if details["finish_reason"] == "eos_token":
        tokens.append({"text": "</s>", "special": True})
    events: list[Body] = [
        {"index": n, "token": {"id": n, "logprob": -0.5, **token}, "generated_text": None, "details": None}
        for n, token in enumerate(tokens, start=1)
    ]
    events[-1] |= {"generated_text": "".join(written), "details": details}
    return [event(one) for one in events]


def triton_reply(text: str) -> Body:
    return {"model_name": "llm", "model_version": "1", "text_output": text}


@contextmanager
def generating(model: Model = words, **settings: Any) -> Iterator[GenerateServer]:
    """Serve both protocols at a free port until the block ends."""
    server = GenerateServer(model, **settings)
    app = web.Application()
    for ending in ("generate", "generate_stream"):
        app.router.add_post(f"/{ending}", server.tgi)
        app.router.add_post(f"/v2/models/{{name}}/{ending}", server.triton)
    app.router.add_get("/info", server.info)
    app.router.add_get("/v2/models/{name}", server.metadata)
    with on_loopback(app) as address:
        server.url = address
        yield server
