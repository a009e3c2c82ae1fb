"""The likelihood of a part of a prompt, computed from a server's log-probabilities of the prompt's tokens.

The rule is that of `local.tokenization`: send the whole text once and score the tokens whose characters end
after the prompt/answer boundary. A token that straddles the boundary is scored whole. The texts of the tokens
show the position of each token: joined, they must end in the text that was sent. They do not if a token is a
part of a character, or if a server drops the space before a word. Then the context is sent alone as well, and
scoring begins at the first token that differs between the two.

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
"""How many tokens before the boundary may change when text follows."""
LONGEST_TOKEN = 128
"""Characters. vLLM does not report its first token: its text is what is missing before the others."""


class LogprobMethod(NamedTuple):
    """A way to request the log-probabilities of a prompt."""

    field: Literal["prompt_logprobs", "echo"]
    n_written: int
    """Tokens that the server must generate after the prompt; they are not used."""
    n_lead: int = 0
    """Special tokens that the server adds before a plain text."""

    @property
    def fields(self) -> dict[str, Any]:
        """Return the fields of the body that request them."""
        common: dict[str, Any] = {"max_tokens": self.n_written, "temperature": 0.0}
        if self.field == "prompt_logprobs":
            return {**common, "prompt_logprobs": 0}
        # The likeliest token at each position shows whether a token was the first choice.
        return {**common, "echo": True, "logprobs": 1}

    def read(self, document: Any) -> Tokens | Failure:
        """Return the prompt's tokens in a reply."""
        return (
            read_prompt_logprobs(document)
            if self.field == "prompt_logprobs"
            else read_echo(document, self.n_written)
        )


def check_span(ask: Span) -> Failure | None:
    """Return why no server can score a span; None if it can be sent."""
    if ask.windows is not None:
        return Failure("windows", "the server cannot score windows: it does not report its tokens")
    if find_media(ask.prompt):
        return Failure("media", "the server does not report which tokens of a prompt with media are text")
    if not isinstance(ask.prompt, str) and ask.prompt[-1].role != "assistant":
        return Failure("template", "scoring in a conversation needs a final assistant message")
    if not final_text(ask.prompt)[ask.start :]:
        return Failure("empty", f"there is nothing to score from character {ask.start} on")
    return None


def build_span_context(ask: Span) -> Prompt | None:
    """Return the text before the scored text, as a prompt; None if there is none."""
    if ask.start > 0:
        return replace_final_text(ask.prompt, final_text(ask.prompt)[: ask.start])
    return None if isinstance(ask.prompt, str) else ask.prompt[:-1]


def score_by_texts(ask: Span, tokens: Tokens, n_lead: int) -> Likelihood | Failure | None:
    """Return the likelihood by the tokens' texts; None if they do not show where the scored tokens begin.

    `n_lead`: special tokens that the server adds before a plain text.
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
        return None  # It is unclear which tokens of these characters reach across the boundary.
    # A space after an unreported first token may be one that the server drops before a word.
    is_sure = tokens.texts[n_before] is not None or not own[0].endswith(" ")
    return _likelihood(ask, tokens, n_before + first, straddles=begins > wanted, texts=own if is_sure else ())


def _own_texts(ask: Span, tokens: Tokens, n_lead: int) -> list[str] | None:
    """Return the texts of the tokens without the leading ones; None if they do not match the prompt."""
    text, is_plain = final_text(ask.prompt), isinstance(ask.prompt, str)
    # Only the server knows what a template writes before a conversation.
    own = list(tokens.texts[n_lead if is_plain else 1 :])
    if is_plain and own and own[0] is None:
        # vLLM does not report its first token: it is the part of the text that the others do not cover.
        missing = len(text) - sum(len(token or "") for token in own)
        if not 0 <= missing <= LONGEST_TOKEN:
            return None
        own[0] = text[:missing]
    reported = [token for token in own if token is not None]
    joined = "".join(reported)
    is_all = joined == text if is_plain else joined.endswith(text)
    return reported if is_all and len(reported) == len(own) else None


def _count_chars_after(texts: Sequence[str]) -> list[int]:
    """Return how many characters follow each token.

    A token that ends inside a character has no text: the token that completes the character shows all of it.
    Here both end together, which is correct unless the boundary is inside the text of the second.
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
    """Return the likelihood of all tokens that differ from those of the context alone."""
    n = 0
    for one, other in zip(_names(tokens), _names(context), strict=False):
        if not _is_same(one, other):
            break
        n += 1
    n_context = len(context.logprobs)
    if n < n_context - RECUT_TOKENS:
        return Failure(
            "unequal", f"more than {RECUT_TOKENS} tokens before the answer change when the answer is removed"
        )
    return _likelihood(ask, tokens, n, straddles=n < n_context)


def _names(tokens: Tokens) -> list[tuple[object, float | None]]:
    """Return what identifies tokens: their ids, or their texts and log-probabilities."""
    if tokens.ids:
        return [(id_, None) for id_ in tokens.ids]
    return list(zip(tokens.texts, tokens.logprobs, strict=True))


def _is_same(one: tuple[object, float | None], other: tuple[object, float | None]) -> bool:
    if one[0] != other[0] or (one[1] is None) != (other[1] is None):
        return False
    # Wide tolerance: half precision varies with the batch, and the texts already agree.
    return one[1] is None or other[1] is None or math.isclose(one[1], other[1], rel_tol=0.02, abs_tol=0.05)


def _likelihood(
    ask: Span, tokens: Tokens, first: int, *, straddles: bool, texts: Sequence[str] = ()
) -> Likelihood | Failure:
    """Return the likelihood of the tokens from `first` on; `texts` end with theirs if they are known."""
    if first == 0:
        if ask.scores_first_token or len(tokens.logprobs) == 1:
            why = "the server adds no special token before a text, so the first token has no likelihood"
            return Failure("unscored", why)
        first = 1
    scored = [min(logprob, 0.0) for logprob in tokens.logprobs[first:] if logprob is not None]
    if not scored:
        return Failure("empty", "there is nothing to score: no token is after the prompt/answer boundary")
    answer = final_text(ask.prompt)[ask.start :]
    counted = answer.strip()
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
        token_starts=_starts(texts[-len(scored) :], len(answer)),
    )


def _starts(texts: Sequence[str], n_chars: int) -> tuple[int, ...]:
    """Return the starts of tokens whose joined texts end with `n_chars` characters.

    A token that ends inside a character has no text: it begins where the token that shows the character does.
    """
    ends = accumulate(len(text) for text in reversed(texts))
    return tuple(n_chars - n_left for n_left in ends)[::-1]


def _are_all_true(flags: Sequence[bool | None]) -> bool | None:
    """Return whether all flags are true; None if no flag is false and one is unknown."""
    if False in flags:
        return False
    return None if None in flags else True
