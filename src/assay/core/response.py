"""Responses to requests. A failure has its own type and is never a string instead of an answer."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

import msgspec

from assay.core.billing import Bill


class Finish(StrEnum):
    """Why generation ended."""

    END = "end"
    """The model ended its turn."""
    STOP = "stop"
    """A stop string appeared; the text ends before it."""
    LENGTH = "length"
    """`max_tokens` was reached: the answer may be truncated."""
    UNKNOWN = "unknown"
    """The log that the text was imported from does not say."""


class Call(msgspec.Struct, frozen=True):
    """A tool call by the model. It is not executed: the call itself is the answer."""

    name: str
    arguments: str
    """JSON as the model wrote it; it can be invalid or truncated."""


class Output(msgspec.Struct, frozen=True, omit_defaults=True):
    """One generated text."""

    text: str
    finish: Finish
    n_tokens: int
    """0 if the model does not report it; a text has at least one, the token that ended it."""
    reasoning: str | None = None
    """Reasoning that the model returned separately from its answer."""
    turns: tuple[str, ...] = ()
    """With several turns: the answer to each; `text` is the last one."""
    calls: tuple[Call, ...] = ()
    """The tools that the model called. `text` is what it wrote besides them, or else the calls as JSON."""
    n_thinking_tokens: int = 0
    """How many of `n_tokens` belong to the reasoning; 0 if there is none, or their number is not known."""

    @property
    def has_thought(self) -> bool:
        """Return whether the model thought before it answered, as far as is known."""
        return self.n_thinking_tokens > 0 or bool(self.reasoning)

    @property
    def is_cut_in_thought(self) -> bool:
        """Return whether the text was truncated before the answer began."""
        return self.finish is Finish.LENGTH and self.has_thought and not self.text.strip()


class Completion(msgspec.Struct, frozen=True, tag="completion"):
    """The answer to a GENERATE ask."""

    outputs: tuple[Output, ...]
    n_prompt_tokens: int
    """0 if the model does not report it."""


class Likelihood(msgspec.Struct, frozen=True, tag="likelihood", omit_defaults=True):
    """The answer to a SPAN ask; natural logarithms."""

    sum_logprob: float
    n_tokens: int
    """Number of scored tokens; 0 if an imported log does not say."""
    n_chars: int
    n_bytes: int
    """Length of the scored text without leading and trailing white space (with windows: including it)."""
    is_greedy: bool | None
    """Whether every scored token was the model's first choice in the whole vocabulary; None: not known."""
    n_prompt_tokens: int
    """Tokens before the first scored one; with windows, the sum over all windows."""
    token_ids: tuple[int, ...] = ()
    token_logprobs: tuple[float, ...] = ()
    straddles: bool = False
    """Whether the first scored token begins before `start`; the whole token is scored."""
    n_words: int = 0
    """With windows: words in the scored text, each counted where it begins; otherwise 0."""
    token_starts: tuple[int, ...] = ()
    """The start of each scored token: characters (code points) from `start` on, never decreasing, negative
    for a first token that straddles. A token ends where the next begins, and the last at the end of the text.
    Tokens that are parts of one character share its position; if a server only shows it with its last part,
    they share the position of everything this part shows. Empty: not known, or not all tokens from the first
    are scored."""


class LabelProbs(msgspec.Struct, frozen=True, tag="label_probs", omit_defaults=True):
    """The answer to a LABELS ask."""

    probs: tuple[float, ...]
    """The model's probability of each label, not normalised; with `at_most`, the part that was seen."""
    mass: float
    """Their sum: the probability of any label at all."""
    n_prompt_tokens: int
    at_most: tuple[float, ...] = ()
    """Upper bounds, if a model only reports its likeliest tokens; empty: `probs` are exact."""

    @property
    def decided_label(self) -> int | None:
        """Return the most probable label for any values between `probs` and `at_most`; the first of equals.

        None if another label could be it, or if no label was seen.
        """
        if not any(self.probs):
            return None
        best = self.probs.index(max(self.probs))
        if not self.at_most:
            return best
        # The first of two equal labels wins, so one before it must be strictly lower.
        rivals = ((most, -index) for index, most in enumerate(self.at_most) if index != best)
        return None if any(rival > (self.probs[best], -best) for rival in rivals) else best


class Failure(msgspec.Struct, frozen=True, tag="failure", omit_defaults=True):
    """No answer arrived, and why."""

    kind: str
    """Short name of the error: `too_long`, `timeout`, `injected`."""
    message: str
    attempts: int = 1


Outcome: TypeAlias = Completion | Likelihood | LabelProbs | Failure


class Response(msgspec.Struct, frozen=True, omit_defaults=True):
    """The response to one request, stored in the journal."""

    request_id: str
    key: str
    """The hash of the ask: a stored response only counts for exactly the same ask."""
    outcome: Outcome
    seconds: float = 0.0
    """The request's share of the wall time: of its batch, or since the previous response."""
    cached: bool = False
    latency_s: float = 0.0
    """How long a server took, from the first attempt; 0 for a model that works in batches."""
    first_s: float = 0.0
    """Time to its first text, if it was streamed; 0: not known."""
    bill: Bill | None = None
    """What a server reported about all calls of the request; None: it has none."""

    def count_tokens(self) -> Bill:
        """Return the tokens that were read and written: as billed, else those of the answer."""
        if self.cached:
            return Bill(usd=0.0)
        if self.bill is not None:
            return self.bill
        outcome = self.outcome
        if isinstance(outcome, Completion):
            return Bill(outcome.n_prompt_tokens, 0, sum(output.n_tokens for output in outcome.outputs))
        if isinstance(outcome, Likelihood):
            return Bill(outcome.n_prompt_tokens + outcome.n_tokens)
        return Bill() if isinstance(outcome, Failure) else Bill(outcome.n_prompt_tokens, 0, 1)
