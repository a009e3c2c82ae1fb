"""Streamed replies: joins the pieces of each text in the order they arrive."""

from __future__ import annotations

from collections.abc import Iterator

from assay.backends.http.event_stream import EventStream
from assay.backends.http.post import CallTrouble
from assay.backends.openai.protocol import (
    Choice,
    OpenAIReply,
    ReplyMessage,
    Usage,
    decode_reply,
    join_content,
)
from assay.backends.openai.tools import StreamedCalls

_DONE = b"[DONE]"
_ASIDE = ("reasoning_content", "reasoning", "refusal")


class StreamedReply:
    """Takes the bytes of a stream as they arrive; the reply is complete when the stream has ended."""

    def __init__(self) -> None:
        self._events = EventStream()
        self._texts: dict[int, _StreamedText] = {}
        self._usage: Usage | None = None
        self._is_done = False
        self.text_at: list[float] = []
        """Arrival time of each piece with text: of the answer, its reasoning or a tool call."""
        self.event_at: list[float] = []
        """Arrival time of each event, including those without text, such as the first one with the role."""

    def feed(self, chunk: bytes, now: float) -> None:
        """Take the next bytes; raise CallTrouble if they are not a valid stream or report an error."""
        for data in self._events.feed(chunk):
            if data.strip() == _DONE:
                self._is_done = True
                continue
            self.event_at.append(now)
            if self._take(self.decode(data)):
                self.text_at.append(now)

    def decode(self, data: bytes) -> OpenAIReply:
        """Return the content of an event; raise CallTrouble if it cannot be decoded."""
        return decode_reply(data)

    def join_reply(self) -> OpenAIReply:
        """Return the reply; raise CallTrouble if the stream ended before its texts."""
        choices = list(self._choices())
        is_ended = all(choice.finish_reason is not None for choice in choices)
        if not self._is_done and not (choices and is_ended):
            raise CallTrouble("cut_short", "the stream ended before the text did", may_pass=True)
        return OpenAIReply(choices, self._usage)

    def _take(self, piece: OpenAIReply) -> bool:
        """Add a piece; return whether it contains text."""
        self._usage = piece.usage or self._usage
        has_text = False
        for choice in piece.choices:
            index = choice.index or 0
            if (text := self._texts.get(index)) is None:
                text = self._texts[index] = _StreamedText()
            has_text |= text.take(choice)
        return has_text

    def _choices(self) -> Iterator[Choice]:
        for index in sorted(self._texts):
            yield self._texts[index].choice(index)


class _StreamedText:
    """One text whose pieces are still arriving."""

    def __init__(self) -> None:
        self._pieces: dict[str, list[str]] = {}
        self._calls = StreamedCalls()
        self._last = Choice()

    def take(self, choice: Choice) -> bool:
        """Add a piece; return whether it contains text."""
        has_text = False
        message = choice.delta or choice.message
        if message is not None:
            has_text = self._add("content", join_content(message.content))
            if message.reasoning_content or message.reasoning or message.refusal:
                has_text = True
                for name in _ASIDE:
                    self._add(name, getattr(message, name))
            if message.tool_calls:
                has_text |= self._calls.take(message.tool_calls)
        elif choice.text is not None:
            has_text = self._add("text", choice.text)
        if choice.finish_reason is not None:
            self._last = choice
        return has_text

    def choice(self, index: int) -> Choice:
        """Return the joined text."""
        aside = {name: self._join_pieces(name) for name in _ASIDE}
        message = ReplyMessage(self._join_pieces("content"), **aside, tool_calls=self._calls.join_calls())
        last = self._last
        return Choice(
            index,
            last.finish_reason,
            message,
            text=self._join_pieces("text"),
            stop_reason=last.stop_reason,
            matched_stop=last.matched_stop,
        )

    def _add(self, name: str, piece: str | None) -> bool:
        if piece is not None:
            self._pieces.setdefault(name, []).append(piece)
        return bool(piece)

    def _join_pieces(self, name: str) -> str | None:
        return "".join(self._pieces[name]) if name in self._pieces else None
