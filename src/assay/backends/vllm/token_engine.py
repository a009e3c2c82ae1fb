"""What an engine with a cache of its own is asked, in tokens, and what it answers. Knows no engine by name.

An engine computes many sequences together and keeps the keys and values of what it has read, in blocks, so
that a beginning it knows is not computed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ReadAsk:
    """Log-probabilities of tokens after a prompt, and of the prompt's own tokens."""

    prompt: tuple[int, ...]
    next_ids: tuple[int, ...]
    """Tokens that may follow the whole prompt."""
    first: int | None = None
    """From this position on, each token of the prompt but the last is asked for the one after it."""
    salt: str = ""
    """Only what was read with the same salt is taken from the cache."""

    @property
    def n_own(self) -> int:
        """Return how many of the prompt's own tokens are asked for."""
        return 0 if self.first is None else len(self.prompt) - 1 - self.first


@dataclass(frozen=True, slots=True)
class WriteAsk:
    """A text behind a prompt."""

    prompt: tuple[int, ...]
    max_tokens: int
    end_ids: frozenset[int]
    """Tokens that end it."""
    stop: tuple[str, ...] = ()
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """What an engine says to a ReadAsk."""

    next_logprobs: Mapping[int, float]
    first_choice: int
    """The likeliest token after the prompt."""
    own_logprobs: Sequence[float] | None
    """None: the cache held tokens that were to be read, and what is cached is not computed."""
    own_is_top: Sequence[bool]
    n_cached: int = 0
    """Tokens of the prompt that were not computed again."""


@dataclass(frozen=True, slots=True)
class WriteAnswer:
    """What an engine says to a WriteAsk."""

    ids: tuple[int, ...]
    text: str
    """Up to a stop string, where one ended it; else it may be empty."""
    is_stopped: bool
    """Whether a stop string ended it."""
    n_cached: int = 0


EngineAsk = ReadAsk | WriteAsk
EngineAnswer = ReadAnswer | WriteAnswer


class AskRejected(Exception):
    """The engine does not take an ask, and why."""


class TokenEngine(Protocol):
    """An engine. Nothing is computed but in `step`."""

    @property
    def max_sequences(self) -> int:
        """Return how many sequences it computes together."""

    @property
    def shares(self) -> bool:
        """Return whether it keeps beginnings."""

    @property
    def reads_own(self) -> bool:
        """Return whether a prompt's own tokens can be asked for."""

    def add(self, number: int, ask: EngineAsk) -> None:
        """Take an ask under a number; raise Refused where it cannot be one."""

    def step(self) -> Sequence[tuple[int, EngineAnswer]]:
        """Compute once for all that it has; return what is now answered."""

    def drop(self, numbers: Sequence[int]) -> None:
        """Forget asks that are not answered yet."""

    def close(self) -> None:
        """Let go of memory and processes."""
