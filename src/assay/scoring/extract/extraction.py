"""The result of an answer search, and the loop that tries named rules in order.

Independent of options and numbers: a rule is a name and a function over the visible reply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import msgspec

from assay.core.score import Attempt

ViewT = TypeVar("ViewT")


class Extraction(msgspec.Struct, frozen=True):
    """The answer found in a reply, and the rule that found it."""

    answer: str | None = None
    """None if the reply contains no single answer."""
    rule: str | None = None
    """The rule that decided. Without an answer: the rule that matched a statement without a single option
    (two answers, or a nonexistent label) and so ended the search."""
    span: tuple[int, int] | None = None
    """Where the rule matched, as offsets into the whole reply."""
    attempts: tuple[Attempt, ...] = ()
    """Every rule tried, in order; filled only with `explain`."""

    def map_spans(self, span: Callable[[int, int], tuple[int, int]]) -> Extraction:
        """Return the same with its offsets mapped to another text: the reply as it was written."""
        found = None if self.span is None else span(*self.span)
        attempts = tuple(
            attempt
            if attempt.start is None or attempt.end is None
            else Attempt(attempt.rule, attempt.found, *span(attempt.start, attempt.end))
            for attempt in self.attempts
        )
        return Extraction(self.answer, self.rule, found, attempts)


class RuleMatch(NamedTuple):
    """The match of one rule. `answer` None: a statement, but not of one answer; stop searching."""

    answer: str | None
    start: int
    end: int


class Rule(NamedTuple, Generic[ViewT]):
    """One named way of finding an answer."""

    name: str
    find: Callable[[ViewT], RuleMatch | None]


def run_rules(view: ViewT, rules: Sequence[Rule[ViewT]], offset: int) -> Extraction:
    """Return the first match; later rules are not run."""
    for name, find in rules:
        found = find(view)
        if found is not None:
            return Extraction(found.answer, name, (found.start + offset, found.end + offset))
    return Extraction()


def run_all_rules(view: ViewT, rules: Sequence[Rule[ViewT]], offset: int) -> Extraction:
    """Return the same as `run_rules`, with every rule tried and recorded."""
    attempts: list[Attempt] = []
    first: Extraction | None = None
    for name, find in rules:
        found = find(view)
        if found is None:
            attempts.append(Attempt(name))
            continue
        span = (found.start + offset, found.end + offset)
        attempts.append(Attempt(name, found.answer, *span))
        if first is None:
            first = Extraction(found.answer, name, span)
    return msgspec.structs.replace(first or Extraction(), attempts=tuple(attempts))
