"""How probable labels are as the next token, by what a server says about the next token.

Two ways. With the tokens' ids a server tells exactly what is asked for, as a local model does. A list of the
likeliest tokens tells less: a spelling that is not in it has a bound and no probability. It is one token that
is not shown, or it begins with a token that is shown or not. So it is at most as probable as the least likely
of the list, as all that is not shown together, or as a shown token that it begins with.

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
"""A bound that can move no share of the labels by more counts as the probability itself: the numbers of one
model on two machines differ by as much."""
_WORD_BEGINS = "▁"
"""How tokenizers of the SentencePiece kind write a space in front of a word."""
_ID = "token_id:"


# --- what is asked ---


def check_labels(ask: Labels) -> Failure | None:
    """Return why an ask cannot be answered by any server; None where it can."""
    if not ask.labels or not all(ask.labels):
        return Failure("labels", "there must be labels, and each needs a spelling")
    owner: dict[str, int] = {}
    for index, spellings in enumerate(ask.labels):
        for text in spellings:
            if not text:
                return Failure("labels", f"spelling {text!r} of label {index + 1} is no token of its own")
            if owner.setdefault(text, index) != index:
                first, second = ask.labels[owner[text]], spellings
                return Failure("labels", f"labels {first!r} and {second!r} are the same token: {text!r}")
    return None


def build_labels_context(ask: Labels) -> Prompt:
    """Return the prompt without spaces at its end, so that ` A` can follow as one token; newlines stay."""
    prompt = ask.prompt
    if not isinstance(prompt, str) and prompt[-1].role != "assistant":
        return prompt
    text = final_text(prompt).rstrip(" ")
    # A reply that is begun with nothing is one that is not begun.
    return replace_final_text(prompt, text) if text or isinstance(prompt, str) else prompt[:-1]


def append_spelling(context: Prompt, text: str) -> Prompt:
    """Return a context with a spelling behind it."""
    if isinstance(context, str) or context[-1].role == "assistant":
        return replace_final_text(context, final_text(context) + text)
    return (*context, Message("assistant", text))


def build_top_fields(n: int, *, is_chat: bool) -> dict[str, Any]:
    """Return the fields that ask for so many of the likeliest next tokens."""
    asked = {"logprobs": True, "top_logprobs": n} if is_chat else {"logprobs": n}
    return {"max_tokens": 1, "temperature": 0.0, **asked}


def build_id_fields(ids: Sequence[int], *, is_chat: bool) -> dict[str, Any]:
    """Return the fields that ask for the log-probabilities of just these tokens, told by their ids."""
    return {
        **build_top_fields(1, is_chat=is_chat),
        "logprob_token_ids": list(ids),
        "return_tokens_as_token_ids": True,
    }


# --- by a list of the likeliest tokens ---


def read_top_list(
    ask: Labels, shown: Sequence[NextToken], n_asked: int, n_prompt_tokens: int
) -> LabelProbs | Failure:
    """Return what a list of the likeliest next tokens tells about the labels."""
    seen = _sum_by_content(shown)
    total = math.fsum(one.prob for one in shown)
    # A token that the server drew may stand behind the likeliest ones: those alone bound what is not shown.
    floor = min([max(0.0, 1.0 - total), *(one.prob for one in shown[:n_asked])])
    lows: list[float] = []
    highs: list[float] = []
    for spellings in ask.labels:
        found = {text: seen[text.encode()] for text in set(spellings) if text.encode() in seen}
        low = math.fsum(found.values())
        beginnings = {text.encode() for text in found}
        unseen = [
            max(floor, _find_max_prefix_prob(text, shown, beginnings))
            for text in set(spellings) - found.keys()
        ]
        lows.append(low)
        highs.append(low + math.fsum(unseen))
    return build_label_probs(lows, highs, n_prompt_tokens)


def _sum_by_content(shown: Sequence[NextToken]) -> dict[bytes, float]:
    """Return probabilities by what is written. Two tokens of one text, as byte tokens may be, add up."""
    seen: dict[bytes, float] = {}
    for one in shown:
        content = _content(one)
        if content:
            seen[content] = seen.get(content, 0.0) + one.prob
    return seen


def _content(one: NextToken) -> bytes:
    if one.content is not None and HALF in one.text:
        return one.content
    return one.text.replace(_WORD_BEGINS, " ").encode("utf-8", "surrogatepass")


def _find_max_prefix_prob(text: str, shown: Sequence[NextToken], counted: set[bytes]) -> float:
    """Return the greatest probability of a shown token that a spelling of several tokens may begin with.

    What begins with another spelling of the same label is held in that one already.
    """
    left = max(0.0, 1.0 - math.fsum(one.prob for one in shown))
    most = 0.0
    for one in shown:
        if _is_part(one):
            # Of tokens with one name a list may tell a single one: together they have what is left, at most.
            stub = one.text.partition(HALF)[0]
            rest = text.removeprefix(stub)
            is_beginning = text.startswith(stub) and rest != "" and not rest[0].isascii()
            prob = one.prob + left
        else:
            content = _content(one)
            is_beginning = bool(content) and content not in counted and text.encode().startswith(content)
            prob = one.prob
        if is_beginning and prob > most:
            most = prob
    return min(1.0, most)


def _is_part(one: NextToken) -> bool:
    """Whether a token may end within a character, and which one is not told."""
    return not one.content and (HALF in one.text or one.text == "")


# --- by the tokens' ids ---


class ServerSpelling(NamedTuple):
    """One way to write a label, as the server's tokens behind the context."""

    text: str
    ids: tuple[int, ...]
    """The whole prompt's, with the spelling at its end."""
    next_id: int | None
    """The token, where it is one that follows exactly the context's tokens."""


def find_spellings(
    ask: Labels, context: tuple[int, ...], encoded: Mapping[str, tuple[int, ...]]
) -> list[list[ServerSpelling]] | Failure:
    """Return each label's distinct spellings; one that begins with another holds nothing of its own."""
    owner: dict[tuple[int, ...], int] = {}
    made: list[list[ServerSpelling]] = []
    for index, texts in enumerate(ask.labels):
        distinct: dict[tuple[int, ...], ServerSpelling] = {}
        for text in texts:
            ids = encoded[text]
            if owner.setdefault(ids, index) != index:
                first, second = ask.labels[owner[ids]], texts
                return Failure("labels", f"labels {first!r} and {second!r} are the same token: {text!r}")
            next_id = ids[-1] if ids[:-1] == context else None
            distinct[ids] = ServerSpelling(text, ids, next_id)
        made.append([one for ids, one in distinct.items() if not _is_extension(ids, distinct)])
    return made


def _is_extension(ids: tuple[int, ...], others: Mapping[tuple[int, ...], ServerSpelling]) -> bool:
    return any(len(other) < len(ids) and ids[: len(other)] == other for other in others)


def read_probs_by_id(shown: Sequence[NextToken]) -> dict[int, float]:
    """Return the probabilities in a list whose tokens are told by their ids."""
    return {
        int(one.text.removeprefix(_ID)): one.prob
        for one in shown
        if one.text.startswith(_ID) and one.text.removeprefix(_ID).isdecimal()
    }


# --- what comes of it ---


def build_label_probs(lows: Sequence[float], highs: Sequence[float], n_prompt_tokens: int) -> LabelProbs:
    """Return the answer; bounds that decide nothing are left away."""
    mass = math.fsum(lows)
    open_ = math.fsum(high - low for low, high in zip(lows, highs, strict=True))
    is_exact = open_ <= NEGLIGIBLE * mass
    return LabelProbs(
        tuple(lows), mass, n_prompt_tokens, () if is_exact else tuple(min(1.0, h) for h in highs)
    )
