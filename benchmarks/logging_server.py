"""A server on loopback that logs every body and answers by the prompt alone.

It is OpenAI-compatible, and speaks the protocols of TGI and of Triton's generate extension.

Two programs that send it the same requests get the same answers. An answer depends on the prompt and on how
often the same prompt came before, so repeated questions get different answers.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

MODEL = "logged-model"
Answer = Callable[[str, int], "str | int"]
"""Returns the reply to a prompt that was asked so often before: a text, or an HTTP status (0: hang up)."""


class Call(NamedTuple):
    """One logged request."""

    path: str
    body: dict[str, Any]


class LoggingServer(ThreadingHTTPServer):
    """Answers `/v1/models`, `/v1/chat/completions`, `/v1/completions` and `.../generate[_stream]`."""

    daemon_threads = True

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.calls: list[Call] = []
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def port(self) -> int:
        """The port that the system chose."""
        return int(self.server_address[1])

    def reset(self, answer: Answer | None = None) -> list[Call]:
        """Return the calls so far and forget them, and how often each prompt was asked."""
        with self._lock:
            calls, self.calls = self.calls, []
            self._seen.clear()
            self.answer = answer or self.answer
        return calls

    def reply_to(self, call: Call) -> str | int:
        """Log a call and return its reply."""
        prompt = prompt_text(call.body)
        with self._lock:
            self.calls.append(call)
            reply = self.answer(prompt, self._seen[prompt])
            self._seen[prompt] += 1
        return reply


@contextmanager
def logging_server(answer: Answer) -> Iterator[LoggingServer]:
    """Run a server while the block lasts."""
    server = LoggingServer(answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def prompt_text(body: dict[str, Any]) -> str:
    """Return what a body asks, as one text."""
    if "messages" in body:
        return "\n".join(str(message["content"]) for message in body["messages"])
    return str(body.get("prompt") or body.get("inputs") or body.get("text_input"))


class _Handler(BaseHTTPRequestHandler):
    server: LoggingServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._send(200, json.dumps({"object": "list", "data": [{"id": MODEL, "object": "model"}]}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body.pop("id", None)  # Triton's clients draw one for each request.
        reply = self.server.reply_to(Call(self.path, body))
        if reply == 0:
            self.close_connection = True
            return
        if isinstance(reply, int):
            self._send(reply, json.dumps({"error": {"message": "asked to fail", "code": reply}}))
            return
        if "/generate" in self.path:
            self._generate(reply)
            return
        is_chat = self.path.endswith("/chat/completions")
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        if "prompt_logprobs" in body and not is_chat:
            scored = _scored(body["prompt"])
            usage = {"prompt_tokens": len(scored), "completion_tokens": 1, "total_tokens": len(scored) + 1}
            choice = _choice({"text": reply}) | {"prompt_logprobs": scored}
            self._send(200, json.dumps({"choices": [choice], "usage": usage}))
            return
        if not body.get("stream"):
            said = {"message": {"role": "assistant", "content": reply}} if is_chat else {"text": reply}
            self._send(200, json.dumps({"choices": [_choice(said)], "usage": usage}))
            return
        said = {"delta": {"role": "assistant", "content": reply}} if is_chat else {"text": reply}
        events = [{"choices": [_choice(said)]}, {"choices": [], "usage": usage}]
        lines = [f"data: {json.dumps(event)}\n\n" for event in events]
        self._send(200, "".join([*lines, "data: [DONE]\n\n"]), "text/event-stream")

    def _generate(self, reply: str) -> None:
        """Answer as TGI does, or Triton, in one event where a stream is asked for."""
        is_stream = self.path.endswith("_stream")
        document: dict[str, Any] = {"model_name": MODEL, "model_version": "1", "text_output": reply}
        if "/v2/models/" not in self.path:
            details = {"finish_reason": "eos_token", "generated_tokens": 3, "input_length": 7}
            token = {"id": 1, "text": reply, "logprob": -0.5, "special": False}
            document = {"generated_text": reply, "details": details}
            document |= {"index": 1, "token": token} if is_stream else {}
        text = json.dumps(document)
        if is_stream:
            self._send(200, f"data: {text}\n\n", "text/event-stream")
        else:
            self._send(200, text)

    def _send(self, status: int, text: str, kind: str = "application/json") -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the terminal free."""


def _scored(prompt: str) -> list[dict[str, Any] | None]:
    """Return a log-probability for each word of a prompt but the first, by what stands before it."""
    words = [match[0] for match in re.finditer(r"\s*\S+\s*$|\s*\S+", prompt)]
    scored: list[dict[str, Any] | None] = [None]
    for at, word in enumerate(words[1:], 1):
        digest = hashlib.sha256("".join(words[: at + 1]).encode()).digest()
        number = {"logprob": -digest[0] / 64, "rank": 1, "decoded_token": word}
        scored.append({str(int.from_bytes(digest[:2])): number})
    return scored


def _choice(said: dict[str, Any]) -> dict[str, Any]:
    return {"index": 0, "finish_reason": "stop", **said}
