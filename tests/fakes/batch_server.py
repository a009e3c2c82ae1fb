"""A server on the loopback with OpenAI's batch endpoints or Anthropic's, by their public documents."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from fakes.loopback import on_loopback

Body = dict[str, Any]
Answer = Callable[[str, Body, int], Any]
"""Custom id, body and number of the batch -> the reply; an int: an error status; None: no result."""


@dataclass
class BatchServer:
    """The batches it received, and how it treats them."""

    answer: Answer
    name: str
    url: str = ""
    n_looks: int = 1
    """Looks until a batch has ended."""
    status: str = "completed"
    loses_reply: bool = False
    """Whether the reply to the next submission never arrives."""
    batches: list[Body] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)

    def create(self, requests: dict[str, Body], metadata: Body | None = None) -> Body:
        batch = {"requests": requests, "looks": 0, "id": f"batch_{len(self.batches)}", "metadata": metadata}
        self.batches.append(batch)
        return batch

    def find(self, asked: web.Request) -> tuple[int, Body]:
        number = int(asked.match_info["id"].removeprefix("batch_"))
        return number, self.batches[number]

    # --- OpenAI ---

    async def upload(self, asked: web.Request) -> web.Response:
        form = await asked.post()
        assert form["purpose"] == "batch"
        name = f"file-{len(self.files)}"
        self.files[name] = form["file"].file.read()  # type: ignore[union-attr]
        return web.json_response({"id": name, "object": "file"})

    async def submit_openai(self, asked: web.Request) -> web.Response:
        body = await asked.json()
        assert body["endpoint"] == "/v1/chat/completions"
        lines = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        batch = self.create({line["custom_id"]: line["body"] for line in lines}, body["metadata"])
        return self.reply({"id": batch["id"], "status": "validating"})

    def reply(self, document: Body) -> web.Response:
        if self.loses_reply:
            self.loses_reply = False
            return web.json_response({"error": {"message": "bad gateway"}}, status=502)
        return web.json_response(document)

    async def list_openai(self, asked: web.Request) -> web.Response:
        data = [{"id": one["id"], "metadata": one["metadata"]} for one in self.batches]
        return web.json_response({"data": data})

    async def look_openai(self, asked: web.Request) -> web.Response:
        number, batch = self.find(asked)
        batch["looks"] += 1
        document: Body = {"id": batch["id"], "status": "in_progress"}
        if batch["looks"] >= self.n_looks:
            document["status"] = self.status
            if self.status == "failed":
                document["errors"] = {"data": [{"message": "line 1 is not valid"}]}
                return web.json_response(document)
            good, bad = [], []
            for id_, body in batch["requests"].items():
                answer = self.answer(id_, body, number)
                if isinstance(answer, int):
                    response: Body = {"status_code": answer, "body": {"error": {"message": "no"}}}
                    bad.append({"custom_id": id_, "response": response, "error": None})
                elif answer is not None:
                    good.append({"custom_id": id_, "response": {"status_code": 200, "body": answer}})
            for name, lines in (("output", good), ("error", bad)):
                if lines:
                    self.files[f"{name}-{number}"] = "\n".join(map(json.dumps, lines)).encode()
                    document[f"{name}_file_id"] = f"{name}-{number}"
        return web.json_response(document)

    async def content(self, asked: web.Request) -> web.Response:
        return web.Response(body=self.files[asked.match_info["id"]])

    # --- Anthropic ---

    async def submit_anthropic(self, asked: web.Request) -> web.Response:
        body = await asked.json()
        for one in body["requests"]:
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", one["custom_id"])
        batch = self.create({one["custom_id"]: one["params"] for one in body["requests"]})
        return self.reply({"id": batch["id"], "processing_status": "in_progress"})

    async def list_anthropic(self, asked: web.Request) -> web.Response:
        data = [
            {
                "id": one["id"],
                "created_at": "2999-01-01T00:00:00Z",
                "request_counts": {"processing": len(one["requests"]), "succeeded": 0},
            }
            for one in self.batches
        ]
        return web.json_response({"data": data[::-1]})

    async def look_anthropic(self, asked: web.Request) -> web.Response:
        _, batch = self.find(asked)
        batch["looks"] += 1
        status = "ended" if batch["looks"] >= self.n_looks else "in_progress"
        n = len(batch["requests"])
        counts = {"canceled": n if self.status == "cancelled" else 0, "succeeded": n}
        return web.json_response({"id": batch["id"], "processing_status": status, "request_counts": counts})

    async def results(self, asked: web.Request) -> web.Response:
        number, batch = self.find(asked)
        lines = []
        for id_, body in batch["requests"].items():
            answer = self.answer(id_, body, number)
            result: Body = {"type": "succeeded", "message": answer}
            if isinstance(answer, int):
                kind = "invalid_request_error" if answer == 400 else "api_error"
                error = {"type": "error", "error": {"type": kind, "message": "no"}}
                result = {"type": "errored", "error": error}
            elif answer is None:
                result = {"type": "canceled" if self.status == "cancelled" else "expired"}
            lines.append(json.dumps({"custom_id": id_, "result": result}))
        return web.Response(text="\n".join(lines))


@contextmanager
def batching(name: str, answer: Answer, **more: Any) -> Iterator[BatchServer]:
    """Serve the batch endpoints of a provider until the block ends."""
    server = BatchServer(answer, name, **more)
    app = web.Application(client_max_size=2**28)
    router = app.router
    if name == "openai":
        router.add_post("/v1/files", server.upload)
        router.add_get("/v1/files/{id}/content", server.content)
        router.add_post("/v1/batches", server.submit_openai)
        router.add_get("/v1/batches", server.list_openai)
        router.add_get("/v1/batches/{id}", server.look_openai)
    else:
        router.add_post("/v1/messages/batches", server.submit_anthropic)
        router.add_get("/v1/messages/batches", server.list_anthropic)
        router.add_get("/v1/messages/batches/{id}", server.look_anthropic)
        router.add_get("/v1/messages/batches/{id}/results", server.results)
    with on_loopback(app) as address:
        server.url = f"{address}/v1"
        yield server
