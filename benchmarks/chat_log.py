"""An OpenAI-compatible server on this machine that records every request and answers from a book of answers.

Its replies depend on the request alone, so that two programs that send the same request read the same reply.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

_LETTERS = "ABCD"


class ChatLog:
    """The server; it listens inside a `with` block."""

    def __init__(self, answers: Mapping[str, str]) -> None:
        """Take the right answer to each question, which the server gives now and then."""
        self._answers = dict(sorted(answers.items(), key=lambda one: -len(one[0])))
        self._bodies: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> ChatLog:
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self) -> list[dict[str, Any]]:
        """Return the requests since the last call."""
        with self._lock:
            taken, self._bodies = self._bodies, []
        return taken

    def reply(self, shown: str) -> str:
        """Return the reply to a prompt: right, a letter, a sentence, or beside the point."""
        right = next((answer for question, answer in self._answers.items() if question in shown), None)
        number = int(hashlib.sha256(shown.strip().encode()).hexdigest()[:8], 16)
        letter = _LETTERS[number // 7 % 3]
        replies = (
            right or letter,
            letter,
            f"The answer is {letter}.",
            right or "I do not know",
            f"{letter}.",
        )
        return replies[number % len(replies)]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        log = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer({"object": "list", "data": [{"id": "m", "object": "model"}]})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with log._lock:
                    log._bodies.append(body)
                text = log.reply(_shown(body))
                message = {"role": "assistant", "content": text}
                choice = {"index": 0, "message": message, "text": text, "finish_reason": "stop"}
                usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
                about = {
                    "id": "x",
                    "object": "chat.completion",
                    "created": 1,
                    "model": body.get("model", "m"),
                }
                if not body.get("stream"):
                    self._answer({**about, "choices": [choice], "usage": usage})
                    return
                piece = {"index": 0, "delta": message, "finish_reason": "stop"}
                chunk = {**about, "object": "chat.completion.chunk", "choices": [piece], "usage": usage}
                stream = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n"
                self._send(stream.encode(), "text/event-stream")

            def _answer(self, content: object) -> None:
                self._send(json.dumps(content).encode(), "application/json")

            def _send(self, data: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                """Write nothing to the terminal."""

        return Handler


def _shown(body: Mapping[str, Any]) -> str:
    if "messages" not in body:
        return str(body.get("prompt", ""))
    return "\n".join(str(message["content"]) for message in body["messages"])
