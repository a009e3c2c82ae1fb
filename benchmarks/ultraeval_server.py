"""A server of UltraEval's protocol on the loopback, which logs what it is asked. Texts decide its answers."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
_PIECE = re.compile(r"\s*\S{1,4}|\s+")
_REPLIES = (
    "(A)",
    " B",
    "The answer is (C).",
    "So the answer is (B).",
    "7",
    "#### 7",
    "yes",
    "no.\n\nNext",
    "Paris",
    "Therefore, the final answer is $12$.",
    "答案是A",
    "choice 0 of 0",
    "",
    "I do not know",
)
_PROGRAMS = (
    "    return x + 1",
    "    return x",
    "    import os\n    os.getcwd()\n    return x + 1",
    "    import subprocess\n    subprocess.run(['true'])\n    return x + 1",
    "    import shutil\n    shutil.rmtree('nowhere', ignore_errors=True)\n    return x + 1",
    "    import resource\n    return x + 1",
    "    import tempfile\n    tempfile.TemporaryDirectory().cleanup()\n    return x + 1",
    "    import os\n    os.environ['A'] = 'b'\n    return x + 1",
    "    import sys\n    sys.stdout.buffer\n    return x + 1",
    "    print('working')\n    return x + 1",
    "    raise SystemExit(0)",
)
"""Right programs, a wrong one, and right ones that call what the original takes from them."""
_LONG = 400
"""Tokens of a text that mentions underflow: each costs 2 nats."""


class LoggingServer:
    """What was asked, and where the server is."""

    def __init__(self) -> None:
        self.bodies: list[Body] = []
        self.url = ""
        self.is_sampling = False
        """Whether the same text is answered in another way when it is sent again."""
        self._lock = threading.Lock()
        self._times: Counter[str] = Counter()

    def reset(self) -> list[Body]:
        """Return what was asked since the last time, and forget it."""
        with self._lock:
            bodies, self.bodies = self.bodies, []
            self._times.clear()
        return bodies

    def answer(self, body: Body) -> list[Any]:
        """Log a call and answer it."""
        with self._lock:
            self.bodies.append(body)
            if body["params"].get("prompt_logprobs") is not None:
                return [_logprobs(text) for text in body["instances"]]
            replies = []
            for text in body["instances"]:
                pool = _PROGRAMS if "def add_" in text or "add_" in text else _REPLIES
                reply = pool[(_number(text) + self._times[text]) % len(pool)]
                replies.append(_stopped(reply, body["params"].get("stop") or []))
                self._times[text] += self.is_sampling
            return replies


def _stopped(reply: str, stops: str | list[str]) -> str:
    """Cut a reply before the first stop text, as vLLM does."""
    ends = [at for stop in ([stops] if isinstance(stops, str) else stops) if (at := reply.find(stop)) >= 0]
    return reply[: min(ends)] if ends else reply


def _logprobs(text: str) -> list[float]:
    if "underflow" in text:
        return [-2.0] * _LONG
    return [-(1 + _number(text[: one.end()]) % 5000) / 1000 for one in _PIECE.finditer(text)][1:]


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")


@contextmanager
def serving() -> Iterator[LoggingServer]:
    """Serve at a free port until the block ends."""
    server = LoggingServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reply = json.dumps(server.answer(body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_address[1]}/infer"
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()
