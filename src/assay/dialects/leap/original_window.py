"""The tokens that LEAP sums for a continuation.

The whole text is tokenized at once, but the number of last tokens that belong to the continuation is counted
on the continuation alone. If all continuations of a task begin with the same token (possibly the
beginning-of-text token), that token is not counted. So the window can begin before or after the prompt/answer
token boundary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from assay.core.errors import PlanError, Problem
from assay.core.model import Token
from assay.core.request import Ask, Generate, Sampling, Span
from assay.core.response import Likelihood


class OriginalWindow:
    """The number of tokens that count for each continuation of one task."""

    def __init__(self, tokens: Callable[[Ask], Sequence[Token]], continuations: Iterable[str]) -> None:
        self._tokens: Callable[[Ask], Sequence[Token]] | None = tokens
        alone = {text: self._count_tokens(text, tokens) for text in dict.fromkeys(continuations)}
        firsts = {ids[:1] for ids in alone.values()}
        is_shared = len(firsts) == 1
        self._lengths = {text: len(ids) - is_shared for text, ids in alone.items()}
        self.has_tokens = any(alone.values())
        """Whether the model reports its tokens."""
        self.is_whole = all(length > 0 for length in self._lengths.values())
        """Whether every continuation has at least one counted token; otherwise the original raises."""

    @classmethod
    def from_record(cls, continuations: Iterable[str], recorded: str) -> OriginalWindow | None:
        """Return the window stored by a run; None if it has other continuations."""
        window = cls(lambda _: (), ())
        distinct = list(dict.fromkeys(continuations))
        lengths = [int(length) for length in recorded.split()]
        if len(distinct) != len(lengths):
            return None
        window._tokens = None
        window._lengths = dict(zip(distinct, lengths, strict=True))
        return window

    @property
    def to_record(self) -> str:
        """Return the number of tokens of each distinct continuation, in order: what a run stores."""
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
                    "score the stored answers with `assay score RUN`, or run without --stage score",
                )
            )
        while start and _n_scored(self._tokens, ask.prompt, start) < wanted:
            start -= 1
        return Span(ask.prompt, start)

    def total(self, likelihood: Likelihood, continuation: str) -> float:
        """Return the sum over the window."""
        return math.fsum(likelihood.token_logprobs[-self._lengths[continuation] :])

    @staticmethod
    def _count_tokens(text: str, tokens: Callable[[Ask], Sequence[Token]]) -> tuple[int, ...]:
        # Tokenized as a prompt: a single token of a scored text would have no context and not count.
        return tuple(token.id for token in tokens(Generate(text, Sampling()))) if text else ()


def _n_scored(tokens: Callable[[Ask], Sequence[Token]], text: str, start: int) -> int:
    return sum(token.is_scored for token in tokens(Span(text, start)))
