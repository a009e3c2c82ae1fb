"""One JSON document posted, one received, with patience: what fails for a while is asked again.

Trouble has three grades. What may pass (a broken connection, a timeout, 429, 5xx, a reply that is no JSON) is
tried again after growing waits. What does not, or does not pass in time, is a `CallTrouble` of this call. A
server that is not there, or an address that it does not serve, is an error that ends the run.

Knows no protocol: the caller writes the body and reads the reply.
"""

from __future__ import annotations

import asyncio
import json
from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec

from assay.backends.problems import no_such_endpoint, unreachable

if TYPE_CHECKING:
    from aiohttp import ClientSession

CONNECT_S = 10.0
"""A server that takes longer to accept a connection is not there."""
LONGEST_WAIT_S = 60.0
_TOO_MANY = 429
_WRONG_ADDRESS = {404, 405}
_SHOWN_CHARS = 200


class Patience(msgspec.Struct, frozen=True):
    """How long to wait, and how often."""

    timeout_s: float
    """For one attempt."""
    retries: int
    """Attempts after the first."""
    wait_s: float
    """Before the first retry; each later wait is twice as long."""


class CallTrouble(Exception):
    """A call brought no reply; the message says why."""

    def __init__(self, kind: str, message: str, *, may_pass: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.may_pass = may_pass
        """Whether the same call may succeed later."""
        self.attempts = 1


class Endpoint:
    """An address that takes JSON documents. Used on one event loop; counts what it does."""

    def __init__(self, url: str, patience: Patience) -> None:
        self.url = url
        self.n_calls = 0
        self.n_retries = 0
        self._patience = patience
        self._was_reached = False

    async def post(self, session: ClientSession, document: object, *, is_patient: bool = True) -> Any:
        """Return the reply to a document, read from JSON; raise CallTrouble when there is none.

        Without patience there is one attempt, but a server that was there is waited for all the same.
        """
        # Written anew for each call and never changed: nothing of one call can get into another.
        body = json.dumps(document).encode()
        self.n_calls += 1
        wait_s = self._patience.wait_s
        for attempt in count(1):
            try:
                return await self._attempt(session, body)
            except CallTrouble as trouble:
                trouble.attempts = attempt
                if trouble.kind == "unreachable" and not self._was_reached:
                    raise unreachable(f"no server answers at {self.url}: {trouble}") from None
                is_waited_for = trouble.may_pass and (is_patient or trouble.kind == "unreachable")
                if attempt > self._patience.retries or not is_waited_for:
                    raise self._final(trouble) from None
            self.n_retries += 1
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)
        raise AssertionError("the loop has no end")

    def _final(self, trouble: CallTrouble) -> Exception:
        if trouble.kind == "unreachable":
            return unreachable(
                f"the server at {self.url} is gone: {trouble}, {trouble.attempts} times in a row"
            )
        return trouble

    async def _attempt(self, session: ClientSession, body: bytes) -> Any:
        import aiohttp

        timeout = aiohttp.ClientTimeout(total=self._patience.timeout_s, sock_connect=CONNECT_S)
        headers = {"Content-Type": "application/json"}
        try:
            async with session.post(
                self.url, data=body, headers=headers, timeout=timeout, allow_redirects=False
            ) as reply:
                self._was_reached = True
                status, content = reply.status, await reply.read()
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as trouble:
            raise CallTrouble("unreachable", _said(trouble), may_pass=True) from None
        except TimeoutError:
            why = f"no reply within {self._patience.timeout_s:g} s"
            raise CallTrouble("timeout", why, may_pass=True) from None
        except aiohttp.ClientError as trouble:
            raise CallTrouble(
                "connection", f"the connection broke: {_said(trouble)}", may_pass=True
            ) from None
        return self._read(status, content)

    def _read(self, status: int, content: bytes) -> Any:
        shown = repr(content.decode("utf-8", "replace")[:_SHOWN_CHARS])
        if status in _WRONG_ADDRESS:
            raise no_such_endpoint(f"{self.url} answers with HTTP status {status}: {shown}")
        if status != 200:
            may_pass = status == _TOO_MANY or status >= 500
            raise CallTrouble("http", f"HTTP status {status}: {shown}", may_pass=may_pass)
        try:
            return json.loads(content)
        except ValueError:
            raise CallTrouble("not_json", f"the reply is no JSON: {shown}", may_pass=True) from None


def _said(trouble: Exception) -> str:
    return str(trouble) or type(trouble).__name__
