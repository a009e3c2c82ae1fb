"""Probabilities of labels as the next token, computed from a server's log-probabilities of the next token.

There are two ways. With token ids, a server reports exactly the requested tokens, as a local model does. A
list of the likeliest tokens contains less: a spelling that is not in it has only an upper bound. Such a
spelling is a token that is not listed, or it begins with a token that may be listed. So its probability is at
most that of the least likely listed token, that of all unlisted tokens together, or that of a listed token
with which it begins.

Pure functions: no sockets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from assay.backends.openai.tokens import HALF, NextToken
from assay.core.prompt import Message, Prompt, final_text, replace_final_text
from assay.core.request import Labels
from assay.core.response import Failure, LabelProbs

NEGLIGIBLE = 1e-4
"""A bound that cannot change any label's share by more than this counts as the probability itself: the
numbers of one model on two machines differ by as much."""
_WORD_BEGINS = "▁"
"""SentencePiece tokenizers write a space before a word with this character."""
_ID = "token_id:"


# --- requests ---


def check_labels(ask: Labels) -> Failure | None:
    """Return why no server can answer a request; None if it can be sent."""
    if not ask.labels or not all(ask.labels):
        return Failure("labels", "there must be at least one label, and each label needs a spelling")
    owner: dict[str, int] = {}
    for index, spellings in enumerate(ask.labels):
        for text in spellings:
            if not text:
                return Failure("labels", f"spelling {text!r} of label {index + 1} is empty: it has no token")
            if owner.setdefault(text, index) != index:
                first, second = ask.labels[owner[text]], spellings
                return Failure("labels", f"labels {first!r} and {second!r} are the same token: {text!r}")
    return None


def build_labels_context(ask: Labels) -> Prompt:
    """Return the prompt without spaces at its end, so that ` A` can follow as one token; newlines remain."""
    prompt = ask.prompt
    if not isinstance(prompt, str) and prompt[-1].role != "assistant":
        return prompt
    text = final_text(prompt).rstrip(" ")
    # An empty begun reply is no begun reply.
    return replace_final_text(prompt, text) if text or isinstance(prompt, str) else prompt[:-1]


def append_spelling(context: Prompt, text: str) -> Prompt:
    """Return a context followed by a spelling."""
    if isinstance(context, str) or context[-1].role == "assistant":
        return replace_final_text(context, final_text(context) + text)
    return (*context, Message("assistant", text))


def build_top_fields(n: int, *, is_chat: bool) -> dict[str, Any]:
    """Return the fields that request the `n` likeliest next tokens."""
    top = {"logprobs": True, "top_logprobs": n} if is_chat else {"logprobs": n}
    return {"max_tokens": 1, "temperature": 0.0, **top}


def build_id_fields(ids: Sequence[int], *, is_chat: bool) -> dict[str, Any]:
    """Return the fields that request the log-probabilities of exactly these tokens, reported by id."""
    return {
        **build_top_fields(1, is_chat=is_chat),
        "logprob_token_ids": list(ids),
        "return_tokens_as_token_ids": True,
    }


# --- by a list of the likeliest tokens ---


def read_top_list(
    ask: Labels, listed: Sequence[NextToken], n_asked: int, n_prompt_tokens: int
) -> LabelProbs | Failure:
    """Return the probabilities or bounds of the labels, by a list of the likeliest next tokens."""
    seen = _sum_by_content(listed)
    total = math.fsum(token.prob for token in listed)
    # A sampled token may follow the likeliest ones: only the likeliest bound what is not listed.
    floor = min([max(0.0, 1.0 - total), *(token.prob for token in listed[:n_asked])])
    lows: list[float] = []
    highs: list[float] = []
    for spellings in ask.labels:
        found = {text: seen[text.encode()] for text in set(spellings) if text.encode() in seen}
        low = math.fsum(found.values())
        beginnings = {text.encode() for text in found}
        unseen = [
            max(floor, _find_max_prefix_prob(text, listed, beginnings))
            for text in set(spellings) - found.keys()
        ]
        lows.append(low)
        highs.append(low + math.fsum(unseen))
    return build_label_probs(lows, highs, n_prompt_tokens)


def _sum_by_content(listed: Sequence[NextToken]) -> dict[bytes, float]:
    """Return probabilities by content. Tokens with the same content, such as byte tokens, add up."""
    seen: dict[bytes, float] = {}
    for token in listed:
        content = _content(token)
        if content:
            seen[content] = seen.get(content, 0.0) + token.prob
    return seen


def _content(token: NextToken) -> bytes:
    if token.content is not None and HALF in token.text:
        return token.content
    return token.text.replace(_WORD_BEGINS, " ").encode("utf-8", "surrogatepass")


def _find_max_prefix_prob(text: str, listed: Sequence[NextToken], counted: set[bytes]) -> float:
    """Return the highest probability of a listed token with which a spelling of several tokens may begin.

    A token that is another spelling of the same label is already counted there.
    """
    left = max(0.0, 1.0 - math.fsum(token.prob for token in listed))
    most = 0.0
    for token in listed:
        if _is_part(token):
            # A list may contain one of several tokens with the same name: together they have at most the
            # rest.
            stub = token.text.partition(HALF)[0]
            rest = text.removeprefix(stub)
            is_beginning = text.startswith(stub) and rest != "" and not rest[0].isascii()
            prob = token.prob + left
        else:
            content = _content(token)
            is_beginning = bool(content) and content not in counted and text.encode().startswith(content)
            prob = token.prob
        if is_beginning and prob > most:
            most = prob
    return min(1.0, most)


def _is_part(one: NextToken) -> bool:
    """Return whether a token may end inside a character that the server does not report."""
    return not one.content and (HALF in one.text or one.text == "")


# --- by token ids ---


class ServerSpelling(NamedTuple):
    """One way to write a label, as the server's tokens after the context."""

    text: str
    ids: tuple[int, ...]
    """The ids of the whole prompt, with the spelling at its end."""
    next_id: int | None
    """The spelling's token, if it is a single one that follows exactly the context's tokens."""


def find_spellings(
    ask: Labels, context: tuple[int, ...], encoded: Mapping[str, tuple[int, ...]]
) -> list[list[ServerSpelling]] | Failure:
    """Return each label's distinct spellings, without those that begin with another one."""
    owner: dict[tuple[int, ...], int] = {}
    labels: list[list[ServerSpelling]] = []
    for index, texts in enumerate(ask.labels):
        distinct: dict[tuple[int, ...], ServerSpelling] = {}
        for text in texts:
            ids = encoded[text]
            if owner.setdefault(ids, index) != index:
                first, second = ask.labels[owner[ids]], texts
                return Failure("labels", f"labels {first!r} and {second!r} are the same token: {text!r}")
            next_id = ids[-1] if ids[:-1] == context else None
            distinct[ids] = ServerSpelling(text, ids, next_id)
        labels.append([spelling for ids, spelling in distinct.items() if not _is_extension(ids, distinct)])
    return labels


def _is_extension(ids: tuple[int, ...], others: Mapping[tuple[int, ...], ServerSpelling]) -> bool:
    return any(len(other) < len(ids) and ids[: len(other)] == other for other in others)


def read_probs_by_id(listed: Sequence[NextToken]) -> dict[int, float]:
    """Return the probabilities in a list whose tokens are reported by id."""
    return {
        int(token.text.removeprefix(_ID)): token.prob
        for token in listed
        if token.text.startswith(_ID) and token.text.removeprefix(_ID).isdecimal()
    }


# --- result ---


def build_label_probs(lows: Sequence[float], highs: Sequence[float], n_prompt_tokens: int) -> LabelProbs:
    """Return the probabilities; omit bounds that cannot change the result."""
    mass = math.fsum(lows)
    open_ = math.fsum(high - low for low, high in zip(lows, highs, strict=True))
    is_exact = open_ <= NEGLIGIBLE * mass
    return LabelProbs(
        tuple(lows), mass, n_prompt_tokens, () if is_exact else tuple(min(1.0, h) for h in highs)
    )
