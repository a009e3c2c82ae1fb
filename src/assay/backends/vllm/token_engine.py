"""The interface of an engine with its own prefix cache: requests and answers in tokens.

An engine computes many sequences together and caches keys and values of what it has read, in blocks, so that
a known prefix is not computed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ReadAsk:
    """A request for log-probabilities of tokens after a prompt, and of the prompt's own tokens."""

    prompt: tuple[int, ...]
    next_ids: tuple[int, ...]
    """Tokens that may follow the whole prompt."""
    first: int | None = None
    """Position from which each token of the prompt, except the last, scores the token after it."""
    salt: str = ""
    """The cache is used only for prompts read with the same salt."""

    @property
    def n_own(self) -> int:
        """Return how many of the prompt's own tokens are scored."""
        return 0 if self.first is None else len(self.prompt) - 1 - self.first


@dataclass(frozen=True, slots=True)
class WriteAsk:
    """A request for a text after a prompt."""

    prompt: tuple[int, ...]
    max_tokens: int
    end_ids: frozenset[int]
    """Tokens that end the text."""
    stop: tuple[str, ...] = ()
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """The answer to a ReadAsk."""

    next_logprobs: Mapping[int, float]
    first_choice: int
    """The likeliest token after the prompt."""
    own_logprobs: Sequence[float] | None
    """None: the cache contained tokens to be scored, and cached tokens are not computed."""
    own_is_top: Sequence[bool]
    n_cached: int = 0
    """Tokens of the prompt that were taken from the cache."""


@dataclass(frozen=True, slots=True)
class WriteAnswer:
    """The answer to a WriteAsk."""

    ids: tuple[int, ...]
    text: str
    """Up to a stop string if one ended it; otherwise it may be empty."""
    is_stopped: bool
    """Whether a stop string ended it."""
    n_cached: int = 0


EngineAsk = ReadAsk | WriteAsk
EngineAnswer = ReadAnswer | WriteAnswer


class AskRejected(Exception):
    """The engine does not accept a request; the message says why."""


class TokenEngine(Protocol):
    """An engine. Computes only in `step`."""

    @property
    def max_sequences(self) -> int:
        """Return how many sequences it computes together."""

    @property
    def shares(self) -> bool:
        """Return whether it caches prefixes."""

    @property
    def reads_own(self) -> bool:
        """Return whether it can score a prompt's own tokens."""

    def add(self, number: int, ask: EngineAsk) -> None:
        """Accept a request under a number; raise AskRejected if it is invalid."""

    def step(self) -> Sequence[tuple[int, EngineAnswer]]:
        """Compute one step for all requests; return the answers that are finished."""

    def drop(self, numbers: Sequence[int]) -> None:
        """Cancel unanswered requests."""

    def close(self) -> None:
        """Release memory and processes."""
