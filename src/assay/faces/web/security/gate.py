"""The gate that every request passes before it reaches a handler.

It knows nothing about pages and runs. It checks the host, the origin and the size of each request, and
determines the visitor. Every response, including errors, gets the security headers.
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
        # The browser itself blocks text that becomes markup by mistake.
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
"""For responses without a cache-control header."""


VISITOR = "assay_visitor"
"""The key of the `Visitor` in the state of a scope."""

_TOO_LARGE = 413
_READ_ON_BYTES, _READ_ON_S = 8 << 20, 2.0
"""How much of a rejected body is read and discarded, and for how long."""
_READS = ("GET", "HEAD")
_OWN_PAGES = ("same-origin", "none")
"""`none`: the address was typed or bookmarked."""
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
"""Content types that a page of another site can send without a preflight request."""


NOBODY = "(no token)"
"""The name of a visitor without a token."""


class Visitor(NamedTuple):
    """The sender of a request."""

    bearer: Bearer | None
    """None: no valid token."""
    is_from_elsewhere: bool = False
    """Whether the visitor followed a link on another site: only pages open, without data and actions."""
    is_bare_form: bool = False
    """Whether it is a form without an origin, which old browsers also send from other sites."""


class Bounds(NamedTuple):
    """Limits on the size and duration of request bodies."""

    body_bytes: int = 1 << 20
    uploads: tuple[tuple[str, int], ...] = ()
    """Path prefixes with a larger limit, and the limit."""
    body_s: float = 30.0
    """Time to wait for a body, plus the time for its length at the slowest rate."""
    slowest_bytes_s: int = 16 << 10
    """Minimum transfer rate, so that a client cannot keep a connection open forever."""

    def bytes_at(self, path: str) -> int:
        """Return the maximum body size at a path."""
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
        """`without_token` is the role of a visitor without a token; None: only public pages."""
        self._app = app
        self._hosts = hosts
        self._sessions = sessions
        self._without_token = None if without_token is None else Bearer(NOBODY, without_token)
        self._bounds = bounds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or reject it."""
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
            # The visitor is unknown, since the database is not available.
            await send_error(to_http_error(error), guarded)
            return
        await self._app(scope, _limit_body(receive, at_most, self._bounds), guarded)

    def _check_host(self, headers: Mapping[bytes, str]) -> None:
        if not self._hosts.allows(headers.get(b"host", "")):
            raise unknown_host_error()

    async def _exchange(self, scope: HTTPScope, token: str, send: Send) -> None:
        """Exchange the token for a cookie, and redirect to the address without the token."""
        cookie = await self._sessions.begin(token)
        if cookie is None:
            raise missing_token_error()
        rest = [(name, value) for name, value in _query(scope) if name != "token"]
        # A path that starts with two slashes would name another server.
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
            # An invalid token is rejected, not treated as a missing one.
            if bearer is None:
                raise missing_token_error()
            return Visitor(bearer)
        bearer = await self._sessions.bearer_in(headers.get(b"cookie", ""))
        return Visitor(self._without_token if bearer is None else bearer)


async def send_error(refusal: HttpError, send: Send) -> None:
    """Send an error response."""
    body = refusal.body()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if refusal.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def _drain_body(receive: Receive) -> None:
    """Read on for a while: a client whose connection closes while sending never sees the response."""
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
        raise malformed_request_error("the header Content-Length is not a number")
    if len(length) > len(str(at_most)) or int(length) > at_most:
        raise body_too_large_error(at_most)


def _limit_body(receive: Receive, at_most: int, bounds: Bounds) -> Receive:
    """Return a `receive` that raises if a body becomes too large or takes too long."""
    n_bytes = 0
    is_whole = False
    began: float | None = None

    async def receive_bounded() -> ReceiveMessage:
        nonlocal n_bytes, is_whole, began
        if is_whole:
            # After the body comes only the disconnect, which has no timeout.
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

    return receive_bounded


def _add_headers(send: Send) -> Send:
    async def send_guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = list(message["headers"])
            if not any(name.lower() == b"cache-control" for name, _ in given):
                given.append(NO_STORE)
            message["headers"] = [*given, *SECURITY_HEADERS]
        await send(message)

    return send_guarded


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
    """Return the headers; reject duplicates of those that matter for security, as they are ambiguous."""
    found: dict[bytes, str] = {}
    for name, value in scope["headers"]:
        if name in _ONCE and name in found:
            raise malformed_request_error(f"the header {name.decode('latin-1')} occurs twice")
        found[name] = value.decode("latin-1").strip()
    return found


def _is_from_elsewhere(method: str, headers: Mapping[bytes, str]) -> bool:
    """Whether a link on another site led here; raise for any other request from another site."""
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
        # A browser that sends sec-fetch-site with a change also sends its origin.
        raise cross_site_error()
    return False


def _is_bare_form(method: str, headers: Mapping[bytes, str]) -> bool:
    """Whether a change comes as a form without an origin and a token."""
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
