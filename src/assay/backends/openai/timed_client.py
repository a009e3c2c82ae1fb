"""Client that sends requests to an OpenAI-compatible server once and records their timing."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress

from assay.backends.http.client import HttpClient
from assay.backends.http.exchange import ServerUnreachable, TimeLimits
from assay.backends.http.post import CallTrouble, Endpoint, RetryPolicy, encode_json
from assay.backends.http.text_protocol import OPENAI, TextProtocol
from assay.backends.local.media_bytes import MediaTrouble
from assay.backends.openai.address import fetch_first_model
from assay.backends.openai.arguments import read_key
from assay.backends.openai.protocol import build_thoughts, count_prompt_tokens, read_texts
from assay.backends.openai.reply_reader import OpenAIReplyReader
from assay.core.request import Generate
from assay.core.response import Completion, Failure
from assay.core.timing import CallTimes, TimedCall


class OpenAITimedClient:
    """Client of a server with chat or completions endpoints: no retries, no queue, all times recorded."""

    def __init__(self, where: str, args: Mapping[str, str], protocol: TextProtocol = OPENAI) -> None:
        """Check the address, the arguments and that a named key exists; opens no connection."""
        self._protocol = protocol
        self._settings = protocol.read_settings(args)
        given = self._settings.args
        self._is_stream = given.stream is not False
        address = protocol.read_address(where)
        self._model, url = address.model, address.url
        patience = RetryPolicy(given.timeout_s, retries=0, wait_s=0.0)
        key = read_key(given, protocol.key_variable)
        self._endpoint = Endpoint(
            url,
            patience,
            key=key,
            fix=address.fix,
            headers=protocol.build_headers(key),
            key_variable=protocol.key_variable,
        )
        self._client = HttpClient(url)
        self._limits = TimeLimits(given.timeout_s)

    async def __aenter__(self) -> OpenAITimedClient:
        """Ask the server for the model's name if none was given."""
        if not self._model and self._protocol.lists_models:
            self._model = await fetch_first_model(self._endpoint, self._client)
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close all connections."""
        await self._client.__aexit__(*error)

    async def connect(self, n: int) -> None:
        """Open `n` connections. A server that accepts fewer reports this when requests are sent."""
        with suppress(ServerUnreachable):
            await self._client.connect(n, self._limits)

    async def call(self, ask: Generate) -> TimedCall:
        """Send one request and read its answer.

        Errors are returned as a `Failure`. A rejected key or address is raised, because it affects all calls.
        """
        try:
            fields = self._protocol.body(
                ask, self._model, self._settings, is_stream=self._is_stream, seed=ask.sampling.seed
            )
        except MediaTrouble as trouble:
            now = time.perf_counter()
            return TimedCall(CallTimes(now, now), Failure("media", str(trouble)))
        body = encode_json(fields)  # Before the clock of the call starts.
        reading = self._protocol.create_reader(ask)
        outcome = await self._outcome(ask, body, reading)
        times = CallTimes(reading.began, reading.ended, tuple(reading.text_at), tuple(reading.event_at))
        return TimedCall(times, outcome)

    async def _outcome(self, ask: Generate, body: bytes, reading: OpenAIReplyReader) -> Completion | Failure:
        path = self._protocol.path(ask, self._model, self._settings, is_stream=self._is_stream)
        try:
            reply, _ = await self._endpoint.once(self._client, body, reading, path=path)
        except CallTrouble as trouble:
            reading.ended = time.perf_counter()
            return Failure(trouble.kind, str(trouble))
        thoughts = build_thoughts(self._settings)
        written = read_texts(reply, ask, offers_tools=bool(self._settings.tools), thoughts=thoughts)
        if isinstance(written, Failure):
            return written
        return Completion(tuple(text.output for text in written), count_prompt_tokens(reply))
