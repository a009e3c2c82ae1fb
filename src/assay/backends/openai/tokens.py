"""What a server says about the tokens of a prompt and of the next place: its two protocols, read into one.

    prompt_logprobs   vLLM's: {id: {logprob, rank, decoded_token}} for each token of the prompt but the first
    echo              OpenAI's first: the prompt comes back with `tokens`, `token_logprobs` and `top_logprobs`
    top lists         the likeliest next tokens, as {token: logprob}, or as [{token, logprob, bytes}]

A reply that is none of these, or whose numbers cannot be, is a `Failure` and never a number. Pure functions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from assay.core.response import Failure

WRONG = "wrong_logprobs"
HALF = "\ufffd"
"""Stands in a token's text for bytes that are no whole character."""
_ROUNDING = 1e-6
"""How far above 0 a log-probability may lie that is one of a sure token."""
_INFINITE = -9999.0
"""What servers write for minus infinity, which JSON does not have."""


class Tokens(NamedTuple):
    """The tokens of a prompt, in order."""

    texts: tuple[str | None, ...]
    """None: not told, as of vLLM's first token."""
    logprobs: tuple[float | None, ...]
    """None: nothing stands before the token."""
    is_top: tuple[bool | None, ...]
    """Whether a token was the model's first choice; None: not told."""
    ids: tuple[int | None, ...] = ()
    """Empty: the protocol does not tell them."""


class NextToken(NamedTuple):
    """One of the likeliest next tokens."""

    text: str
    prob: float
    content: bytes | None = None
    """Its bytes, where the server tells them."""


# --- the forms of replies ---


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
    """Chats have it here, completions in the choice."""
    error: Any = None


class _TokenizeReply(msgspec.Struct):
    tokens: list[int]


def _reply(document: Any) -> tuple[_Reply, _Choice] | Failure:
    try:
        reply = msgspec.convert(document, _Reply)
    except msgspec.ValidationError as trouble:
        return make_wrong_reply(f"the reply is not what the protocol says: {trouble}")
    if reply.error is not None:
        return make_wrong_reply(f"the server says: {reply.error}")
    return (
        (reply, reply.choices[0])
        if len(reply.choices) == 1
        else make_wrong_reply("the reply holds no single choice")
    )


def make_wrong_reply(why: str) -> Failure:
    """Return the failure of a reply that cannot be scored."""
    return Failure(WRONG, why)


# --- the tokens of a prompt ---


def read_prompt_logprobs(document: Any) -> Tokens | Failure:
    """Read a reply that was asked for with `prompt_logprobs: 0`: the token that is there, and no other."""
    found = _reply(document)
    if isinstance(found, Failure):
        return found
    reply, choice = found
    places = choice.prompt_logprobs if choice.prompt_logprobs is not None else reply.prompt_logprobs
    if places is None:
        return make_wrong_reply("the reply holds no prompt_logprobs")
    ids: list[int | None] = []
    scored: list[_ScoredToken | None] = []
    for place in places:
        if place is None:
            ids.append(None)
            scored.append(None)
            continue
        if len(place) != 1 or not (name := next(iter(place))).isdecimal():
            return make_wrong_reply(
                f"a token of the prompt has {len(place)} numbers, or no id: one was asked for"
            )
        ids.append(int(name))
        scored.append(place[name])
    tokens = Tokens(
        tuple(None if one is None else one.decoded_token for one in scored),
        tuple(None if one is None else one.logprob for one in scored),
        tuple(None if one is None or one.rank is None else one.rank == 1 for one in scored),
        tuple(ids),
    )
    return _check_tokens(tokens, reply.usage, n_written=0)


def read_echo(document: Any, n_written: int) -> Tokens | Failure:
    """Read a reply that was asked for with `echo`, and with so many tokens behind the prompt."""
    found = _reply(document)
    if isinstance(found, Failure):
        return found
    reply, choice = found
    said = choice.logprobs
    if said is None or said.tokens is None or said.token_logprobs is None:
        return make_wrong_reply("the reply does not repeat the prompt with its log-probabilities")
    if len(said.tokens) != len(said.token_logprobs):
        return make_wrong_reply(f"{len(said.token_logprobs)} log-probabilities for {len(said.tokens)} tokens")
    tops = said.top_logprobs or [None] * len(said.tokens)
    if len(tops) != len(said.tokens):
        return make_wrong_reply(f"{len(tops)} lists of top_logprobs for {len(said.tokens)} tokens")
    is_top = tuple(_is_first_choice(token, top) for token, top in zip(said.tokens, tops, strict=True))
    tokens = Tokens(tuple(said.tokens), tuple(said.token_logprobs), is_top)
    return _check_tokens(tokens, reply.usage, n_written=n_written)


def _is_first_choice(token: str, top: Mapping[str, float | None] | None) -> bool | None:
    """Whether a token is the first choice, by its name: numbers of two tokens may be equal."""
    known = {name: value for name, value in (top or {}).items() if value is not None}
    if not known or HALF in token:
        return None
    return max(known, key=lambda name: known[name]) == token


def _check_tokens(tokens: Tokens, usage: _Usage | None, *, n_written: int) -> Tokens | Failure:
    """Return the prompt's tokens alone, or what is wrong with their number or their numbers."""
    n = len(tokens.logprobs)
    end = usage.prompt_tokens if usage is not None else None
    if end is None:
        if n_written:
            return make_wrong_reply(
                "the server does not count the prompt's tokens, so where they end is not known"
            )
        end = n
    # What ends a text is written but not always shown: then there is one fewer than was asked for.
    if n not in range(end, end + n_written + 1):
        return make_wrong_reply(f"{n} log-probabilities for a prompt of {end} tokens and {n_written} written")
    if end < 1:
        return make_wrong_reply("the reply holds no token of the prompt")
    for at, logprob in enumerate(tokens.logprobs[:end]):
        if logprob is None and at == 0:
            continue
        if (trouble := find_logprob_problem(logprob)) is not None:
            return make_wrong_reply(f"token {at + 1} of the prompt: {trouble}")
    return Tokens(tokens.texts[:end], tokens.logprobs[:end], tokens.is_top[:end], tokens.ids[:end])


def find_logprob_problem(logprob: float | None) -> str | None:
    """Return what is wrong with a number; None where nothing is."""
    if logprob is None:
        return "its log-probability is missing"
    if not math.isfinite(logprob) or logprob <= _INFINITE:
        return f"its log-probability is {logprob}, which is no finite number"
    return f"its log-probability is {logprob}, above 0" if logprob > _ROUNDING else None


# --- the next token ---


def read_next_tokens(document: Any) -> list[NextToken] | Failure:
    """Read the likeliest next tokens, the likeliest first."""
    found = _reply(document)
    if isinstance(found, Failure):
        return found
    said = found[1].logprobs
    if said is None:
        return make_wrong_reply(
            "the reply holds no logprobs, as where the next token is a part of a character"
        )
    listed: Iterable[tuple[str, float | None, Sequence[int] | None]]
    if said.content:
        listed = ((one.token, one.logprob, one.bytes) for one in said.content[0].top_logprobs or ())
    elif said.top_logprobs and said.top_logprobs[0]:
        listed = ((token, logprob, None) for token, logprob in said.top_logprobs[0].items())
    else:
        return make_wrong_reply("the reply holds no list of the likeliest tokens")
    made: list[NextToken] = []
    for token, logprob, content in listed:
        if logprob is not None and logprob <= _INFINITE:
            continue  # Servers fill up lists with such: it says nothing of the tokens that are not told.
        if (trouble := find_logprob_problem(logprob)) is not None:
            return make_wrong_reply(f"next token {token!r}: {trouble}")
        assert logprob is not None
        made.append(NextToken(token, math.exp(min(logprob, 0.0)), _content(token, content)))
    return sorted(made, key=lambda one: -one.prob)


def _content(text: str, numbers: Sequence[int] | None) -> bytes | None:
    """Return a token's bytes; None where they are not told, or are those of the mark that stands for them."""
    if numbers is None or not all(0 <= number < 256 for number in numbers):
        return None
    content = bytes(numbers)
    return None if HALF in text and content == text.encode("utf-8", "surrogatepass") else content


def read_token_ids(document: Any) -> tuple[int, ...] | Failure:
    """Read a reply of /tokenize."""
    try:
        return tuple(msgspec.convert(document, _TokenizeReply).tokens)
    except msgspec.ValidationError as trouble:
        return make_wrong_reply(f"this is no reply of /tokenize: {trouble}")
