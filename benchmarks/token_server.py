"""A server that speaks OpenAI's protocol and sends tokens at known moments: the truth for serving benchmarks.

    python -m benchmarks.token_server --log sent.jsonl --schedule "ttft=120 itl=20 role=0"

It prints its address, `http://127.0.0.1:PORT/v1`, and serves until it is told to end (SIGTERM). What is
planned is in `token_schedule`, what was really sent goes to the log of `token_log`. `GET /stats` counts.

A stream is what vLLM sends: an event with the role, one for each token, the last with its finish reason, one
with the usage when it was asked for, and `[DONE]`. A request without `stream` is answered whole when its last
token would have been sent.

There is one thread and no framework. Tokens of all streams wait in one heap, each is handed to the kernel by
a call of its own, and the log has the moment of that call; asyncio's transports and uvloop's gather what is
written, and their timers know whole milliseconds. A request's arrival is the kernel's own time stamp, so that
a server that is busy with others does not take it for later than it was.
"""

from __future__ import annotations

import argparse
import gc
import heapq
import json
import re
import resource
import select
import signal
import socket
import struct
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter
from typing import IO, Any, NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.token_log import Sent, line_of
from benchmarks.token_schedule import Schedule, n_tokens_of, schedule_of

WORDS = (" one", " two", " three", " four", " five", " six", " seven", " eight")
BACKLOG = 4096
MOST_AT_A_TIME = 256
"""Tokens sent, and connections accepted, before the server looks at the others again."""
READ_BYTES = 1 << 18
AT_ONCE_S = 20e-6
"""Two clocks that are read within so long are read at once."""
QUIET_S = 0.005
"""Where nothing is due for so long, the log is written."""
SO_TIMESTAMPNS = 35
"""Linux: what is read comes with the moment at which the kernel got the last of it."""
_STAMP = struct.Struct("qq")
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_NAME = re.compile(rb"\r\nx-request-id: *([^\r]+)", re.IGNORECASE)
_HEAD_END = b"\r\n\r\n"
_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
)
_END = b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"


class _Texts(NamedTuple):
    """The bytes of a stream's events, made once."""

    role: bytes
    """Empty where the protocol has no such event."""
    tokens: tuple[bytes, ...]
    last: bytes


def event(document: dict[str, Any]) -> bytes:
    """Return an event as one chunk of a chunked reply."""
    data = b"data: " + json.dumps(document, separators=(",", ":")).encode() + b"\n\n"
    return b"%x\r\n%b\r\n" % (len(data), data)


def _head(kind: str, **more: Any) -> dict[str, Any]:
    return {"id": "truth", "object": kind, "created": 1, "model": "m", **more}


def _chat_event(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return event(_head("chat.completion.chunk", choices=[choice]))


def _text_event(text: str, finish: str | None = None) -> bytes:
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish}
    return event(_head("text_completion", choices=[choice]))


CHAT = _Texts(
    _chat_event({"role": "assistant", "content": ""}),
    tuple(_chat_event({"content": word}) for word in WORDS),
    _chat_event({"content": " end"}, "length"),
)
COMPLETIONS = _Texts(b"", tuple(_text_event(word) for word in WORDS), _text_event(" end", "length"))


class Truth:
    """All that connections share: the plan, the heap of what is due, the log and the counters."""

    def __init__(self, schedule: Schedule, log: IO[str] | None, *, is_marked: bool) -> None:
        self.schedule = schedule
        self.is_marked = is_marked
        """Whether the usage names the request's number in the place of its prompt's tokens."""
        self.n_requests = 0
        self.n_streams = 0
        self.most_streams = 0
        self.n_left = 0
        """Requests whose client went away before the last token."""
        self.n_unstamped = 0
        """Reads without the kernel's time stamp; the requests count as having come when they were read."""
        self.worst_lag = 0.0
        self._log = log
        self._due: list[tuple[float, int, Reply]] = []
        self._ended: list[Reply] = []

    def begin(self, reply: Reply) -> None:
        """Owe a reply its first event from now on."""
        self.n_streams += 1
        self.most_streams = max(self.most_streams, self.n_streams)
        heapq.heappush(self._due, (reply.first_due, reply.number, reply))

    def wait_s(self) -> float | None:
        """Return how long nothing is due; None: until a request comes."""
        return max(0.0, self._due[0][0] - perf_counter()) if self._due else None

    def send_due(self) -> None:
        """Send what is due by now, as far as it goes without keeping the sockets waiting."""
        due = self._due
        for _ in range(MOST_AT_A_TIME):
            if not due or due[0][0] > perf_counter():
                return
            _, number, reply = heapq.heappop(due)
            next_due = reply.send_next()
            if next_due is None:
                self.n_streams -= 1
                self._ended.append(reply)
            else:
                heapq.heappush(due, (next_due, number, reply))

    def write_down(self) -> None:
        """Log what has ended. Left for a moment in which nothing is due."""
        for reply in self._ended:
            one = reply.sent_so_far()
            self.n_left += not one.is_whole
            self.worst_lag = max(self.worst_lag, one.worst_lag)
            if self._log is not None:
                self._log.write(line_of(one) + "\n")
        self._ended.clear()

    def close(self) -> None:
        """Log also what is still under way."""
        self._ended += [reply for _, _, reply in self._due]
        self.write_down()

    def stats(self) -> dict[str, float]:
        """Return the counters."""
        self.write_down()
        return {
            "requests": self.n_requests,
            "streams": self.n_streams,
            "most_streams": self.most_streams,
            "left": self.n_left,
            "unstamped": self.n_unstamped,
            "worst_lag_ms": 1000 * self.worst_lag,
            "cpu_s": time.process_time(),
        }


class Reply:
    """One reply on its way."""

    def __init__(
        self, line: Line, truth: Truth, body: dict[str, Any], arrived: float, name: str, *, is_chat: bool
    ) -> None:
        """Plan it; raise ValueError when the request's schedule cannot be kept by anybody."""
        schedule = schedule_of(body, truth.schedule)
        n_tokens = n_tokens_of(body, schedule)
        truth.n_requests += 1
        self.number = truth.n_requests
        self.arrived = arrived
        self.is_stream = bool(body.get("stream"))
        offsets = schedule.offsets(n_tokens, self.number)
        self._planned = [arrived + offset for offset in offsets]
        role_due = arrived + schedule.role_offset(offsets[0])
        self.first_due = role_due if self.is_stream else self._planned[-1]
        self._owes_head = self.is_stream
        self._sent: list[float] = []
        self._line = line
        self._name = name
        self._is_chat = is_chat
        self._texts = CHAT if is_chat else COMPLETIONS
        n_prompt = self.number if truth.is_marked else 1
        total = n_prompt + n_tokens
        self._usage = {"prompt_tokens": n_prompt, "completion_tokens": n_tokens, "total_tokens": total}
        self._shows_usage = bool((body.get("stream_options") or {}).get("include_usage"))

    def send_next(self) -> float | None:
        """Send what is due; return when the next is, None after the last or when nobody listens any more."""
        line = self._line
        if not line.is_open:
            return None
        if not self.is_stream:
            self._send_whole()
            return None
        if self._owes_head:
            self._owes_head = False
            line.send(_STREAM_HEAD + self._texts.role)
            return self._planned[0]
        planned, sent = self._planned, self._sent
        at = len(sent)
        if at + 1 == len(planned):
            self._send_last()
            return None
        moment = line.send(self._texts.tokens[at % len(WORDS)])
        if line.is_open:
            sent.append(moment)
        return planned[at + 1]

    def sent_so_far(self) -> Sent:
        """Return what the log says of it."""
        planned, sent = tuple(self._planned), tuple(self._sent)
        return Sent(
            self.number, self._name, self._line.connected, self.arrived, planned, sent, self.is_stream
        )

    def _send_last(self) -> None:
        moment = self._line.send(self._texts.last)
        kind = "chat.completion.chunk" if self._is_chat else "text_completion"
        usage = event(_head(kind, choices=[], usage=self._usage)) if self._shows_usage else b""
        self._line.send(usage + _END)
        if self._line.is_open:
            self._sent.append(moment)
        self._line.ended()

    def _send_whole(self) -> None:
        n_words = len(self._planned) - 1
        text = "".join(WORDS[at % len(WORDS)] for at in range(n_words)) + " end"
        said: dict[str, Any] = {"index": 0, "logprobs": None, "finish_reason": "length"}
        said |= {"message": {"role": "assistant", "content": text}} if self._is_chat else {"text": text}
        kind = "chat.completion" if self._is_chat else "text_completion"
        moment = self._line.send(json_reply(_head(kind, choices=[said], usage=self._usage)))
        if self._line.is_open:
            self._sent = [moment] * len(self._planned)
        self._line.ended()


class Line:
    """One connection: requests one after the other."""

    def __init__(self, sock: socket.socket, truth: Truth) -> None:
        self.connected = perf_counter()
        self.is_open = True
        self._socket = sock
        self._truth = truth
        self._read = bytearray()
        self._arrived = self.connected
        self._is_answering = False

    def take_bytes(self) -> None:
        """Read what came; answer a request once it is whole."""
        try:
            data, ancillary, _, _ = self._socket.recvmsg(READ_BYTES, 64)
        except BlockingIOError:
            return
        except OSError:
            data, ancillary = b"", []
        if not data:
            self.close()
            return
        arrived = _stamped(ancillary)
        self._truth.n_unstamped += arrived is None
        self._arrived = perf_counter() if arrived is None else arrived
        self._read += data
        if not self._is_answering:
            self._take_request()

    def send(self, data: bytes) -> float:
        """Hand bytes to the kernel at once; return the moment just before.

        A client that is gone, or has not read for so long that the kernel takes no more, is hung up on.
        """
        moment = perf_counter()
        if self.is_open:
            try:
                is_whole = self._socket.send(data) == len(data)
            except OSError:
                is_whole = False
            if not is_whole:
                self.close()
        return moment

    def close(self) -> None:
        """Hang up; a reply under way ends when its next token is due."""
        self.is_open = False
        self._socket.close()

    def ended(self) -> None:
        """Turn to the next request, which may be here already."""
        self._is_answering = False
        if self._read and self.is_open:
            self._take_request()

    def _take_request(self) -> None:
        head_end = self._read.find(_HEAD_END)
        if head_end < 0:
            return
        head = bytes(self._read[: head_end + 2])
        length = _LENGTH.search(head)
        end = head_end + len(_HEAD_END) + (int(length[1]) if length else 0)
        if len(self._read) < end:
            return
        content = bytes(self._read[head_end + len(_HEAD_END) : end])
        del self._read[:end]
        method, path, _ = head.split(b" ", 2)
        if method == b"POST" and path.endswith(b"/completions"):
            self._take_ask(head, content, is_chat=path.endswith(b"/chat/completions"))
        elif path.endswith(b"/models"):
            self.send(json_reply({"object": "list", "data": [{"id": "m", "object": "model"}]}))
        elif path.endswith(b"/stats"):
            self.send(json_reply(self._truth.stats()))
        else:
            self.send(json_reply({"error": {"message": f"nothing at {path.decode()}"}}, b"404 Not Found"))

    def _take_ask(self, head: bytes, content: bytes, *, is_chat: bool) -> None:
        match = _NAME.search(head)
        name = match[1].decode() if match else ""
        try:
            body = json.loads(content)
            reply = Reply(self, self._truth, body, self._arrived, name, is_chat=is_chat)
        except ValueError as error:
            self.send(json_reply({"error": {"message": str(error)}}, b"400 Bad Request"))
            return
        self._is_answering = True
        self._truth.begin(reply)


def _stamped(ancillary: list[tuple[int, int, bytes]]) -> float | None:
    """Return when the kernel got what was read, on this process's clock; None where it does not say."""
    for _, kind, value in ancillary:
        if kind == SO_TIMESTAMPNS:
            seconds, nanos = _STAMP.unpack(value)
            stamp: float = seconds + nanos * 1e-9
            # The stamp is of the other clock. Both are read anew when something came between them.
            while True:
                now, wall = perf_counter(), time.time()
                if perf_counter() - now < AT_ONCE_S:
                    return now - max(0.0, wall - stamp)
    return None


def json_reply(document: object, status: bytes = b"200 OK") -> bytes:
    """Return a whole reply."""
    content = json.dumps(document).encode()
    head = b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    return head % (status, len(content)) + content


def main() -> None:
    """Serve until told to end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--log", type=Path, help="where to write what was sent")
    parser.add_argument("--schedule", default="", help='such as "ttft=120 itl=20 jitter=0.2"')
    parser.add_argument(
        "--mark", action="store_true", help="usage.prompt_tokens is the request's number in the log"
    )
    options = parser.parse_args()
    if time.get_clock_info("perf_counter").implementation != "clock_gettime(CLOCK_MONOTONIC)":
        raise SystemExit("perf_counter is not the monotonic clock here; moments could not be compared")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    gc.disable()  # A collection would hold all streams up; what is made here holds no rings worth one.
    with ExitStack() as stack:
        log: IO[str] | None = None
        if options.log:
            log = stack.enter_context(open(options.log, "w", encoding="utf-8", buffering=1 << 16))
        truth = Truth(Schedule().changed(options.schedule), log, is_marked=options.mark)
        door = stack.enter_context(socket.create_server(("127.0.0.1", options.port), backlog=BACKLOG))
        # Accepted sockets have what this one has.
        door.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        door.setblocking(False)
        print(f"http://127.0.0.1:{door.getsockname()[1]}/v1", flush=True)
        serve(door, truth)
        truth.close()


def serve(door: socket.socket, truth: Truth) -> None:
    """Accept, read and send until told to end."""
    told, teller = socket.socketpair()
    teller.setblocking(False)
    signal.set_wakeup_fd(teller.fileno())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    lines: dict[int, Line] = {}
    with told, teller, select.epoll() as polled:
        for watched in (door, told):
            polled.register(watched.fileno(), select.EPOLLIN)
        while True:
            wait_s = truth.wait_s()
            if wait_s is None or wait_s > QUIET_S:
                truth.write_down()
            if wait_s != 0:
                # An epoll descriptor can itself be waited for, and `select` takes microseconds where epoll
                # takes milliseconds.
                select.select([polled.fileno()], (), (), wait_s)
            for descriptor, _ in polled.poll(0):
                if descriptor == door.fileno():
                    _accept(door, polled, lines, truth)
                elif descriptor == told.fileno():
                    return
                else:
                    lines[descriptor].take_bytes()
            truth.send_due()


def _accept(door: socket.socket, polled: select.epoll, lines: dict[int, Line], truth: Truth) -> None:
    for _ in range(MOST_AT_A_TIME):
        try:
            sock, _ = door.accept()
        except BlockingIOError:
            return
        sock.setblocking(False)
        # A line that was closed left its number to this one.
        lines[sock.fileno()] = Line(sock, truth)
        polled.register(sock.fileno(), select.EPOLLIN)


if __name__ == "__main__":
    main()
