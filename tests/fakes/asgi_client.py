"""A client that speaks ASGI itself: any header, in any form and number, reaches the application as it is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

Headers = Mapping[str, str | bytes] | Iterable[tuple[str, str | bytes]]


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes
    pieces: tuple[int, ...] = ()
    """How many bytes each piece of the body had."""

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return json.loads(self.body)


class AsgiClient:
    """Sends requests to an application, and keeps its cookies. Use it in a `with`."""

    NEVER = b"\0never"
    """A piece of a body that does not come."""

    def __init__(self, app: Any, host: str, client: str = "127.0.0.1") -> None:
        self._app = app
        self._host = host
        self._client = client
        self._runner = asyncio.Runner()
        self.cookies: dict[str, str] = {}
        self.hangs_up = False
        """Whether it goes away as soon as it has sent a request: of a stream it sees the beginning."""

    def get(self, path: str, headers: Headers = ()) -> Answer:
        return self.ask("GET", path, headers)

    def post(self, path: str, body: Any, headers: Headers = ()) -> Answer:
        """Send bytes as they are, else as JSON."""
        given = [("content-type", "application/json")] if not _has(headers, "content-type") else []
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        given.append(("content-length", str(len(content))))
        return self.ask("POST", path, [*given, *_listed(headers)], [content])

    def ask(self, method: str, path: str, headers: Headers = (), pieces: Iterable[bytes] = ()) -> Answer:
        """Send a request; its body comes in pieces."""
        return self._runner.run(self._ask(method, path, _listed(headers), list(pieces)))

    async def _ask(
        self, method: str, path: str, headers: list[tuple[str, str | bytes]], pieces: list[bytes]
    ) -> Answer:
        parts = urlsplit(path) if not path.startswith("//") else None
        raw, query = (parts.path, parts.query) if parts else path.partition("?")[::2]
        if not _has(headers, "host"):
            headers = [("host", self._host), *headers]
        if self.cookies and not _has(headers, "cookie"):
            jar = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
            headers = [*headers, ("cookie", jar)]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(raw),
            "raw_path": raw.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [
                (name.encode(), value if isinstance(value, bytes) else value.encode("latin-1"))
                for name, value in headers
            ],
            "client": (self._client, 50000),
            "server": ("127.0.0.1", 8421),
            "state": {},
        }
        waiting = list(pieces)
        sent: list[dict[str, Any]] = []
        over = asyncio.Event()

        async def receive() -> dict[str, Any]:
            if waiting[:1] == [self.NEVER]:
                await asyncio.Event().wait()
            if waiting or not pieces:
                body = waiting.pop(0) if waiting else b""
                if not pieces:
                    pieces.append(b"")
                return {"type": "http.request", "body": body, "more_body": bool(waiting)}
            if not self.hangs_up:
                # As a server says it when all is sent.
                await over.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                over.set()

        await self._app(scope, receive, send)
        start = sent[0]
        found = {name.decode().lower(): value.decode("latin-1") for name, value in start["headers"]}
        self._keep(found.get("set-cookie"))
        bodies = [message.get("body", b"") for message in sent[1:]]
        return Answer(start["status"], found, b"".join(bodies), tuple(map(len, bodies)))

    def _keep(self, cookie: str | None) -> None:
        if cookie is None:
            return
        name, _, value = cookie.partition(";")[0].partition("=")
        self.cookies.pop(name, None)
        if value:
            self.cookies[name] = value

    def __enter__(self) -> AsgiClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.close()


def _listed(headers: Headers) -> list[tuple[str, str | bytes]]:
    return list(headers.items() if isinstance(headers, Mapping) else headers)


def _has(headers: Headers, wanted: str) -> bool:
    return any(name == wanted for name, _ in _listed(headers))
