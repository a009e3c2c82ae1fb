"""An engine that keeps beginnings in blocks, as vLLM does, and whose model is a formula."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from assay.backends.vllm.token_engine import (
    AskRejected,
    EngineAnswer,
    EngineAsk,
    ReadAnswer,
    ReadAsk,
    WriteAnswer,
    WriteAsk,
)
from assay.core.ids import digest

VOCABULARY = 300


@cache
def logprob(before: tuple[int, ...], token: int) -> float:
    """How likely a token is after others: any number that they decide alone."""
    return math.log(1e-9 + int(digest((before, token), size=4), 16) / 2**32) - 1.0


def first_choice(before: tuple[int, ...]) -> int:
    return max(range(VOCABULARY), key=lambda token: (logprob(before, token), -token))


class FakeEngine:
    """Answers in the order of asking, some at a step."""

    end_ids: Sequence[int] = ()

    def __init__(self, *, block: int = 4, room: int = 3, shares: bool = True, longest: int = 10**6) -> None:
        self.max_sequences = room
        self.shares = shares
        self.reads_own = True
        self.block = block
        self.longest = longest
        self.asked: list[EngineAsk] = []
        self.n_computed = 0
        self.n_held = 0
        self.is_closed = False
        self._cached: set[tuple[str, tuple[int, ...]]] = set()
        self._waiting: list[tuple[int, EngineAsk]] = []

    def add(self, number: int, ask: EngineAsk) -> None:
        if len(ask.prompt) > self.longest:
            raise AskRejected(f"a prompt of {len(ask.prompt)} tokens is too long")
        self.asked.append(ask)
        self._waiting.append((number, ask))
        self.n_held = max(self.n_held, len(self._waiting))

    @property
    def n_left(self) -> int:
        return len(self._waiting)

    def step(self) -> Sequence[tuple[int, EngineAnswer]]:
        now, self._waiting = self._waiting[: self.max_sequences], self._waiting[self.max_sequences :]
        # The last first: nobody may count on an order.
        return [(number, self._answer(ask)) for number, ask in reversed(now)]

    def drop(self, numbers: Sequence[int]) -> None:
        self._waiting = [(number, ask) for number, ask in self._waiting if number not in numbers]

    def close(self) -> None:
        self.is_closed = True

    def _answer(self, ask: EngineAsk) -> EngineAnswer:
        n_cached = self._read(ask)
        if isinstance(ask, WriteAsk):
            return self._written(ask, n_cached)
        assert isinstance(ask, ReadAsk)
        assert self.reads_own or ask.first is None
        assert len(ask.next_ids) <= 128
        following = {token: logprob(ask.prompt, token) for token in ask.next_ids}
        top = first_choice(ask.prompt)
        if ask.first is None:
            return ReadAnswer(following, top, (), (), n_cached)
        if n_cached > ask.first:
            return ReadAnswer(following, top, None, (), n_cached)
        places = range(ask.first, len(ask.prompt) - 1)
        own = [logprob(ask.prompt[: at + 1], ask.prompt[at + 1]) for at in places]
        is_top = [first_choice(ask.prompt[: at + 1]) == ask.prompt[at + 1] for at in places]
        return ReadAnswer(following, top, own, is_top, n_cached)

    def _written(self, ask: WriteAsk, n_cached: int) -> WriteAnswer:
        ids: tuple[int, ...] = ()
        while len(ids) < ask.max_tokens and not (ids and ids[-1] in ask.end_ids):
            ids = (*ids, first_choice((*ask.prompt, *ids, ask.seed or 0)))
        return WriteAnswer(ids, "", False, n_cached)

    def _read(self, ask: EngineAsk) -> int:
        """Return how many tokens were kept from before; keep these too, in whole blocks."""
        salt = ask.salt if isinstance(ask, ReadAsk) else ""
        n_cached = 0
        if self.shares:
            for end in range(self.block, len(ask.prompt), self.block):
                if (salt, ask.prompt[:end]) not in self._cached:
                    break
                n_cached = end
            for end in range(self.block, len(ask.prompt) + 1, self.block):
                self._cached.add((salt, ask.prompt[:end]))
        self.n_computed += len(ask.prompt) - n_cached
        return n_cached
