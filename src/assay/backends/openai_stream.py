"""A reply that comes token by token, put together: the pieces of each text in the order they came."""

from __future__ import annotations

from collections.abc import Iterator

from assay.backends.event_stream import EventStream
from assay.backends.http_post import CallTrouble
from assay.backends.openai_protocol import Choice, Reply, Said, Usage, decoded

_DONE = b"[DONE]"
_KEPT = ("content", "reasoning_content", "reasoning", "refusal")


class StreamedReply:
    """Takes the bytes of a stream as they come; the whole reply is there when the stream has ended."""

    def __init__(self) -> None:
        self._events = EventStream()
        self._texts: dict[int, _Text] = {}
        self._usage: Usage | None = None
        self._is_done = False

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes; raise CallTrouble when they are no such stream, or tell of an error."""
        for data in self._events.feed(chunk):
            if data.strip() == _DONE:
                self._is_done = True
            else:
                self._take(decoded(data))

    def whole(self) -> Reply:
        """Return the reply; raise CallTrouble when the stream ended before the texts did."""
        choices = list(self._choices())
        is_ended = all(choice.finish_reason is not None for choice in choices)
        if not self._is_done and not (choices and is_ended):
            raise CallTrouble("cut_short", "the stream ended before the text did", may_pass=True)
        return Reply(choices, self._usage)

    def _take(self, piece: Reply) -> None:
        self._usage = piece.usage or self._usage
        for choice in piece.choices:
            self._texts.setdefault(choice.index or 0, _Text()).take(choice)

    def _choices(self) -> Iterator[Choice]:
        for index in sorted(self._texts):
            yield self._texts[index].choice(index)


class _Text:
    """One text on its way."""

    def __init__(self) -> None:
        self._pieces: dict[str, list[str]] = {}
        self._last = Choice()

    def take(self, choice: Choice) -> None:
        said = choice.delta or choice.message or Said()
        for name in _KEPT:
            self._add(name, getattr(said, name))
        self._add("text", choice.text)
        if choice.finish_reason is not None:
            self._last = choice

    def choice(self, index: int) -> Choice:
        """Return all of it."""
        said = Said(**{name: self._joined(name) for name in _KEPT})
        last = self._last
        return Choice(
            index,
            last.finish_reason,
            said,
            text=self._joined("text"),
            stop_reason=last.stop_reason,
            matched_stop=last.matched_stop,
        )

    def _add(self, name: str, piece: str | None) -> None:
        if piece is not None:
            self._pieces.setdefault(name, []).append(piece)

    def _joined(self, name: str) -> str | None:
        return "".join(self._pieces[name]) if name in self._pieces else None
