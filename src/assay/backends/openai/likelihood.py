"""How likely a part of a prompt is, by what a server says about the prompt's tokens.

The rule is that of `tokenization`: the whole text is sent once, scored are the tokens whose characters end
after the join, and one that straddles it is scored whole. Where characters lie follows from the texts of the
tokens: put together they must end in the text that was sent. Where they do not, as where a token is a part of
a character or a server drops the space in front of a word, the context is sent alone too. Then scoring begins
where both lists of tokens begin to differ.

Pure functions: no sockets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Literal, NamedTuple

from assay.backends.openai.tokens import Tokens, read_echo, read_prompt_logprobs
from assay.core.prompt import Prompt, final_text, find_media, replace_final_text
from assay.core.request import Span
from assay.core.response import Failure, Likelihood

RECUT_TOKENS = 16
"""How many tokens before a join may read otherwise once the text goes on."""
LONGEST_TOKEN = 128
"""Characters. vLLM does not tell the first token; what is missing in front of the others must be its text."""


class LogprobMethod(NamedTuple):
    """How a server is asked for the log-probabilities of a prompt."""

    field: Literal["prompt_logprobs", "echo"]
    n_written: int
    """Tokens that must be written behind the prompt, whether wanted or not."""
    n_lead: int = 0
    """Special tokens that the server puts before a plain text."""

    @property
    def fields(self) -> dict[str, Any]:
        """Return the fields of the body that ask for it."""
        asked: dict[str, Any] = {"max_tokens": self.n_written, "temperature": 0.0}
        if self.field == "prompt_logprobs":
            return {**asked, "prompt_logprobs": 0}
        # The likeliest token beside each, to know whether it was the first choice.
        return {**asked, "echo": True, "logprobs": 1}

    def read(self, document: Any) -> Tokens | Failure:
        """Return the prompt's tokens that a reply tells of."""
        return (
            read_prompt_logprobs(document)
            if self.field == "prompt_logprobs"
            else read_echo(document, self.n_written)
        )


def check_span(ask: Span) -> Failure | None:
    """Return why an ask cannot be sent to any server; None where it can."""
    if ask.windows is not None:
        return Failure("windows", "the server cannot score window by window: it does not show its tokens")
    if find_media(ask.prompt):
        return Failure("media", "the server does not tell which tokens of a prompt with media are text")
    if not isinstance(ask.prompt, str) and ask.prompt[-1].role != "assistant":
        return Failure("template", "a span in a conversation needs a final assistant message to score")
    if not final_text(ask.prompt)[ask.start :]:
        return Failure("empty", f"there is nothing to score from character {ask.start} on")
    return None


def build_span_context(ask: Span) -> Prompt | None:
    """Return what stands before the scored text, as a prompt; None where that is nothing."""
    if ask.start > 0:
        return replace_final_text(ask.prompt, final_text(ask.prompt)[: ask.start])
    return None if isinstance(ask.prompt, str) else ask.prompt[:-1]


def score_by_texts(ask: Span, tokens: Tokens, n_lead: int) -> Likelihood | Failure | None:
    """Return the likelihood by the tokens' texts; None where they do not show where the scored ones begin.

    `n_lead`: special tokens that the server puts before a plain text.
    """
    own = _own_texts(ask, tokens, n_lead)
    if isinstance(ask.prompt, str) and ask.start == 0:
        return _likelihood(ask, tokens, n_lead, straddles=False, texts=own or ())
    if own is None:
        return None
    n_before = len(tokens.texts) - len(own)
    wanted = len(final_text(ask.prompt)) - ask.start
    first = next((at for at, n in enumerate(_count_chars_after(own)) if n < wanted), len(own))
    begins = len("".join(own[first:]))
    if begins > wanted and own[first] == "":
        return None  # Which of the tokens of these characters reach over the join cannot be seen.
    # A space behind a first token that is not told may be one that the server drops before a word.
    is_sure = tokens.texts[n_before] is not None or not own[0].endswith(" ")
    return _likelihood(ask, tokens, n_before + first, straddles=begins > wanted, texts=own if is_sure else ())


def _own_texts(ask: Span, tokens: Tokens, n_lead: int) -> list[str] | None:
    """Return the texts of the tokens but the leading ones; None where they are not those of the prompt."""
    text, is_plain = final_text(ask.prompt), isinstance(ask.prompt, str)
    # What a template writes in front of a conversation is known to the server alone.
    own = list(tokens.texts[n_lead if is_plain else 1 :])
    if is_plain and own and own[0] is None:
        # vLLM does not tell its first token: it is what the others leave over.
        missing = len(text) - sum(len(one or "") for one in own)
        if not 0 <= missing <= LONGEST_TOKEN:
            return None
        own[0] = text[:missing]
    told = [one for one in own if one is not None]
    joined = "".join(told)
    is_all = joined == text if is_plain else joined.endswith(text)
    return told if is_all and len(told) == len(own) else None


def _count_chars_after(texts: Sequence[str]) -> list[int]:
    """Return how many characters follow each token.

    A token that ends within a character has no text: the one that ends the character shows all of it. They
    end together here, which is right as long as the join does not lie within what that one shows.
    """
    left: list[int] = []
    n_after = end = 0
    for text in reversed(texts):
        if text:
            end = n_after
        left.append(end)
        n_after += len(text)
    return left[::-1]


def score_by_context(ask: Span, tokens: Tokens, context: Tokens) -> Likelihood | Failure:
    """Return the likelihood of all tokens that the context alone does not have."""
    n = 0
    for one, other in zip(_names(tokens), _names(context), strict=False):
        if not _is_same(one, other):
            break
        n += 1
    n_context = len(context.logprobs)
    if n < n_context - RECUT_TOKENS:
        return Failure(
            "unequal", f"more than {RECUT_TOKENS} tokens before the join are others without what follows"
        )
    return _likelihood(ask, tokens, n, straddles=n < n_context)


def _names(tokens: Tokens) -> list[tuple[object, float | None]]:
    """Return what tells tokens apart: their ids, else their texts and their numbers."""
    if tokens.ids:
        return [(id_, None) for id_ in tokens.ids]
    return list(zip(tokens.texts, tokens.logprobs, strict=True))


def _is_same(one: tuple[object, float | None], other: tuple[object, float | None]) -> bool:
    if one[0] != other[0] or (one[1] is None) != (other[1] is None):
        return False
    # Wide, since half precision differs with the batch: the texts agree already.
    return one[1] is None or other[1] is None or math.isclose(one[1], other[1], rel_tol=0.02, abs_tol=0.05)


def _likelihood(
    ask: Span, tokens: Tokens, first: int, *, straddles: bool, texts: Sequence[str] = ()
) -> Likelihood | Failure:
    """Return the likelihood of the tokens from `first` on; `texts` end with theirs, where they are known."""
    if first == 0:
        if ask.leads or len(tokens.logprobs) == 1:
            why = "the server puts no special token before a text, so the first token has no likelihood"
            return Failure("unscored", why)
        first = 1
    scored = [min(logprob, 0.0) for logprob in tokens.logprobs[first:] if logprob is not None]
    if not scored:
        return Failure("empty", "there is nothing to score: no token lies after the join")
    asked = final_text(ask.prompt)[ask.start :]
    counted = asked.strip()
    return Likelihood(
        sum_logprob=math.fsum(scored),
        n_tokens=len(scored),
        n_chars=len(counted),
        n_bytes=len(counted.encode("utf-8", "surrogatepass")),
        is_greedy=_are_all_true(tokens.is_top[first:]),
        n_prompt_tokens=first,
        token_ids=tuple(id_ for id_ in tokens.ids[first:] if id_ is not None),
        token_logprobs=tuple(scored),
        straddles=straddles,
        token_starts=_starts(texts[-len(scored) :], len(asked)),
    )


def _starts(texts: Sequence[str], n_chars: int) -> tuple[int, ...]:
    """Return where tokens begin whose texts put together end with `n_chars` characters.

    A token that ends within a character has no text: it begins where the one begins that shows it.
    """
    ends = accumulate(len(text) for text in reversed(texts))
    return tuple(n_chars - n_left for n_left in ends)[::-1]


def _are_all_true(flags: Sequence[bool | None]) -> bool | None:
    """Whether all are true; None where none is false and one is not known."""
    if False in flags:
        return False
    return None if None in flags else True
