"""What came back for a request. A failure is a type of its own, never a string in an answer's place."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

import msgspec


class Finish(StrEnum):
    """Why generation ended."""

    END = "end"
    """The model ended its turn."""
    STOP = "stop"
    """A stop string appeared; the text is cut before it."""
    LENGTH = "length"
    """`max_tokens` ran out: the answer may be truncated."""


class Call(msgspec.Struct, frozen=True):
    """A call of a tool that the model was offered. Nobody makes it: that it was asked for is the answer."""

    name: str
    arguments: str
    """JSON, as the model wrote it; it may be wrong, or cut off."""


class Output(msgspec.Struct, frozen=True, omit_defaults=True):
    """One generated text."""

    text: str
    finish: Finish
    n_tokens: int
    """0 when the model does not say; a written text has at least one, the token that ended it."""
    reasoning: str | None = None
    """Thought that the model kept apart from its answer."""
    turns: tuple[str, ...] = ()
    """With several turns: the answer to each of them; `text` is the last."""
    calls: tuple[Call, ...] = ()
    """The tools that the model called. `text` is what it said beside them, else the calls as JSON."""


class Completion(msgspec.Struct, frozen=True, tag="completion"):
    """The answer to a GENERATE ask."""

    outputs: tuple[Output, ...]
    n_prompt_tokens: int
    """0 when the model does not say."""


class Likelihood(msgspec.Struct, frozen=True, tag="likelihood", omit_defaults=True):
    """The answer to a SPAN ask; natural logarithms."""

    sum_logprob: float
    n_tokens: int
    """Scored tokens."""
    n_chars: int
    n_bytes: int
    """Length of the scored text, leading and trailing white space left out (with windows: counted too)."""
    is_greedy: bool | None
    """Whether every scored token was the model's first choice over the whole vocabulary; None: not known."""
    n_prompt_tokens: int
    """Tokens before the first scored one; with windows, those of every window together."""
    token_ids: tuple[int, ...] = ()
    token_logprobs: tuple[float, ...] = ()
    straddles: bool = False
    """Whether the first scored token begins before `start`; it is scored whole."""
    n_words: int = 0
    """With windows: words of the scored text, each counted where it begins; 0 without."""
    token_starts: tuple[int, ...] = ()
    """Where each scored token begins: characters (code points) from `start` on, never falling, below 0 for a
    first token that straddles. A token ends where the next begins, the last with the text. Tokens that are
    parts of one character share its place; where a server shows it with its last part alone, they share the
    place of all that this part shows. Empty: not known, or not all the tokens from the first on are scored.
    """


class LabelProbs(msgspec.Struct, frozen=True, tag="label_probs", omit_defaults=True):
    """The answer to a LABELS ask."""

    probs: tuple[float, ...]
    """The probability the model gave to each label, not normalised; with `at_most`, what was seen of it."""
    mass: float
    """Their sum: how much of the model's belief fell on any label at all."""
    n_prompt_tokens: int
    at_most: tuple[float, ...] = ()
    """Upper bounds, where a model shows its likeliest tokens alone; empty: `probs` are exact."""

    @property
    def decided_label(self) -> int | None:
        """Return the most probable label, whatever lies between `probs` and `at_most`; the first of equals.

        None where another may be it, and where nothing was seen of any.
        """
        if not any(self.probs):
            return None
        best = max(range(len(self.probs)), key=lambda index: self.probs[index])
        # Of two that are equal the first is the best, so one before it must stay below.
        rivals = ((most, -index) for index, most in enumerate(self.at_most) if index != best)
        return None if any(rival > (self.probs[best], -best) for rival in rivals) else best


class Failure(msgspec.Struct, frozen=True, tag="failure", omit_defaults=True):
    """No answer came, and why."""

    kind: str
    """Short name of the trouble: `too_long`, `timeout`, `injected`."""
    message: str
    attempts: int = 1


Outcome: TypeAlias = Completion | Likelihood | LabelProbs | Failure


class Response(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came back for one request, stored in the journal."""

    request_id: str
    key: str
    """The ask's hash: a stored response counts only for exactly the same ask."""
    outcome: Outcome
    seconds: float = 0.0
    """The request's share of the wall time: of the batch it was in, or since the response before it."""
    cached: bool = False
    latency_s: float = 0.0
    """How long a server took over it, from the first attempt on; 0 where a model works in batches."""
    first_s: float = 0.0
    """How long its first text took, where it came as a stream; 0: not known."""
