"""The tokens that LEAP sums up for a continuation.

The whole text is read at once, but how many of its last tokens are the continuation is counted on the
continuation alone; where all continuations of a task begin with the same token (it may be the mark of the
beginning), that one is not counted. So the window may begin before the join, or behind it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from assay.core.errors import PlanError, Problem
from assay.core.model import Token
from assay.core.request import Ask, Generate, Sampling, Span
from assay.core.response import Likelihood


class OriginalWindow:
    """How many tokens count for each continuation of one task."""

    def __init__(self, tokens: Callable[[Ask], Sequence[Token]], continuations: Iterable[str]) -> None:
        self._tokens: Callable[[Ask], Sequence[Token]] | None = tokens
        alone = {text: self._alone(text, tokens) for text in dict.fromkeys(continuations)}
        firsts = {ids[:1] for ids in alone.values()}
        is_shared = len(firsts) == 1
        self._lengths = {text: len(ids) - is_shared for text, ids in alone.items()}
        self.has_tokens = any(alone.values())
        """Whether the model shows how it reads a text."""
        self.is_whole = all(length > 0 for length in self._lengths.values())
        """Whether something of every continuation is counted; the original raises where it is nothing."""

    @classmethod
    def stored(cls, continuations: Iterable[str], recorded: str) -> OriginalWindow | None:
        """Return the window that a run stored; None where it is of other continuations."""
        window = cls(lambda _: (), ())
        distinct = list(dict.fromkeys(continuations))
        lengths = [int(length) for length in recorded.split()]
        if len(distinct) != len(lengths):
            return None
        window._tokens = None
        window._lengths = dict(zip(distinct, lengths, strict=True))
        return window

    @property
    def recorded(self) -> str:
        """Return the number of tokens of each distinct continuation, in their order: what a run stores."""
        return " ".join(map(str, self._lengths.values()))

    def widen_span(self, ask: Span, continuation: str) -> Span:
        """Return an ask that scores at least the tokens of the window."""
        wanted, start = self._lengths[continuation], ask.start
        assert isinstance(ask.prompt, str)
        if self._tokens is None:
            raise PlanError(
                Problem(
                    "LEAP-011",
                    "requests depend on the original's token window, which needs the model's tokenizer",
                    "score the kept answers with `assay score RUN`, or run without --stage score",
                )
            )
        while start and _n_scored(self._tokens, ask.prompt, start) < wanted:
            start -= 1
        return Span(ask.prompt, start)

    def total(self, likelihood: Likelihood, continuation: str) -> float:
        """Return the sum over the window."""
        return math.fsum(likelihood.token_logprobs[-self._lengths[continuation] :])

    @staticmethod
    def _alone(text: str, tokens: Callable[[Ask], Sequence[Token]]) -> tuple[int, ...]:
        # Read as a prompt: as a text to score, a single token would have none before it, and be no token.
        return tuple(token.id for token in tokens(Generate(text, Sampling()))) if text else ()


def _n_scored(tokens: Callable[[Ask], Sequence[Token]], text: str, start: int) -> int:
    return sum(token.is_scored for token in tokens(Span(text, start)))
