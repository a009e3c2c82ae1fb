"""The tokens that LEAP sums up for a continuation.

The whole text is read at once, but how many of its last tokens are the continuation is counted on the
continuation alone; where all continuations of a task begin with the same token (it may be the mark of the
beginning), that one is not counted. So the window may begin before the join, or behind it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from assay.core.model import Token
from assay.core.request import Ask, Span
from assay.core.response import Likelihood


class OriginalWindow:
    """How many tokens count for each continuation of one task."""

    def __init__(self, tokens: Callable[[Ask], Sequence[Token]], continuations: Iterable[str]) -> None:
        self._tokens = tokens
        alone = {text: self._alone(text) for text in dict.fromkeys(continuations)}
        firsts = {ids[:1] for ids in alone.values()}
        is_shared = len(firsts) == 1
        self._lengths = {text: len(ids) - is_shared for text, ids in alone.items()}
        self.has_tokens = all(alone.values())
        """Whether the model shows how it reads a text."""
        self.is_whole = all(length > 0 for length in self._lengths.values())
        """Whether something of every continuation is counted; the original raises where it is nothing."""

    def widened(self, ask: Span, continuation: str) -> Span:
        """Return an ask that scores at least the tokens of the window."""
        wanted, start = self._lengths[continuation], ask.start
        assert isinstance(ask.prompt, str)
        while start and self._n_scored(ask.prompt, start) < wanted:
            start -= 1
        return Span(ask.prompt, start)

    def total(self, likelihood: Likelihood, continuation: str) -> float:
        """Return the sum over the window."""
        return math.fsum(likelihood.token_logprobs[-self._lengths[continuation] :])

    def _alone(self, text: str) -> tuple[int, ...]:
        # Not led by a special token: the original adds none that the tokenizer does not add.
        return tuple(token.id for token in self._tokens(Span(text, 0, leads=False)))

    def _n_scored(self, text: str, start: int) -> int:
        return sum(token.is_scored for token in self._tokens(Span(text, start)))
