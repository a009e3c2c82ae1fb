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
import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import urlsplit

import msgspec

from assay.backends.http.concurrency import FixedLevel, Level
from assay.backends.http.exchange import (
    ChunkConsumer,
    ConnectionBroken,
    HttpReply,
    ReplyStalled,
    ReplyTimeout,
    ServerUnreachable,
    TimeLimits,
)
from assay.backends.problems import endpoint_error, rejected_key_error, unreachable_error
from assay.core.ids import make_random

if TYPE_CHECKING:
    from assay.backends.http.client import HttpClient

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

LONGEST_WAIT_S = 60.0
MAX_RETRY_AFTER_S = 600.0
"""A server that asks to be left alone for longer, as when a day's quota is spent, is not waited for."""
FEWEST_LOST = 32
"""Calls lost in a row before a server that still takes connections counts as gone; or two rounds of calls."""
_TIMED_OUT = 408
_TOO_MANY = 429
_OVERLOADED = 503
_WRONG_KEY = 401
_WRONG_ADDRESS = {301, 302, 303, 307, 308, 404, 405}
"""Nothing is sent on to where a server points: the address would no longer be the one that was named."""
_MAX_PREVIEW_CHARS = 200
_MAX_MESSAGE_CHARS = 500
_encoder = msgspec.json.Encoder()


class RetryPolicy(msgspec.Struct, frozen=True):
    """How long to wait, and how often."""

    timeout_s: float
    """For one attempt."""
    retries: int
    """Attempts after the first."""
    wait_s: float
    """Before the first retry, at most; each later wait is twice as long."""
    idle_s: float | None = None
    """How long a reply may stand still once there was a byte of its body."""
    retries_statuses: bool = True
    """Whether HTTP 429 and 5xx are retried, as lost connections are."""
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


class ReplyReader(Protocol[T_co]):
    """Reads the reply to one attempt. Raises CallTrouble when it is none."""

    def taker(self, headers: Mapping[str, str]) -> ChunkConsumer | None:
        """Return who takes the bytes of a reply of status 200 as they come; None: they are gathered."""

    def read(self, reply: HttpReply) -> T_co:
        """Return what a whole reply of status 200 says."""


class WholeJson:
    """Reads a reply as one JSON document."""

    def taker(self, headers: Mapping[str, str]) -> ChunkConsumer | None:
        """Have the bytes gathered."""
        return None

    def read(self, reply: HttpReply) -> Any:
        """Return the document."""
        try:
            return json.loads(reply.content)
        except (ValueError, RecursionError):
            raise not_json_error(reply.content) from None


def not_json_error(content: bytes) -> CallTrouble:
    """Return the trouble of a reply that cannot be read; a server that is just starting sends such."""
    return CallTrouble("not_json", f"the reply is no JSON: {_preview_content(content)}", may_pass=True)


class Endpoint:
    """An address that takes JSON documents. Used on one event loop; counts what it does."""

    def __init__(
        self,
        url: str,
        patience: RetryPolicy,
        *,
        key: str | None = None,
        fix: str = "give the whole address, with its path, such as http://127.0.0.1:5002/infer",
        level: Level | None = None,
    ) -> None:
        """Take the address, the key to show there, and what a person can do about an address not served.

        `level` hears how calls with patience go.
        """
        self.url = url
        self.n_calls = 0
        self.retries: Counter[str] = Counter()
        """How often an attempt followed another, by what was wrong with that."""
        self._path = urlsplit(url).path
        self._patience = patience
        self._limits = TimeLimits(patience.timeout_s, patience.idle_s)
        self._key = key
        self._shown_key = "" if key is None else f"Authorization: Bearer {key}\r\n"
        self._fix = fix
        self._level = FixedLevel(1) if level is None else level
        self._was_reached = False
        self._n_lost = 0
        self._resting_until = 0.0

    async def post(
        self,
        client: HttpClient,
        document: object,
        reading: Callable[[], ReplyReader[T]],
        *,
        path: str = "",
        n_tokens: Callable[[T], int] = lambda reply: 0,
        is_patient: bool = True,
    ) -> T:
        """Return what the reply to a document says; raise CallTrouble when there is none.

        `reading` is made anew for each attempt: nothing of a reply that broke gets into the next. `n_tokens`
        tells how much a reply brought. Without patience there is one attempt, but a server that was there is
        waited for all the same.
        """
        # Written anew for each call and never changed: nothing of one call can get into another.
        body = encode_json(document)
        return await self._call(client, "POST", path, body, reading, n_tokens, is_patient=is_patient)

    async def get(self, client: HttpClient, reading: Callable[[], ReplyReader[T]], *, path: str = "") -> T:
        """Return what lies at a path, as `post` returns a reply."""
        return await self._call(client, "GET", path, None, reading, lambda reply: 0, is_patient=True)

    @property
    def n_retries(self) -> int:
        """Return how many attempts followed another."""
        return self.retries.total()

    async def _call(
        self,
        client: HttpClient,
        method: str,
        path: str,
        body: bytes | None,
        reading: Callable[[], ReplyReader[T]],
        n_tokens: Callable[[T], int],
        *,
        is_patient: bool,
    ) -> T:
        self.n_calls += 1
        wait_s = self._patience.wait_s
        for attempt in count(1):
            await self._wait_for_rest(body)
            began = time.monotonic()
            try:
                reply = await self._attempt(client, method, path, body, reading())
            except CallTrouble as trouble:
                if trouble.may_pass:
                    self._level.refused(time.monotonic(), may_be_the_input=not trouble.is_too_much)
                trouble.attempts = attempt
                trouble.args = (self._mask_key(str(trouble)),)
                if trouble.kind == "unreachable" and not self._was_reached:
                    raise unreachable_error(f"no server answers at {self.url}: {trouble}") from None
                is_last = attempt > self._patience.retries or (
                    trouble.kind == "http" and not self._patience.retries_statuses
                )
                if is_last or not _is_retried(trouble, is_patient=is_patient):
                    raise self._make_final_error(trouble) from None
                self.retries[_summarize_error(trouble)] += 1
                self._rest(trouble.wait_s or 0.0)
            else:
                self._n_lost = 0
                now = time.monotonic()
                self._level.done(now, now - began, n_tokens(reply))
                return reply
            await asyncio.sleep(wait_s * (1 - _spread(body, attempt) / 2))
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)
        raise AssertionError("the loop has no end")

    def _rest(self, seconds: float) -> None:
        """Leave the server alone for a while: who asks one call to wait means all."""
        self._resting_until = max(self._resting_until, time.monotonic() + seconds)

    async def _wait_for_rest(self, body: bytes | None) -> None:
        """Wait until the server may be asked. Another call may have made the rest longer meanwhile."""
        while (left_s := self._resting_until - time.monotonic()) > 0:
            # Up to a tenth longer: not all calls come back at once.
            await asyncio.sleep(left_s * (1 + _spread(body, 0) / 10))

    def _make_final_error(self, trouble: CallTrouble) -> Exception:
        """Return what a call that brought nothing ends with: its own trouble, or the end of the run."""
        if trouble.kind == "unreachable":
            return unreachable_error(
                f"the server at {self.url} is gone: {trouble}, {trouble.attempts} times in a row"
            )
        # Trouble that does not pass is a reply to this call: the server is there.
        self._n_lost = self._n_lost + 1 if trouble.may_pass else 0
        if self._patience.gives_up and self._n_lost >= max(FEWEST_LOST, 2 * self._level.limit):
            return unreachable_error(
                f"the server at {self.url} answers no more: {self._n_lost} calls in a row were lost, "
                f"the last after {trouble.attempts} attempts with {trouble}"
            )
        return trouble

    async def once(self, client: HttpClient, body: bytes, reading: ReplyReader[T], *, path: str = "") -> T:
        """Return what the reply to a document says, after one attempt, or raise CallTrouble."""
        self.n_calls += 1
        try:
            return await self._attempt(client, "POST", path, body, reading)
        except CallTrouble as trouble:
            trouble.args = (self._mask_key(str(trouble)),)
            raise

    async def _attempt(
        self, client: HttpClient, method: str, path: str, body: bytes | None, reading: ReplyReader[T]
    ) -> T:
        def on_head(status: int, headers: Mapping[str, str]) -> ChunkConsumer | None:
            if status != 200:
                return None
            if (packed := headers.get("content-encoding", "identity").lower()) != "identity":
                raise CallTrouble("wrong_reply", f"the reply is packed ({packed}), which nobody asked for")
            return reading.taker(headers)

        try:
            reply = await client.call(
                method, self._path + path, body, self._limits, headers=self._shown_key, on_head=on_head
            )
        except ServerUnreachable as trouble:
            raise CallTrouble("unreachable", str(trouble), may_pass=True, is_too_much=True) from None
        except ReplyTimeout as trouble:
            raise CallTrouble("timeout", str(trouble), may_pass=True) from None
        except ReplyStalled as trouble:
            raise CallTrouble("stalled", str(trouble), may_pass=True) from None
        except ConnectionBroken as trouble:
            raise CallTrouble("connection", f"the connection broke: {trouble}", may_pass=True) from None
        self._was_reached = True
        if reply.status != 200:
            raise self._refused(self.url + path, reply)
        return reading.read(reply)

    def _refused(self, url: str, reply: HttpReply) -> Exception:
        """Return the trouble of a reply that says no."""
        status = reply.status
        what = self._mask_key(f"HTTP status {status}: {find_error_message(reply.content)}")
        if status in _WRONG_ADDRESS:
            return endpoint_error(f"{url} answers with {what}", self._fix)
        if status == _WRONG_KEY:
            return rejected_key_error(f"{url} answers with {what}")
        if status not in (_TIMED_OUT, _TOO_MANY) and status < 500:
            return CallTrouble("refused", what)
        wait_s = parse_retry_after(reply.headers.get("retry-after"), datetime.now(UTC))
        is_too_much = status in (_TOO_MANY, _OVERLOADED)
        return CallTrouble("http", what, may_pass=True, wait_s=wait_s, is_too_much=is_too_much)

    def _mask_key(self, text: str) -> str:
        """Return what a server said; some repeat the key that they were shown."""
        return text if self._key is None else text.replace(self._key, "(the key)")


def encode_json(document: object) -> bytes:
    """Return a document as JSON. Half of a surrogate pair, which UTF-8 does not have, goes as an escape."""
    try:
        return _encoder.encode(document)
    except UnicodeEncodeError:
        return json.dumps(document).encode()


def parse_retry_after(header: str | None, now: datetime) -> float | None:
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


def find_error_message(content: bytes) -> str:
    """Return the message in a reply that says no: in the usual places of a JSON document, or all of it."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return _preview_content(content)
    found = document.get("error", document) if isinstance(document, dict) else None
    if isinstance(found, dict):
        found = found.get("message") or found.get("detail")
    return found[:_MAX_MESSAGE_CHARS] if isinstance(found, str) and found else _preview_content(content)


def _is_retried(trouble: CallTrouble, *, is_patient: bool) -> bool:
    if trouble.wait_s is not None and trouble.wait_s > MAX_RETRY_AFTER_S:
        return False
    return trouble.may_pass and (is_patient or trouble.kind == "unreachable")


def _spread(body: bytes | None, attempt: int) -> float:
    """Return a number from 0 to 1 that is another for each call, so that many calls do not wait alike."""
    return make_random(attempt, (body or b"").decode("utf-8", "replace"), "wait").random()


def _summarize_error(trouble: CallTrouble) -> str:
    return str(trouble).partition(":")[0] if trouble.kind == "http" else trouble.kind


def _preview_content(content: bytes) -> str:
    return repr(content.decode("utf-8", "replace")[:_MAX_PREVIEW_CHARS])
