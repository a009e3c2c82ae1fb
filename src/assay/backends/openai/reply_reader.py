"""Reads the reply to one attempt of a call as it arrives, and records when its text arrived."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from assay.backends.http.exchange import ChunkConsumer, HttpReply
from assay.backends.openai.protocol import OpenAIReply, check_reply, decode_reply
from assay.backends.openai.stream import StreamedReply

_STREAM = "text/event-stream"


class TimedReply(NamedTuple):
    """A reply, and the time to its first text."""

    reply: OpenAIReply
    first_s: float
    """Seconds until the first text; 0 if the reply came whole or contained no text."""


class OpenAIReplyReader:
    """Created when an attempt begins. Some servers send a whole reply even if a stream was requested."""

    def __init__(
        self,
        stream: Callable[[], StreamedReply] = StreamedReply,
        decode: Callable[[bytes], OpenAIReply] = decode_reply,
    ) -> None:
        """Take the functions that read a stream and a whole reply: other protocols have their own."""
        self.began = self.ended = time.perf_counter()
        self._opened = stream
        self._decode = decode
        self._stream: StreamedReply | None = None

    def taker(self, headers: Mapping[str, str]) -> ChunkConsumer | None:
        """Return the consumer of a stream; None for a whole reply."""
        if not headers.get("content-type", "").lower().startswith(_STREAM):
            return None
        self._stream = self._opened()
        return self._stream.feed

    def read(self, reply: HttpReply) -> TimedReply:
        """Return the complete reply and its timing; raise CallTrouble if it cannot be read."""
        self.ended = reply.ended
        checked = check_reply(self.join_reply(reply))
        return TimedReply(checked, self.text_at[0] - self.began if self.text_at else 0.0)

    def join_reply(self, reply: HttpReply) -> OpenAIReply:
        """Return the complete reply, joined if it was streamed."""
        return self._decode(reply.content) if self._stream is None else self._stream.join_reply()

    @property
    def text_at(self) -> Sequence[float]:
        """Return when each piece of a stream that contains text arrived."""
        return self._stream.text_at if self._stream is not None else ()

    @property
    def event_at(self) -> Sequence[float]:
        """Return when each event of a stream arrived."""
        return self._stream.event_at if self._stream is not None else ()
