"""Gathering what goes to a server together. Knows the parts of requests, not how they travel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from assay.backends.http.infer_protocol import SCORING, InferPart, Params

MAX_WAITING_CALLS = 8
"""Parts wait until a call is full, but no more of them than make so many calls."""


class InferCall:
    """Parts with equal params, and the texts to send for them. Texts to score are sent once."""

    def __init__(self, parts: Iterable[InferPart] = ()) -> None:
        self.parts: list[InferPart] = []
        self.instances: list[str] = []
        self._places: list[list[int]] = []
        self._known: dict[str, int] = {}
        for part in parts:
            self.add(part)

    def add(self, part: InferPart) -> None:
        """Take one more part. Options of a question share their context, which is sent once for all."""
        self.parts.append(part)
        self._places.append([self._place(text, part.params) for text in part.instances])

    def n_more(self, part: InferPart) -> int:
        """Return how many texts a part would add."""
        if part.params != SCORING:
            return len(part.instances)
        return sum(text not in self._known for text in part.instances)

    def _place(self, text: str, params: Params) -> int:
        if params == SCORING and text in self._known:
            return self._known[text]
        self._known[text] = len(self.instances)
        self.instances.append(text)
        return len(self.instances) - 1

    def shares(self, replies: Sequence[object]) -> Iterator[tuple[InferPart, list[object]]]:
        """Yield each part with the replies to its own texts."""
        for part, places in zip(self.parts, self._places, strict=True):
            yield part, [replies[place] for place in places]

    def halves(self) -> tuple[InferCall, InferCall]:
        """Return the same parts in two calls."""
        middle = len(self.parts) // 2
        return InferCall(self.parts[:middle]), InferCall(self.parts[middle:])


class Batches:
    """Gathers parts until they fill a call of so many texts; a part that has more goes alone.

    Parameters that name a `batch_size` have their own number.
    """

    def __init__(self, n_texts: int) -> None:
        self._n_texts = n_texts
        self._held: dict[Params, InferCall] = {}
        self._n_held = 0

    def add(self, part: InferPart) -> Iterator[InferCall]:
        """Take a part; yield what is to be sent now."""
        held = self._held.get(part.params)
        n_texts = part.params.batch_size or self._n_texts
        if held is not None and len(held.instances) + held.n_more(part) > n_texts:
            yield self._taken(part.params)
        call = self._held.setdefault(part.params, InferCall())
        call.add(part)
        self._n_held += 1
        if len(call.instances) >= n_texts:
            yield self._taken(part.params)
        elif self._n_held >= MAX_WAITING_CALLS * max(self._n_texts, n_texts):
            yield self._taken(max(self._held, key=lambda params: len(self._held[params].parts)))

    def rest(self) -> Iterator[InferCall]:
        """Yield what is still held."""
        while self._held:
            yield self._taken(next(iter(self._held)))

    def _taken(self, params: Params) -> InferCall:
        call = self._held.pop(params)
        self._n_held -= len(call.parts)
        return call
