"""Log-probabilities of prompt tokens and next tokens, read from the forms in which servers send them.

    prompt_logprobs   vLLM: {id: {logprob, rank, decoded_token}} for each token of the prompt except the first
    echo              OpenAI's first API: the prompt, with `tokens`, `token_logprobs` and `top_logprobs`
    top lists         the likeliest next tokens, as {token: logprob}, or as [{token, logprob, bytes}]

A reply in another form, or with impossible numbers, becomes a `Failure` and never a number. Pure functions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from assay.core.response import Failure

WRONG = "wrong_logprobs"
HALF = "\ufffd"
"""Replaces bytes in a token's text that are not a complete character."""
_ROUNDING = 1e-6
"""How far above 0 the log-probability of a certain token may be, because of rounding."""
_INFINITE = -9999.0
"""The value that servers send for minus infinity, which JSON does not have."""


class Tokens(NamedTuple):
    """The tokens of a prompt, in order."""

    texts: tuple[str | None, ...]
    """None: not reported, as for vLLM's first token."""
    logprobs: tuple[float | None, ...]
    """None: the token is the first one, so it has no context."""
    is_top: tuple[bool | None, ...]
    """Whether a token was the model's first choice; None: not reported."""
    ids: tuple[int | None, ...] = ()
    """Empty: the protocol does not report ids."""


class NextToken(NamedTuple):
    """One of the likeliest next tokens."""

    text: str
    prob: float
    content: bytes | None = None
    """Its bytes, if the server reports them."""


# --- forms of replies ---


class _ScoredToken(msgspec.Struct):
    logprob: float | None = None
    rank: int | None = None
    decoded_token: str | None = None


class _ListedToken(msgspec.Struct):
    token: str
    logprob: float | None = None
    bytes: list[int] | None = None


class _Place(msgspec.Struct):
    top_logprobs: list[_ListedToken] | None = None


class _Logprobs(msgspec.Struct):
    tokens: list[str] | None = None
    token_logprobs: list[float | None] | None = None
    top_logprobs: list[dict[str, float | None] | None] | None = None
    content: list[_Place] | None = None


_PromptLogprobs = list[dict[str, _ScoredToken] | None]


class _Choice(msgspec.Struct):
    logprobs: _Logprobs | None = None
    prompt_logprobs: _PromptLogprobs | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None


class _Reply(msgspec.Struct):
    choices: list[_Choice] = []
    usage: _Usage | None = None
    prompt_logprobs: _PromptLogprobs | None = None
    """Chats have it here, completions have it in the choice."""
    error: Any = None


class _TokenizeReply(msgspec.Struct):
    tokens: list[int]


def _reply(document: Any) -> tuple[_Reply, _Choice] | Failure:
    try:
        reply = msgspec.convert(document, _Reply)
    except msgspec.ValidationError as trouble:
        return make_wrong_reply(f"the reply does not follow the protocol: {trouble}")
    if reply.error is not None:
        return make_wrong_reply(f"the server says: {reply.error}")
    return (
        (reply, reply.choices[0])
        if len(reply.choices) == 1
        else make_wrong_reply(f"the reply contains {len(reply.choices)} choices instead of one")
    )


def make_wrong_reply(why: str) -> Failure:
    """Return the failure of a reply that cannot be scored."""
    return Failure(WRONG, why)


# --- the tokens of a prompt ---


def read_prompt_logprobs(document: Any) -> Tokens | Failure:
    """Read a reply to `prompt_logprobs: 0`, which reports each token of the prompt without alternatives."""
    parsed = _reply(document)
    if isinstance(parsed, Failure):
        return parsed
    reply, choice = parsed
    places = choice.prompt_logprobs if choice.prompt_logprobs is not None else reply.prompt_logprobs
    if places is None:
        return make_wrong_reply("the reply contains no prompt_logprobs")
    ids: list[int | None] = []
    scored: list[_ScoredToken | None] = []
    for place in places:
        if place is None:
            ids.append(None)
            scored.append(None)
            continue
        if len(place) != 1 or not (name := next(iter(place))).isdecimal():
            return make_wrong_reply(
                f"a token of the prompt has {len(place)} entries, or an entry without a token id"
            )
        ids.append(int(name))
        scored.append(place[name])
    tokens = Tokens(
        tuple(None if token is None else token.decoded_token for token in scored),
        tuple(None if token is None else token.logprob for token in scored),
        tuple(None if token is None or token.rank is None else token.rank == 1 for token in scored),
        tuple(ids),
    )
    return _check_tokens(tokens, reply.usage, n_written=0)


def read_echo(document: Any, n_written: int) -> Tokens | Failure:
    """Read a reply to `echo`, with up to `n_written` generated tokens after the prompt."""
    parsed = _reply(document)
    if isinstance(parsed, Failure):
        return parsed
    reply, choice = parsed
    logprobs = choice.logprobs
    if logprobs is None or logprobs.tokens is None or logprobs.token_logprobs is None:
        return make_wrong_reply("the reply does not repeat the prompt with its log-probabilities")
    if len(logprobs.tokens) != len(logprobs.token_logprobs):
        return make_wrong_reply(
            f"{len(logprobs.token_logprobs)} log-probabilities for {len(logprobs.tokens)} tokens"
        )
    tops = logprobs.top_logprobs or [None] * len(logprobs.tokens)
    if len(tops) != len(logprobs.tokens):
        return make_wrong_reply(f"{len(tops)} lists of top_logprobs for {len(logprobs.tokens)} tokens")
    is_top = tuple(_is_first_choice(token, top) for token, top in zip(logprobs.tokens, tops, strict=True))
    tokens = Tokens(tuple(logprobs.tokens), tuple(logprobs.token_logprobs), is_top)
    return _check_tokens(tokens, reply.usage, n_written=n_written)


def _is_first_choice(token: str, top: Mapping[str, float | None] | None) -> bool | None:
    """Return whether a token is the first choice, by its name: log-probabilities of two can be equal."""
    known = {name: value for name, value in (top or {}).items() if value is not None}
    if not known or HALF in token:
        return None
    return max(known, key=lambda name: known[name]) == token


def _check_tokens(tokens: Tokens, usage: _Usage | None, *, n_written: int) -> Tokens | Failure:
    """Return only the prompt's tokens, or what is wrong with their number or their log-probabilities."""
    n = len(tokens.logprobs)
    end = usage.prompt_tokens if usage is not None else None
    if end is None:
        if n_written:
            return make_wrong_reply(
                "the server does not report the number of prompt tokens, so their end is unknown"
            )
        end = n
    # An end-of-text token is generated but not always reported: then there is one token fewer.
    if n not in range(end, end + n_written + 1):
        return make_wrong_reply(f"{n} log-probabilities for {end} prompt tokens and {n_written} generated")
    if end < 1:
        return make_wrong_reply("the reply contains no token of the prompt")
    for at, logprob in enumerate(tokens.logprobs[:end]):
        if logprob is None and at == 0:
            continue
        if (trouble := find_logprob_problem(logprob)) is not None:
            return make_wrong_reply(f"token {at + 1} of the prompt: {trouble}")
    return Tokens(tokens.texts[:end], tokens.logprobs[:end], tokens.is_top[:end], tokens.ids[:end])


def find_logprob_problem(logprob: float | None) -> str | None:
    """Return what is wrong with a log-probability; None if it is valid."""
    if logprob is None:
        return "its log-probability is missing"
    if not math.isfinite(logprob) or logprob <= _INFINITE:
        return f"its log-probability is {logprob}, which is not a finite number"
    return f"its log-probability is {logprob}, above 0" if logprob > _ROUNDING else None


# --- the next token ---


def read_next_tokens(document: Any) -> list[NextToken] | Failure:
    """Read the likeliest next tokens, the likeliest first."""
    parsed = _reply(document)
    if isinstance(parsed, Failure):
        return parsed
    logprobs = parsed[1].logprobs
    if logprobs is None:
        return make_wrong_reply(
            "the reply contains no logprobs; this happens if the next token is a part of a character"
        )
    listed: Iterable[tuple[str, float | None, Sequence[int] | None]]
    if logprobs.content:
        listed = (
            (token.token, token.logprob, token.bytes) for token in logprobs.content[0].top_logprobs or ()
        )
    elif logprobs.top_logprobs and logprobs.top_logprobs[0]:
        listed = ((token, logprob, None) for token, logprob in logprobs.top_logprobs[0].items())
    else:
        return make_wrong_reply("the reply contains no list of the likeliest tokens")
    next_tokens: list[NextToken] = []
    for token, logprob, content in listed:
        if logprob is not None and logprob <= _INFINITE:
            continue  # Servers pad lists with such entries. They say nothing about the tokens not listed.
        if (trouble := find_logprob_problem(logprob)) is not None:
            return make_wrong_reply(f"next token {token!r}: {trouble}")
        assert logprob is not None
        next_tokens.append(NextToken(token, math.exp(min(logprob, 0.0)), _content(token, content)))
    return sorted(next_tokens, key=lambda token: -token.prob)


def _content(text: str, numbers: Sequence[int] | None) -> bytes | None:
    """Return a token's bytes; None if they are not reported, or only encode the replacement character."""
    if numbers is None or not all(0 <= number < 256 for number in numbers):
        return None
    content = bytes(numbers)
    return None if HALF in text and content == text.encode("utf-8", "surrogatepass") else content


def read_token_ids(document: Any) -> tuple[int, ...] | Failure:
    """Read a reply of /tokenize."""
    try:
        return tuple(msgspec.convert(document, _TokenizeReply).tokens)
    except msgspec.ValidationError as trouble:
        return make_wrong_reply(f"the reply of /tokenize does not follow the protocol: {trouble}")
