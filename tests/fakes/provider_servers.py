"""Servers on the loopback that follow the public documents of Anthropic's Messages API and the Gemini API."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from fakes.loopback import on_loopback
from fakes.openai_server import Chunks, sent

Body = dict[str, Any]
Blocks = Sequence[Body]
Model = Callable[[Body], Any]
"""Body -> a reply of the API's form; or a web.Response or Chunks, sent as they are."""


@dataclass
class ProviderServer:
    """What a server heard, and where it is."""

    model: Model
    name: str
    key: str | None = None
    url: str = ""
    bodies: list[Body] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    async def answer(self, asked: web.Request) -> web.StreamResponse:
        body = json.loads(await asked.read())
        self.bodies.append(body)
        self.paths.append(asked.path_qs)
        self.headers.append(dict(asked.headers))
        is_gemini = self.name == "gemini"
        if (
            self.key is not None
            and asked.headers.get("x-goog-api-key" if is_gemini else "x-api-key") != self.key
        ):
            if is_gemini:
                return gemini_error(
                    400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT"
                )
            return anthropic_error(401, "invalid x-api-key", "authentication_error")
        if (wrong := _find_wrong_field(self.name, body, asked)) is not None:
            return wrong
        written = self.model(body)
        if not isinstance(written, dict):
            return await sent(asked, written)
        is_stream = "alt=sse" in asked.path_qs if is_gemini else bool(body.get("stream"))
        if not is_stream:
            return await sent(asked, written)
        return await sent(asked, Chunks(list((gemini_events if is_gemini else anthropic_events)(written))))

    async def describe(self, asked: web.Request) -> web.StreamResponse:
        name = asked.match_info["name"]
        shown = {"name": f"models/{name}", "version": "001"}
        return web.json_response(
            shown if self.name == "gemini" else {"id": f"{name}-20260101", "type": "model"}
        )


def _find_wrong_field(name: str, body: Body, asked: web.Request) -> web.Response | None:
    """Return the error of a request that the real API would reject."""
    if name == "gemini":
        if set(body) - {
            "contents",
            "generationConfig",
            "systemInstruction",
            "tools",
            "toolConfig",
            "safetySettings",
        }:
            return gemini_error(400, f"Unknown name in {sorted(body)}", "INVALID_ARGUMENT")
        if any(turn["role"] not in ("user", "model") for turn in body["contents"]):
            return gemini_error(400, "Please use a valid role: user, model.", "INVALID_ARGUMENT")
        return None
    if asked.headers.get("anthropic-version") is None:
        return anthropic_error(400, "anthropic-version: header is required")
    if not isinstance(body.get("max_tokens"), int):
        return anthropic_error(400, "max_tokens: Field required")
    if any(turn["role"] not in ("user", "assistant") for turn in body["messages"]):
        return anthropic_error(400, "messages: Unexpected role")
    if any(not stop.strip() for stop in body.get("stop_sequences", ())):
        return anthropic_error(400, "stop_sequences: each stop sequence must contain non-whitespace")
    thinking = body.get("thinking", {})
    if thinking.get("type") in ("enabled", "adaptive") and {"temperature", "top_p", "top_k"} & set(body):
        return anthropic_error(400, "`temperature` may only be set to 1 when thinking is enabled.")
    if thinking.get("budget_tokens", 0) >= body["max_tokens"]:
        return anthropic_error(400, "`max_tokens` must be greater than `thinking.budget_tokens`.")
    return None


def anthropic_error(
    status: int, message: str, kind: str = "invalid_request_error", **headers: str
) -> web.Response:
    document = {"type": "error", "error": {"type": kind, "message": message}}
    return web.json_response(
        document, status=status, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


def gemini_error(status: int, message: str, kind: str, **headers: str) -> web.Response:
    document = {"error": {"code": status, "message": message, "status": kind}}
    return web.json_response(
        document, status=status, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


def written_words(body: Body) -> str:
    """Three words that follow from the prompt; a draw depends on the seed too."""
    config = body.get("generationConfig", {})
    asked = json.dumps([body.get("messages") or body.get("contents"), config.get("seed")])
    return " ".join(str(byte) for byte in hashlib.blake2b(asked.encode(), digest_size=3).digest())


def anthropic_model(body: Body) -> Body:
    return anthropic_reply([{"type": "text", "text": written_words(body)}], n=3)


def gemini_model(body: Body) -> Body:
    return gemini_reply([{"text": written_words(body)}], n=3)


def anthropic_reply(blocks: Blocks, reason: str = "end_turn", n: int = 10, **more: Any) -> Body:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": list(blocks),
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": n},
        **more,
    }


def gemini_reply(parts: Blocks, reason: str = "STOP", n: int = 4, thoughts: int | None = None) -> Body:
    counts = {"promptTokenCount": 7, "candidatesTokenCount": n, "totalTokenCount": 7 + n + (thoughts or 0)}
    if thoughts is not None:
        counts["thoughtsTokenCount"] = thoughts
    content = {"role": "model", "parts": list(parts)}
    return {"candidates": [{"content": content, "finishReason": reason, "index": 0}], "usageMetadata": counts}


def _sse(document: Body) -> bytes:
    return f"event: {document.get('type', 'message')}\ndata: {json.dumps(document)}\n\n".encode()


def anthropic_events(reply: Body) -> Iterator[bytes]:
    usage = {**reply["usage"], "output_tokens": 1}
    yield _sse(
        {"type": "message_start", "message": {**reply, "content": [], "stop_reason": None, "usage": usage}}
    )
    yield _sse({"type": "ping"})
    for index, block in enumerate(reply["content"]):
        empty = {
            name: "" if isinstance(value, str) and name in ("text", "thinking") else value
            for name, value in block.items()
        }
        if block["type"] == "tool_use":
            empty["input"] = {}
        yield _sse({"type": "content_block_start", "index": index, "content_block": empty})
        for delta in _deltas(block):
            yield _sse({"type": "content_block_delta", "index": index, "delta": delta})
        yield _sse({"type": "content_block_stop", "index": index})
    end = {"stop_reason": reply["stop_reason"], "stop_sequence": reply["stop_sequence"]}
    counts = {"output_tokens": reply["usage"]["output_tokens"]}
    yield _sse({"type": "message_delta", "delta": end, "usage": counts})
    yield _sse({"type": "message_stop"})


def _deltas(block: Body) -> Iterator[Body]:
    if block["type"] == "text":
        half = len(block["text"]) // 2
        yield {"type": "text_delta", "text": block["text"][:half]}
        yield {"type": "text_delta", "text": block["text"][half:]}
    elif block["type"] == "thinking":
        yield {"type": "thinking_delta", "thinking": block["thinking"]}
        yield {"type": "signature_delta", "signature": "c2ln"}
    elif block["type"] == "tool_use":
        text = json.dumps(block["input"])
        yield {"type": "input_json_delta", "partial_json": text[:3]}
        yield {"type": "input_json_delta", "partial_json": text[3:]}


def gemini_events(reply: Body) -> Iterator[bytes]:
    candidates = reply.get("candidates") or []
    if candidates:
        candidate = candidates[0]
        for part in candidate["content"]["parts"]:
            piece = {"content": {"role": "model", "parts": [part]}, "index": 0}
            document = {"candidates": [piece], "usageMetadata": {"promptTokenCount": 7}}
            yield f"data: {json.dumps(document)}\r\n\r\n".encode()
        last = {"content": {"role": "model"}, "finishReason": candidate["finishReason"], "index": 0}
        reply = {**reply, "candidates": [last]}
    yield f"data: {json.dumps(reply)}\r\n\r\n".encode()


@contextmanager
def providing(name: str, model: Model | None = None, key: str | None = None) -> Iterator[ProviderServer]:
    """Serve one of the APIs at a free port until the block ends."""
    server = ProviderServer(model or (gemini_model if name == "gemini" else anthropic_model), name, key)
    app = web.Application(client_max_size=2**28)
    if name == "gemini":
        app.router.add_post("/v1beta/models/{call:.+}", server.answer)
        app.router.add_get("/v1beta/models/{name}", server.describe)
    else:
        app.router.add_post("/v1/messages", server.answer)
        app.router.add_get("/v1/models/{name}", server.describe)
    with on_loopback(app) as address:
        server.url = f"{address}/{'v1beta' if name == 'gemini' else 'v1'}"
        yield server
