"""How exact the truth is: the token server, read by the least that a client can be.

    python -m benchmarks.token_reader 1 64 512

Blocking connects, one `send` for a request, one epoll over all sockets, and a stamp for what each `recv`
brings. What this reader sees later than the server sent it, no client sees sooner.
"""

from __future__ import annotations

import argparse
import json
import re
import select
import socket
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from urllib.parse import urlsplit

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from assay.results.rows import markdown_table
from benchmarks.serving import token_server
from benchmarks.serving_truth import Row, arrived_after, noticed_after
from benchmarks.token_log import Sent, read_log

ROUNDS = 3
N_TOKENS = 50
SCHEDULE = "ttft=120 itl=50 jitter=0.3 role=0"
_TEXT = re.compile(rb'"content":"[^"]')
_NUMBER = re.compile(rb'"prompt_tokens":(\d+)')
_DONE = b"[DONE]"


class _Stream:
    """One connection, which asks so often and notes when texts came."""

    def __init__(self, host: str, port: int, request: bytes) -> None:
        self.socket = socket.create_connection((host, port))
        self.socket.setblocking(False)
        self.rows: list[Row] = []
        self._request = request

    def ask(self) -> None:
        self._seen: list[float] = []
        self._tail = b""
        self._began = perf_counter()
        self.socket.send(self._request)

    def read(self) -> bool:
        """Take what came; return whether the reply is whole.

        No event comes in two parts: the server sends each by a call of its own.
        """
        data = self.socket.recv(1 << 16)
        moment = perf_counter()
        self._seen += [moment] * len(_TEXT.findall(data))
        self._tail += data if _NUMBER.search(data) else b""
        if _DONE not in data:
            return False
        match = _NUMBER.search(self._tail)
        assert match
        self.rows.append(Row(int(match[1]), self._began, tuple(self._seen), None, is_failed=False))
        return True


def read_streams(url: str, n_streams: int) -> list[Row]:
    """Keep so many streams at work for a few rounds; return what was seen."""
    server = urlsplit(url)
    assert server.hostname
    assert server.port
    messages = [{"role": "user", "content": "How exact is it?"}]
    usage = {"include_usage": True}
    asked = {"messages": messages, "max_tokens": N_TOKENS, "stream": True, "stream_options": usage}
    body = json.dumps(asked).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: {server.netloc}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    streams = [_Stream(server.hostname, server.port, head.encode() + body) for _ in range(n_streams)]
    by_number = {stream.socket.fileno(): stream for stream in streams}
    with select.epoll() as polled:
        for number, stream in by_number.items():
            polled.register(number, select.EPOLLIN)
            stream.ask()
        n_left = n_streams
        while n_left:
            for number, _ in polled.poll():
                stream = by_number[number]
                if stream.read():
                    if len(stream.rows) < ROUNDS:
                        stream.ask()
                    else:
                        n_left -= 1
    for stream in streams:
        stream.socket.close()
    return [row for stream in streams for row in stream.rows]


def lags(sent: Sequence[Sent]) -> list[float]:
    """Return how late every token was sent, in milliseconds."""
    return [1000 * (at - due) for one in sent for due, at in zip(one.planned, one.sent, strict=True)]


def main() -> None:
    """Read with each number of streams, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("streams", type=int, nargs="*", default=[1, 64])
    lines = []
    for n_streams in parser.parse_args().streams:
        with tempfile.TemporaryDirectory(prefix="assay-reader-") as name:
            log = Path(name) / "sent.jsonl"
            with token_server(log, SCHEDULE) as url:
                rows = read_streams(url, n_streams)
            sent = read_log(log)
        for what, values in (
            ("token sent after it was due", lags(sent)),
            ("token seen after it was sent", noticed_after(rows, sent)),
            ("request there after it was sent", arrived_after(rows, sent)),
        ):
            found = [f"{np.percentile(values, q):.3f}" for q in (0, 50, 99, 100)]
            lines.append((str(n_streams), what, f"{len(values):,}", *found))
    print(markdown_table(("streams", "what", "n", "least ms", "p50 ms", "p99 ms", "most ms"), lines))


if __name__ == "__main__":
    main()
