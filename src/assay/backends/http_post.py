"""One JSON document posted, one reply received, with patience: what fails for a while is asked again.

Trouble has three grades. What may pass (a broken connection, a timeout, 429, 5xx, a reply that is no JSON) is
tried again after growing waits, and not before the server wants to be asked. What does not, or does not pass
in time, is a `CallTrouble` of this call. A server that is not there, that answers nobody any more, that
refuses the key, or an address that it does not serve, is an error that ends the run. The level of
concurrency hears of every attempt.

Knows no protocol: the caller writes the body and reads the reply.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from assay.backends.concurrency import Level
from assay.backends.problems import no_such_endpoint, refused_key, unreachable
from assay.core.ids import draw

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

T = TypeVar("T")

CONNECT_S = 10.0
"""A server that takes longer to accept a connection is not there."""
LONGEST_WAIT_S = 60.0
LONGEST_ASKED_WAIT_S = 600.0
"""A server that asks to be left alone for longer, as when a day's quota is spent, is not waited for."""
FEWEST_LOST = 32
"""Calls lost in a row before a server that still takes connections counts as gone; or two rounds of calls."""
_TIMED_OUT = 408
_TOO_MANY = 429
_OVERLOADED = 503
_WRONG_KEY = 401
_WRONG_ADDRESS = {301, 302, 303, 307, 308, 404, 405}
"""Nothing is sent on to where a server points: the address would no longer be the one that was named."""
_SHOWN_CHARS = 200
_SAID_CHARS = 500


class Patience(msgspec.Struct, frozen=True):
    """How long to wait, and how often."""

    timeout_s: float
    """For one attempt."""
    retries: int
    """Attempts after the first."""
    wait_s: float
    """Before the first retry, at most; each later wait is twice as long."""
    gives_up: bool = False
    """Whether a server that lost many calls one after the other, with no reply of use between, is gone."""


class CallTrouble(Exception):
    """A call brought no reply; the message says why."""

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        may_pass: bool = False,
        wait_s: float | None = None,
        is_too_much: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.may_pass = may_pass
        """Whether the same call may succeed later."""
        self.wait_s = wait_s
        """How long the server asks to be left alone."""
        self.is_too_much = is_too_much
        """Whether it is for the number of calls, and not for anything in this one."""
        self.attempts = 1


Reader = Callable[["ClientResponse"], Awaitable[T]]
"""Reads a reply of status 200; raises CallTrouble when it is none."""


async def whole_json(reply: ClientResponse) -> Any:
    """Read a reply as one JSON document."""
    content = await reply.read()
    try:
        return json.loads(content)
    except ValueError:
        raise not_json(content) from None


async def read_stream(reply: ClientResponse, take: Callable[[bytes], None], *, idle_s: float) -> None:
    """Hand over the bytes of a reply as they come; once there were some, none for `idle_s` is trouble.

    The first ones may take as long as the attempt may: a busy server has calls before this one.
    """
    content, clock = reply.content, asyncio.get_running_loop().time
    piece = await content.readany()
    try:
        async with asyncio.timeout(None) as idle:
            while piece:
                take(piece)
                idle.reschedule(clock() + idle_s)
                piece = await content.readany()
    except TimeoutError:
        if not idle.expired():
            raise
        why = f"the stream stood still for {idle_s:g} s"
        raise CallTrouble("stalled", why, may_pass=True) from None


def not_json(content: bytes) -> CallTrouble:
    """Return the trouble of a reply that cannot be read; a server that is just starting sends such."""
    return CallTrouble("not_json", f"the reply is no JSON: {_shown(content)}", may_pass=True)


class Endpoint:
    """An address that takes JSON documents. Used on one event loop; counts what it does."""

    def __init__(
        self,
        url: str,
        patience: Patience,
        *,
        level: Level,
        key: str | None = None,
        fix: str = "give the whole address, with its path, such as http://127.0.0.1:5002/infer",
    ) -> None:
        """Take the address, the key to show there, and what a person can do about an address not served.

        `level` hears how calls go.
        """
        self.url = url
        self.n_calls = 0
        self.retries: Counter[str] = Counter()
        """How often an attempt followed another, by what was wrong with that."""
        self._patience = patience
        self._key = key
        self._fix = fix
        self._level = level
        self._was_reached = False
        self._n_lost = 0
        self._resting_until = 0.0

    async def post(
        self,
        session: ClientSession,
        document: object,
        *,
        path: str = "",
        read: Reader[T] = whole_json,
        n_tokens: Callable[[T], int] = lambda reply: 0,
        is_patient: bool = True,
    ) -> T:
        """Return the reply to a document; raise CallTrouble when there is none.

        `n_tokens` tells how much a reply brought. Without patience there is one attempt, but a server that
        was there is waited for all the same.
        """
        # Written anew for each call and never changed: nothing of one call can get into another.
        body = json.dumps(document).encode()
        return await self._call(session, "POST", path, body, read, n_tokens, is_patient=is_patient)

    async def get(self, session: ClientSession, *, path: str = "", read: Reader[T] = whole_json) -> T:
        """Return what lies at a path, as `post` returns a reply."""
        return await self._call(session, "GET", path, None, read, lambda reply: 0, is_patient=True)

    @property
    def n_retries(self) -> int:
        """Return how many attempts followed another."""
        return self.retries.total()

    async def _call(
        self,
        session: ClientSession,
        method: str,
        path: str,
        body: bytes | None,
        read: Reader[T],
        n_tokens: Callable[[T], int],
        *,
        is_patient: bool,
    ) -> T:
        self.n_calls += 1
        wait_s = self._patience.wait_s
        clock = asyncio.get_running_loop().time
        for attempt in count(1):
            await self._rested(body)
            began = clock()
            try:
                reply = await self._attempt(session, method, self.url + path, body, read)
            except CallTrouble as trouble:
                if trouble.may_pass:
                    self._level.refused(clock(), may_be_the_input=not trouble.is_too_much)
                trouble.attempts = attempt
                trouble.args = (self._without_key(str(trouble)),)
                if trouble.kind == "unreachable" and not self._was_reached:
                    raise unreachable(f"no server answers at {self.url}: {trouble}") from None
                if attempt > self._patience.retries or not _is_waited_for(trouble, is_patient=is_patient):
                    raise self._final(trouble) from None
                self.retries[_in_short(trouble)] += 1
                self._rest(trouble.wait_s or 0.0)
            else:
                self._n_lost = 0
                self._level.done(clock(), clock() - began, n_tokens(reply))
                return reply
            await asyncio.sleep(wait_s * (1 - _spread(body, attempt) / 2))
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)
        raise AssertionError("the loop has no end")

    def _rest(self, seconds: float) -> None:
        """Leave the server alone for a while: who asks one call to wait means all."""
        self._resting_until = max(self._resting_until, asyncio.get_running_loop().time() + seconds)

    async def _rested(self, body: bytes | None) -> None:
        """Wait until the server may be asked. Another call may have made the rest longer meanwhile."""
        clock = asyncio.get_running_loop().time
        while (left_s := self._resting_until - clock()) > 0:
            # Up to a tenth longer: not all calls come back at once.
            await asyncio.sleep(left_s * (1 + _spread(body, 0) / 10))

    def _final(self, trouble: CallTrouble) -> Exception:
        """Return what a call that brought nothing ends with: its own trouble, or the end of the run."""
        if trouble.kind == "unreachable":
            return unreachable(
                f"the server at {self.url} is gone: {trouble}, {trouble.attempts} times in a row"
            )
        # Trouble that does not pass is a reply to this call: the server is there.
        self._n_lost = self._n_lost + 1 if trouble.may_pass else 0
        if self._patience.gives_up and self._n_lost >= max(FEWEST_LOST, 2 * self._level.limit):
            return unreachable(
                f"the server at {self.url} answers no more: {self._n_lost} calls in a row were lost, "
                f"the last after {trouble.attempts} attempts with {trouble}"
            )
        return trouble

    async def _attempt(
        self, session: ClientSession, method: str, url: str, body: bytes | None, read: Reader[T]
    ) -> T:
        import aiohttp

        timeout = aiohttp.ClientTimeout(total=self._patience.timeout_s, sock_connect=CONNECT_S)
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            async with session.request(
                method, url, data=body, headers=headers, timeout=timeout, allow_redirects=False
            ) as reply:
                self._was_reached = True
                if reply.status != 200:
                    raise self._refused(url, reply.status, reply.headers, await reply.read())
                return await read(reply)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as trouble:
            raise CallTrouble("unreachable", _said(trouble), may_pass=True, is_too_much=True) from None
        except TimeoutError:
            why = f"no reply within {self._patience.timeout_s:g} s"
            raise CallTrouble("timeout", why, may_pass=True) from None
        except aiohttp.ClientError as trouble:
            raise CallTrouble(
                "connection", f"the connection broke: {_said(trouble)}", may_pass=True
            ) from None

    def _refused(self, url: str, status: int, headers: Mapping[str, str], content: bytes) -> Exception:
        """Return the trouble of a reply that says no."""
        what = self._without_key(f"HTTP status {status}: {said_in(content)}")
        if status in _WRONG_ADDRESS:
            return no_such_endpoint(f"{url} answers with {what}", self._fix)
        if status == _WRONG_KEY:
            return refused_key(f"{url} answers with {what}")
        may_pass = status in (_TIMED_OUT, _TOO_MANY) or status >= 500
        if not may_pass:
            return CallTrouble("refused", what)
        wait_s = asked_wait_s(headers.get("Retry-After"), datetime.now(UTC))
        is_too_much = status in (_TOO_MANY, _OVERLOADED)
        return CallTrouble("http", what, may_pass=True, wait_s=wait_s, is_too_much=is_too_much)

    def _without_key(self, text: str) -> str:
        """Return what a server said; some repeat the key that they were shown."""
        return text if self._key is None else text.replace(self._key, "(the key)")


def asked_wait_s(header: str | None, now: datetime) -> float | None:
    """Return for how long a Retry-After asks: seconds, or the time from now to a date; None without one."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - now).total_seconds())


def said_in(content: bytes) -> str:
    """Return the message in a reply that says no: in the usual places of a JSON document, or all of it."""
    try:
        document = json.loads(content)
    except ValueError:
        return _shown(content)
    found = document.get("error", document) if isinstance(document, dict) else None
    if isinstance(found, dict):
        found = found.get("message") or found.get("detail")
    return found[:_SAID_CHARS] if isinstance(found, str) and found else _shown(content)


def _is_waited_for(trouble: CallTrouble, *, is_patient: bool) -> bool:
    if trouble.wait_s is not None and trouble.wait_s > LONGEST_ASKED_WAIT_S:
        return False
    return trouble.may_pass and (is_patient or trouble.kind == "unreachable")


def _spread(body: bytes | None, attempt: int) -> float:
    """Return a number from 0 to 1 that is another for each call, so that many calls do not wait alike."""
    return draw(attempt, (body or b"").decode("utf-8", "replace"), "wait").random()


def _in_short(trouble: CallTrouble) -> str:
    return str(trouble).partition(":")[0] if trouble.kind == "http" else trouble.kind


def _shown(content: bytes) -> str:
    return repr(content.decode("utf-8", "replace")[:_SHOWN_CHARS])


def _said(trouble: Exception) -> str:
    return str(trouble) or type(trouble).__name__
