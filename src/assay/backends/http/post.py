"""Sends JSON documents and receives replies; retries calls that fail temporarily.

Errors have three grades. A temporary one (a broken connection, a timeout, 429, 5xx, a reply that is not
JSON) is retried after growing waits, and not before the server's Retry-After. A permanent one, or one that
persists, is a `CallTrouble` of this call. An error that affects all calls ends the run: a server that is not
reachable or has stopped answering, a rejected key, an address that is not served. The level of concurrency
is informed of every attempt.

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

JSON = "application/json"
LONGEST_WAIT_S = 60.0
MAX_RETRY_AFTER_S = 600.0
"""A server that asks for a longer wait, such as one whose daily quota is exhausted, is not waited for."""
FEWEST_LOST = 32
"""Failed calls in a row, or two rounds of calls, until a server that accepts connections counts as gone."""
_TIMED_OUT = 408
_TOO_MANY = 429
_OVERLOADED = 503
_PROVIDER_OVERLOADED = 529
"""Anthropic's status for an overloaded API."""
_WRONG_REQUEST = 400
_WRONG_KEY = 401
_NO_VALID_KEY = "API key not valid"
"""Gemini rejects a key as a wrong request."""
_WRONG_ADDRESS = {301, 302, 303, 307, 308, 404, 405}
"""Redirects are not followed: the address would no longer be the one that was given."""
_MAX_PREVIEW_CHARS = 200
_MAX_MESSAGE_CHARS = 500
_encoder = msgspec.json.Encoder()


class RetryPolicy(msgspec.Struct, frozen=True):
    """Timeouts and retries."""

    timeout_s: float
    """Of one attempt."""
    retries: int
    """Attempts after the first."""
    wait_s: float
    """Maximum wait before the first retry; each later wait is twice as long."""
    idle_s: float | None = None
    """How long a reply may pause once a byte of its body has arrived."""
    retries_statuses: bool = True
    """Whether to retry HTTP 429 and 5xx, in addition to lost connections."""
    gives_up: bool = False
    """Whether a server counts as gone after many failed calls in a row."""


class CallTrouble(Exception):
    """A call that got no reply; the message says why."""

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
        """How long the server asks to wait."""
        self.is_too_much = is_too_much
        """Whether the number of calls caused it, and not this call."""
        self.attempts = 1


class ReplyReader(Protocol[T_co]):
    """Reads the reply to one attempt. Raises CallTrouble if it cannot be read."""

    def taker(self, headers: Mapping[str, str]) -> ChunkConsumer | None:
        """Return the consumer of the bytes of a reply of status 200 as they arrive; None: collect them."""

    def read(self, reply: HttpReply) -> T_co:
        """Return the content of a complete reply of status 200."""


class WholeJson:
    """Reads a reply as one JSON document."""

    def taker(self, headers: Mapping[str, str]) -> ChunkConsumer | None:
        """Return None: the bytes are collected."""
        return None

    def read(self, reply: HttpReply) -> Any:
        """Return the document."""
        try:
            return json.loads(reply.content)
        except (ValueError, RecursionError):
            raise not_json_error(reply.content) from None


def not_json_error(content: bytes) -> CallTrouble:
    """Return the error of a reply that is not JSON; a server that is just starting may send one."""
    return CallTrouble("not_json", f"the reply is not JSON: {_preview_content(content)}", may_pass=True)


class Endpoint:
    """An address that accepts JSON documents. Used on one event loop; counts its calls."""

    def __init__(
        self,
        url: str,
        patience: RetryPolicy,
        *,
        key: str | None = None,
        fix: str = "give the whole address, with its path, such as http://127.0.0.1:5002/infer",
        level: Level | None = None,
        headers: str | None = None,
        key_variable: str = "OPENAI_API_KEY",
    ) -> None:
        """Take the address, the API key, and the fix to show if the address is not served.

        `level` is informed of the result of each attempt. `headers`: the lines that contain the key, each
        with its line end; None: an Authorization header. `key_variable` names the key in errors.
        """
        self.url = url
        self.n_calls = 0
        self.retries: Counter[str] = Counter()
        """How often an attempt was repeated, by the reason."""
        self._path = urlsplit(url).path
        self._patience = patience
        self._limits = TimeLimits(patience.timeout_s, patience.idle_s)
        self._key = key
        bearer = "" if key is None else f"Authorization: Bearer {key}\r\n"
        self._headers = bearer if headers is None else headers
        self._key_variable = key_variable
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
        """Return the content of the reply to a document; raise CallTrouble if there is none.

        `reading` creates a reader for each attempt, so that no part of a broken reply gets into the next.
        `n_tokens` returns the number of tokens in a reply. With `is_patient` false there is one attempt, but
        a server that was reachable before is still waited for.
        """
        # Encoded once per call and never changed: no part of one call can get into another.
        body = encode_json(document)
        return await self._call(client, "POST", path, body, reading, n_tokens, is_patient=is_patient)

    async def upload(
        self,
        client: HttpClient,
        body: bytes,
        content_type: str,
        reading: Callable[[], ReplyReader[T]],
        *,
        path: str = "",
    ) -> T:
        """Return the content of the reply to a document that is not JSON, as `post` returns it."""
        return await self._call(
            client,
            "POST",
            path,
            body,
            reading,
            lambda reply: 0,
            is_patient=True,
            content_type=content_type,
        )

    async def get(self, client: HttpClient, reading: Callable[[], ReplyReader[T]], *, path: str = "") -> T:
        """Return the document at a path, as `post` returns a reply."""
        return await self._call(client, "GET", path, None, reading, lambda reply: 0, is_patient=True)

    @property
    def n_retries(self) -> int:
        """Return the number of retries."""
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
        content_type: str = JSON,
    ) -> T:
        self.n_calls += 1
        wait_s = self._patience.wait_s
        for attempt in count(1):
            await self._wait_for_rest(body)
            began = time.monotonic()
            try:
                reply = await self._attempt(client, method, path, body, reading(), content_type)
            except CallTrouble as trouble:
                if trouble.may_pass:
                    self._level.record_rejection(time.monotonic(), may_be_the_input=not trouble.is_too_much)
                trouble.attempts = attempt
                trouble.args = (self._mask_key(str(trouble)),)
                if trouble.kind == "unreachable" and not self._was_reached:
                    raise unreachable_error(f"no server responds at {self.url}: {trouble}") from None
                is_last = attempt > self._patience.retries or (
                    trouble.kind == "http" and not self._patience.retries_statuses
                )
                if is_last or not _is_retried(trouble, is_patient=is_patient):
                    raise self._make_final_error(trouble) from None
                self.retries[_summarize_error(trouble)] += 1
                self._pause(trouble.wait_s or 0.0)
            else:
                self._n_lost = 0
                now = time.monotonic()
                self._level.record_answer(now, now - began, n_tokens(reply))
                return reply
            await asyncio.sleep(wait_s * (1 - _spread(body, attempt) / 2))
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)
        raise AssertionError("the loop has no end")

    def _pause(self, seconds: float) -> None:
        """Pause all calls for a while: a server that asks one call to wait means all of them."""
        self._resting_until = max(self._resting_until, time.monotonic() + seconds)

    async def _wait_for_rest(self, body: bytes | None) -> None:
        """Wait until calls may be sent. Another call may have extended the pause meanwhile."""
        while (left_s := self._resting_until - time.monotonic()) > 0:
            # Up to a tenth longer, so that not all calls return at once.
            await asyncio.sleep(left_s * (1 + _spread(body, 0) / 10))

    def _make_final_error(self, trouble: CallTrouble) -> Exception:
        """Return the error of a call that failed for good: its own, or the one that ends the run."""
        if trouble.kind == "unreachable":
            return unreachable_error(
                f"the server at {self.url} no longer responds: {trouble}, {trouble.attempts} times in a row"
            )
        # A permanent error is a reply to this call, so the server is still there.
        self._n_lost = self._n_lost + 1 if trouble.may_pass else 0
        if self._patience.gives_up and self._n_lost >= max(FEWEST_LOST, 2 * self._level.limit):
            return unreachable_error(
                f"the server at {self.url} has stopped responding: {self._n_lost} calls in a row failed, "
                f"the last one after {trouble.attempts} attempts with {trouble}"
            )
        return trouble

    async def once(self, client: HttpClient, body: bytes, reading: ReplyReader[T], *, path: str = "") -> T:
        """Return the content of the reply to a document, after one attempt, or raise CallTrouble."""
        self.n_calls += 1
        try:
            return await self._attempt(client, "POST", path, body, reading)
        except CallTrouble as trouble:
            trouble.args = (self._mask_key(str(trouble)),)
            raise

    async def _attempt(
        self,
        client: HttpClient,
        method: str,
        path: str,
        body: bytes | None,
        reading: ReplyReader[T],
        content_type: str = JSON,
    ) -> T:
        def on_head(status: int, headers: Mapping[str, str]) -> ChunkConsumer | None:
            if status != 200:
                return None
            if (packed := headers.get("content-encoding", "identity").lower()) != "identity":
                raise CallTrouble(
                    "wrong_reply", f"the reply is compressed ({packed}), which was not requested"
                )
            return reading.taker(headers)

        try:
            reply = await client.call(
                method,
                self._path + path,
                body,
                self._limits,
                headers=self._headers,
                on_head=on_head,
                content_type=content_type,
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
            raise self._build_error(self.url + path, reply)
        return reading.read(reply)

    def _build_error(self, url: str, reply: HttpReply) -> Exception:
        """Return the error of a reply with an error status."""
        status = reply.status
        what = self._mask_key(f"HTTP status {status}: {find_error_message(reply.content)}")
        if status in _WRONG_ADDRESS:
            return endpoint_error(f"{url} answers with {what}", self._fix)
        if status == _WRONG_KEY or (status == _WRONG_REQUEST and _NO_VALID_KEY in what):
            return rejected_key_error(f"{url} answers with {what}", self._key_variable)
        if status not in (_TIMED_OUT, _TOO_MANY) and status < 500:
            return CallTrouble("refused", what)
        wait_s = parse_retry_after(reply.headers.get("retry-after"), datetime.now(UTC))
        is_too_much = status in (_TOO_MANY, _OVERLOADED, _PROVIDER_OVERLOADED)
        return CallTrouble("http", what, may_pass=True, wait_s=wait_s, is_too_much=is_too_much)

    def _mask_key(self, text: str) -> str:
        """Return a server's message without the API key, which some servers repeat."""
        return text if self._key is None else text.replace(self._key, "(the key)")


def encode_json(document: object) -> bytes:
    """Return a document as JSON. A lone surrogate, which UTF-8 does not have, becomes an escape."""
    try:
        return _encoder.encode(document)
    except UnicodeEncodeError:
        return json.dumps(document).encode()


def parse_retry_after(header: str | None, now: datetime) -> float | None:
    """Return the wait of a Retry-After header: seconds, or the time from now to a date; None without one."""
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
    """Return the message in an error reply: from the usual places in a JSON document, else all of it."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return _preview_content(content)
    message = document.get("error", document) if isinstance(document, dict) else None
    if isinstance(message, dict):
        message = message.get("message") or message.get("detail")
    return message[:_MAX_MESSAGE_CHARS] if isinstance(message, str) and message else _preview_content(content)


def _is_retried(trouble: CallTrouble, *, is_patient: bool) -> bool:
    if trouble.wait_s is not None and trouble.wait_s > MAX_RETRY_AFTER_S:
        return False
    return trouble.may_pass and (is_patient or trouble.kind == "unreachable")


def _spread(body: bytes | None, attempt: int) -> float:
    """Return a number from 0 to 1 that differs between calls, so that calls do not all wait equally long."""
    return make_random(attempt, (body or b"").decode("utf-8", "replace"), "wait").random()


def _summarize_error(trouble: CallTrouble) -> str:
    return str(trouble).partition(":")[0] if trouble.kind == "http" else trouble.kind


def _preview_content(content: bytes) -> str:
    return repr(content.decode("utf-8", "replace")[:_MAX_PREVIEW_CHARS])
