"""The gate in front of everything: no request reaches a handler that did not pass here.

It knows nothing of pages and runs. Of each request it decides whether it came under our name, from our own
pages or from a program, within the bounds, and what whoever sent it may do. Each answer that goes out gets
the headers of `headers.py`, refusals and faults as well.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, ReceiveMessage, Scope, Send

from assay.core.errors import AssayError
from assay.core.roles import Bearer, Role
from assay.faces.web.error_responses import (
    HttpError,
    body_timeout_error,
    body_too_large_error,
    cross_site_error,
    malformed_request_error,
    missing_token_error,
    to_http_error,
    unknown_host_error,
)
from assay.faces.web.security.hosts import Hosts
from assay.faces.web.security.sessions import Sessions

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "media-src 'self' data:",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        # A text that became markup by mistake would be refused by the browser itself.
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)

SECURITY_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)

NO_STORE = (b"cache-control", b"no-store")
"""For answers that do not say how long they may be kept."""


VISITOR = "assay_visitor"
"""Under this name the state of a scope holds the `Visitor`."""

_TOO_LARGE = 413
_READ_ON_BYTES, _READ_ON_S = 8 << 20, 2.0
"""How much of a body that is refused is read and thrown away."""
_READS = ("GET", "HEAD")
_OWN_PAGES = ("same-origin", "none")
"""`none`: a person typed the address, or followed a bookmark."""
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
"""What a page of another site can send without asking first."""


NOBODY = "(no token)"
"""The name of a visitor who shows no token."""


class Visitor(NamedTuple):
    """Who asks."""

    bearer: Bearer | None
    """None: no token that counts was shown."""
    is_from_elsewhere: bool = False
    """Whether a link on another site led here: pages open, data and actions do not."""
    is_bare_form: bool = False
    """Whether it is a form that says nothing of its origin, as old browsers send another site's too."""


class Bounds(NamedTuple):
    """How much is taken, and how long it is waited for."""

    body_bytes: int = 1 << 20
    uploads: tuple[tuple[str, int], ...] = ()
    """Beginnings of paths under which more is taken, and how much."""
    body_s: float = 30.0
    """How long a body is waited for, besides what its length takes at the slowest."""
    slowest_bytes_s: int = 16 << 10
    """As slow as a line may be: who sends a body drop by drop would hold a connection for ever."""

    def bytes_at(self, path: str) -> int:
        """Return the longest body that is taken at a path."""
        return max((n for start, n in self.uploads if path.startswith(start)), default=self.body_bytes)


class Gate:
    """An ASGI application around another."""

    def __init__(
        self,
        app: ASGIApp,
        hosts: Hosts,
        sessions: Sessions,
        *,
        without_token: Role | None,
        bounds: Bounds,
    ) -> None:
        """`without_token`: what a visitor without a token may do; None: nothing but open pages."""
        self._app = app
        self._hosts = hosts
        self._sessions = sessions
        self._without_token = None if without_token is None else Bearer(NOBODY, without_token)
        self._bounds = bounds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        kind: str = scope["type"]
        if kind == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == ScopeType.HTTP:
            await self._answer(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008, "reason": ""})

    async def _answer(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        guarded = _add_headers(send)
        try:
            headers = _read_headers(scope)
            self._check_host(headers)
            is_from_elsewhere = _is_from_elsewhere(scope["method"], headers)
            at_most = self._bounds.bytes_at(scope["path"])
            _check_length(headers, at_most)
            token = _read_query_token(scope)
            if token is not None:
                await self._exchange(scope, token, guarded)
                return
            visitor = await self._visitor(headers)
            scope.setdefault("state", {})[VISITOR] = visitor._replace(
                is_from_elsewhere=is_from_elsewhere, is_bare_form=_is_bare_form(scope["method"], headers)
            )
        except HttpError as refusal:
            if refusal.status == _TOO_LARGE:
                await _drain_body(receive)
            await send_error(refusal, guarded)
            return
        except AssayError as error:
            # Who asks is not known, as the database is away.
            await send_error(to_http_error(error), guarded)
            return
        await self._app(scope, _limit_body(receive, at_most, self._bounds), guarded)

    def _check_host(self, headers: Mapping[bytes, str]) -> None:
        if not self._hosts.allows(headers.get(b"host", "")):
            raise unknown_host_error()

    async def _exchange(self, scope: HTTPScope, token: str, send: Send) -> None:
        """Give a cookie for the token, and send the browser where it wanted, without the token."""
        cookie = await self._sessions.begin(token)
        if cookie is None:
            raise missing_token_error()
        rest = [(name, value) for name, value in _query(scope) if name != "token"]
        # A path of two slashes would be the name of another server.
        place = "/" + quote(scope["path"].lstrip("/\\"))
        place += f"?{urlencode(rest)}" if rest else ""
        headers = [(b"location", place.encode()), (b"content-length", b"0"), (b"set-cookie", cookie.encode())]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _visitor(self, headers: Mapping[bytes, str]) -> Visitor:
        shown = headers.get(b"authorization")
        if shown is not None:
            scheme, _, token = shown.partition(" ")
            bearer = await self._sessions.bearer_of(token.strip()) if scheme.lower() == "bearer" else None
            # Who shows a wrong token is not let in as somebody who shows none.
            if bearer is None:
                raise missing_token_error()
            return Visitor(bearer)
        bearer = await self._sessions.bearer_in(headers.get(b"cookie", ""))
        return Visitor(self._without_token if bearer is None else bearer)


async def send_error(refusal: HttpError, send: Send) -> None:
    """Send a refusal."""
    body = refusal.body()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if refusal.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def _drain_body(receive: Receive) -> None:
    """Read on for a while: who is cut off in the middle of sending never sees why."""
    left = _READ_ON_BYTES
    try:
        async with asyncio.timeout(_READ_ON_S):
            while left > 0:
                message = await receive()
                if message["type"] != "http.request" or not message.get("more_body", False):
                    return
                left -= len(message.get("body", b""))
    except TimeoutError:
        return


def _check_length(headers: Mapping[bytes, str], at_most: int) -> None:
    length = headers.get(b"content-length", "0")
    if not (length.isascii() and length.isdigit()):
        raise malformed_request_error("the header Content-Length is no number")
    if len(length) > len(str(at_most)) or int(length) > at_most:
        raise body_too_large_error(at_most)


def _limit_body(receive: Receive, at_most: int, bounds: Bounds) -> Receive:
    """Return a `receive` that ends when a body grows too large or does not come."""
    n_bytes = 0
    is_whole = False
    began: float | None = None

    async def bounded() -> ReceiveMessage:
        nonlocal n_bytes, is_whole, began
        if is_whole:
            # What follows the body is the client's going away, which is waited for.
            return await receive()
        now = time.monotonic()
        began = now if began is None else began
        seconds = bounds.body_s + n_bytes / bounds.slowest_bytes_s
        try:
            message = await asyncio.wait_for(receive(), max(0.0, began + seconds - now))
        except TimeoutError:
            raise body_timeout_error(seconds) from None
        if message["type"] == "http.request":
            n_bytes += len(message["body"])
            is_whole = not message["more_body"]
            if n_bytes > at_most:
                raise body_too_large_error(at_most)
        return message

    return bounded


def _add_headers(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = list(message["headers"])
            if not any(name.lower() == b"cache-control" for name, _ in given):
                given.append(NO_STORE)
            message["headers"] = [*given, *SECURITY_HEADERS]
        await send(message)

    return guarded


_ONCE = frozenset(
    (
        b"host",
        b"origin",
        b"authorization",
        b"content-length",
        b"content-type",
        b"sec-fetch-site",
        b"sec-fetch-mode",
        b"sec-fetch-dest",
    )
)


def _read_headers(scope: HTTPScope) -> dict[bytes, str]:
    """Return the headers that decide; one that comes twice could mean one thing here and another there."""
    found: dict[bytes, str] = {}
    for name, value in scope["headers"]:
        if name in _ONCE and name in found:
            raise malformed_request_error(f"the header {name.decode('latin-1')} comes twice")
        found[name] = value.decode("latin-1").strip()
    return found


def _is_from_elsewhere(method: str, headers: Mapping[bytes, str]) -> bool:
    """Whether another site's link led here; raise when another site asks for anything but to be left."""
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if origin is not None and not _is_own(origin, headers[b"host"]):
        raise cross_site_error()
    if site is not None and site not in _OWN_PAGES:
        opens_page = headers.get(b"sec-fetch-mode") == "navigate"
        opens_page = opens_page and headers.get(b"sec-fetch-dest") == "document"
        if method not in _READS or not opens_page:
            raise cross_site_error()
        return True
    if site is not None and origin is None and method not in _READS and b"authorization" not in headers:
        # A browser that says where a change comes from also says its origin.
        raise cross_site_error()
    return False


def _is_bare_form(method: str, headers: Mapping[bytes, str]) -> bool:
    """Whether a change comes in a form, with neither an origin nor a token."""
    if method in _READS or b"origin" in headers or b"authorization" in headers:
        return False
    return headers.get(b"content-type", "").partition(";")[0].strip().lower() in _FORMS


def _is_own(origin: str, host: str) -> bool:
    return origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}")


def _query(scope: HTTPScope) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)


def _read_query_token(scope: HTTPScope) -> str | None:
    if scope["method"] != "GET" or b"token=" not in scope["query_string"]:
        return None
    return next((value for name, value in _query(scope) if name == "token"), None)
