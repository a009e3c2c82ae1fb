"""The reply to one attempt at a call, read as it comes, and when its text came."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from assay.backends.http.exchange import ChunkConsumer, HttpReply
from assay.backends.openai.protocol import OpenAIReply, check_reply, decode_reply
from assay.backends.openai.stream import StreamedReply

_STREAM = "text/event-stream"


class TimedReply(NamedTuple):
    """A reply, and how long it took."""

    reply: OpenAIReply
    first_s: float
    """Until the first text; 0 where the reply came whole, or held none."""


class OpenAIReplyReader:
    """Made when an attempt begins. Some servers send a reply whole though asked for a stream."""

    def __init__(
        self,
        stream: Callable[[], StreamedReply] = StreamedReply,
        decode: Callable[[bytes], OpenAIReply] = decode_reply,
    ) -> None:
        """Take how a stream and a whole reply are read: other protocols have their own ways."""
        self.began = self.ended = time.perf_counter()
        self._opened = stream
        self._decode = decode
        self._stream: StreamedReply | None = None

    def taker(self, headers: Mapping[str, str]) -> ChunkConsumer | None:
        """Take a stream piece by piece."""
        if not headers.get("content-type", "").lower().startswith(_STREAM):
            return None
        self._stream = self._opened()
        return self._stream.feed

    def read(self, reply: HttpReply) -> TimedReply:
        """Return the whole reply; raise CallTrouble when it is none."""
        self.ended = reply.ended
        said = check_reply(self.whole(reply))
        return TimedReply(said, self.text_at[0] - self.began if self.text_at else 0.0)

    def whole(self, reply: HttpReply) -> OpenAIReply:
        """Return the reply, put together where it came as a stream."""
        return self._decode(reply.content) if self._stream is None else self._stream.whole()

    @property
    def text_at(self) -> Sequence[float]:
        """Return when each piece of a stream came that holds text."""
        return self._stream.text_at if self._stream is not None else ()

    @property
    def event_at(self) -> Sequence[float]:
        """Return when each event of a stream came."""
        return self._stream.event_at if self._stream is not None else ()
