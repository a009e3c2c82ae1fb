"""Tokens and the session cookies they are exchanged for.

A token in an address would stay in the browser's history. So it is exchanged at once for a cookie that
scripts cannot read and other sites cannot send. The cookie is not a token: it ends with the process. The
token is validated again every few seconds.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from assay.core.roles import Bearer, Role

TokenLookup: TypeAlias = Callable[[str], Bearer | None]
"""Returns the bearer of a token, None if it is not valid. Called in a thread; may be slow."""

_KNOWN_FOR_S = 5.0
"""Maximum delay until a revoked token is rejected."""
_SESSION_S = 7 * 24 * 3600.0
_AT_MOST = 4096


def accept_one_token(token: str, role: Role) -> TokenLookup:
    """Return a lookup for a single token, with a constant-time comparison."""
    expected = token.encode()

    bearer = Bearer("visitor", role)

    def who(secret: str) -> Bearer | None:
        return bearer if hmac.compare_digest(secret.encode(errors="surrogatepass"), expected) else None

    return who


def new_token() -> str:
    """Return a new random token."""
    return secrets.token_urlsafe(24)


class _KnownToken(NamedTuple):
    bearer: Bearer
    until: float


class _Session(NamedTuple):
    token: str
    until: float


class Sessions:
    """Bearers by token and by cookie, with a limited number of entries (least recently used first out)."""

    def __init__(self, who: TokenLookup, cookie: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`cookie` is the cookie's name; it must be unique, as browsers share cookies between ports."""
        self._who = who
        self._cookie = cookie
        self._clock = clock
        self._known: OrderedDict[bytes, _KnownToken] = OrderedDict()
        self._sessions: OrderedDict[str, _Session] = OrderedDict()

    async def bearer_of(self, token: str) -> Bearer | None:
        """Return the bearer of a token."""
        key = hashlib.sha256(token.encode(errors="surrogatepass")).digest()
        known = self._known.get(key)
        if known is not None and known.until > self._clock():
            return known.bearer
        bearer = await asyncio.to_thread(self._who, token)
        # Invalid tokens are not cached: a flood of them would evict the valid ones.
        if bearer is not None:
            self._known[key] = _KnownToken(bearer, self._clock() + _KNOWN_FOR_S)
            _evict_oldest(self._known)
        else:
            self._known.pop(key, None)
        return bearer

    async def begin(self, token: str) -> str | None:
        """Start a session for a token; return the Set-Cookie header, None if the token is not valid."""
        if await self.bearer_of(token) is None:
            return None
        session = secrets.token_urlsafe(24)
        self._sessions[session] = _Session(token, self._clock() + _SESSION_S)
        _evict_oldest(self._sessions)
        return self._header(session)

    async def bearer_in(self, cookies: str) -> Bearer | None:
        """Return the bearer of a session cookie; None if there is none."""
        session = self._value(cookies)
        found = self._sessions.get(session)
        if found is None or found.until < self._clock():
            self._sessions.pop(session, None)
            return None
        self._sessions.move_to_end(session)
        return await self.bearer_of(found.token)

    def end(self, cookies: str) -> str:
        """End a session; return the header that deletes its cookie."""
        self._sessions.pop(self._value(cookies), None)
        return self._header("") + "; Max-Age=0"

    def _header(self, session: str) -> str:
        return f"{self._cookie}={session}; Path=/; HttpOnly; SameSite=Strict"

    def _value(self, cookies: str) -> str:
        # The header may also contain cookies of other programs on this machine, in any format.
        for one in cookies.split(";"):
            name, _, value = one.partition("=")
            if name.strip() == self._cookie:
                return value.strip()
        return ""


def _evict_oldest(entries: OrderedDict[bytes, _KnownToken] | OrderedDict[str, _Session]) -> None:
    while len(entries) > _AT_MOST:
        entries.popitem(last=False)
