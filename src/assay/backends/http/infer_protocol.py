"""The protocol of UltraEval's model servers: request bodies, and the answers in a reply.

    POST {"params": {...}, "instances": [text, ...]}

With `prompt_logprobs` in the params, the reply contains for each instance the log-probabilities of its tokens
from position 1 on; otherwise the completion of each. The server reports nothing else: no tokens, no counts,
no finish reason, not even the name of its model. This module decides what follows from that.

Pure functions: no sockets, no batches.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from assay.backends.repeats import count_drawn_texts, draw_repeat_seed
from assay.core.request import Generate, Request, Sampling, Span
from assay.core.response import Failure, Finish, Likelihood, Output

PROBE = "a"
"""A text of one token in every tokenizer; its scores show which special tokens precede a text."""
RECUT_TOKENS = 16
"""How many tokens before the prompt/answer boundary may change when text follows."""
_MORE_THAN_HALF = math.log(0.5)


class Params(msgspec.Struct, frozen=True, dict=True):
    """The settings of one call, with the names of vLLM's server.

    Unset settings are sent as well: the original's servers apply what one call sets to all later calls, from
    any client.
    """

    max_tokens: int
    temperature: float
    top_p: float
    stop: tuple[str, ...] | None
    seed: int | None
    prompt_logprobs: int | None
    written: str = "{}"
    """Further parameters as their author wrote them, as JSON."""

    @cached_property
    def further(self) -> dict[str, Any]:
        """Return the further parameters, by name."""
        return msgspec.json.decode(self.written, type=dict[str, Any])

    @property
    def batch_size(self) -> int | None:
        """Return the maximum number of texts per call, if the parameters set it."""
        size = self.further.get("batch_size")
        return size if isinstance(size, int) and size > 0 else None

    def fields(self) -> dict[str, Any]:
        """Return all settings by the names that are sent."""
        named = {name: getattr(self, name) for name in self.__struct_fields__ if name != "written"}
        return {**named, **self.further}


NEUTRAL: Mapping[str, Any] = {
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "top_k": -1,
    "use_beam_search": False,
    "best_of": None,
    "length_penalty": 1.0,
    "early_stopping": False,
    "stop_token_ids": None,
    "ignore_eos": False,
    "logprobs": None,
    "n": 1,
    "skip_special_tokens": True,
}
"""Further parameters of the original's servers, with their initial values there."""

SCORING = Params(max_tokens=1, temperature=0.0, top_p=1.0, stop=None, seed=None, prompt_logprobs=0)
"""Likelihoods: 0 requests only the prompt's own tokens, no alternatives; one token must be generated."""


@dataclass(frozen=True, slots=True, eq=False)
class InferPart:
    """What one request needs from one call: a likelihood, or one of its texts."""

    request: Request
    params: Params
    instances: tuple[str, ...]
    """Sent in one call, because their replies are compared."""
    number: int = 0
    """The number of its text within the request."""


def split_infer_request(request: Request) -> list[InferPart] | Failure:
    """Return the parts of a request to send, or why it cannot be answered."""
    ask = request.ask
    if not isinstance(ask.prompt, str):
        return Failure("chat", "the server accepts only plain text, but the prompt is a conversation")
    if isinstance(ask, Span):
        instances = _texts_to_score(ask, ask.prompt)
        return instances if isinstance(instances, Failure) else [InferPart(request, SCORING, instances)]
    if not isinstance(ask, Generate):
        return Failure("labels", "the server does not report probabilities of next tokens")
    sampling = ask.sampling
    if sampling.max_tokens < 1:
        return Failure("max_tokens", "max_tokens is below 1, so nothing can be generated")
    return [
        InferPart(request, _build_generation_params(sampling, request.index, n), (ask.prompt,), n)
        for n in range(count_drawn_texts(sampling))
    ]


def _texts_to_score(ask: Span, text: str) -> tuple[str, ...] | Failure:
    if ask.windows is not None:
        return Failure("windows", "the server cannot score windows: it does not report its tokens")
    if ask.start >= len(text):
        return Failure("empty", f"there is nothing to score from character {ask.start} on")
    if ask.start > 0:
        return (text[: ask.start], text)
    return (PROBE, text) if ask.scores_first_token else (text,)


def _build_generation_params(sampling: Sampling, index: int, number: int) -> Params:
    return Params(
        max_tokens=sampling.max_tokens,
        temperature=sampling.temperature,
        top_p=sampling.top_p if sampling.temperature > 0 else 1.0,
        stop=sampling.stop or None,
        # Equal for all requests of one index, so that they can share calls.
        seed=draw_repeat_seed(sampling, index, number),
        prompt_logprobs=None,
        written=msgspec.json.encode(sampling.server or {}, order="sorted").decode(),
    )


def read_infer_replies(part: InferPart, replies: Sequence[object]) -> Output | Likelihood | Failure:
    """Return the answer in the replies to a part's instances; an invalid reply is a failure."""
    ask = part.request.ask
    if isinstance(ask, Generate):
        (reply,) = replies
        if not isinstance(reply, str):
            return Failure("wrong_reply", f"expected a text, but the server sent {_preview_reply(reply)}")
        return detect_infer_finish(reply, ask.sampling)
    assert isinstance(ask, Span)
    lists: list[list[float]] = []
    for reply in replies:
        numbers = _logprobs(reply)
        if isinstance(numbers, Failure):
            return numbers
        lists.append(numbers)
    if ask.start > 0:
        return _score_after_context(ask, *lists)
    if ask.scores_first_token:
        return _score_after_lead(ask, *lists)
    return _likelihood(ask, lists[0], 0)


def detect_infer_finish(text: str, sampling: Sampling) -> Output:
    """Return a text with the reason why it ended, as far as that can be known.

    STOP: the text contains a stop string, so the server does not know stop strings; the text is cut before
    the first one. END: the text has fewer bytes than `max_tokens`. A token has at least one byte, so it was
    not truncated. This includes texts that ended at a stop string that the server removed. LENGTH: a longer
    text, which may have been truncated. The number of tokens is unknown: 0.
    """
    cuts = [at for stop in sampling.stop if (at := text.find(stop)) >= 0]
    if cuts:
        return Output(text[: min(cuts)], Finish.STOP, 0)
    n_bytes = len(text.encode("utf-8", "surrogatepass"))
    return Output(text, Finish.END if n_bytes < sampling.max_tokens else Finish.LENGTH, 0)


def _score_after_context(ask: Span, context: list[float], whole: list[float]) -> Likelihood | Failure:
    """Return the likelihood of what follows the context.

    The server scores whole texts. If a text continues its context, its tokens up to the boundary are the
    context's, and so are their log-probabilities, up to numerical noise. All tokens after them are scored:
    with n numbers for the context, those from n on. A token that straddles the boundary belongs only to the
    whole text: there the numbers differ, from this token to the end of the context's list. So both lists are
    compared from the end of the context backwards, and scoring begins where they agree. A comparison from
    the beginning would be equivalent with exact numbers, but one noisy number would then include the whole
    context.
    """
    n = min(len(context), len(whole) - 1)
    if n < 0:
        return Failure("unscored", "the server scored no token of the text")
    furthest = max(0, n - RECUT_TOKENS)
    while n > furthest and not _is_close(context[n - 1], whole[n - 1]):
        n -= 1
    if n == furthest > 0:
        return Failure(
            "unequal",
            f"the likelihoods of the last {RECUT_TOKENS} tokens before the answer change without the answer",
        )
    return _likelihood(ask, whole, n, straddles=n < len(context))


def _is_close(one: float, other: float) -> bool:
    """Return whether two numbers may be the same token's. Tolerant: half precision varies with the batch."""
    return math.isclose(one, other, rel_tol=0.02, abs_tol=0.05)


def _score_after_lead(ask: Span, probe: list[float], whole: list[float]) -> Likelihood | Failure:
    """Return the likelihood of a whole text after the special tokens that the server adds before it.

    The first of k special tokens has no number. So a text of one token has k numbers, the last one its own.
    """
    if not probe:
        why = "the server adds no special token before a text, so the first token has no likelihood"
        return Failure("unscored", why)
    return _likelihood(ask, whole, len(probe) - 1)


def _likelihood(
    ask: Span, logprobs: list[float], first: int, *, straddles: bool = False
) -> Likelihood | Failure:
    scored = tuple(logprobs[first:])
    if not scored:
        return Failure("unscored", "the server scored no token of the text")
    assert isinstance(ask.prompt, str)
    counted = ask.prompt[ask.start :].strip()
    return Likelihood(
        sum_logprob=math.fsum(scored),
        n_tokens=len(scored),
        n_chars=len(counted),
        n_bytes=len(counted.encode("utf-8", "surrogatepass")),
        # Other tokens are not reported; a token with more than half of the probability is the first choice.
        is_greedy=True if min(scored) > _MORE_THAN_HALF else None,
        n_prompt_tokens=first + 1,
        token_logprobs=scored,
        straddles=straddles,
    )


def _logprobs(reply: object) -> list[float] | Failure:
    """Return a list of log-probabilities, or what is wrong with it."""
    if not isinstance(reply, list):
        return Failure(
            "wrong_reply",
            f"expected a list of log-probabilities, but the server sent {_preview_reply(reply)}",
        )
    for value in reply:
        if type(value) not in (float, int):
            return Failure(
                "wrong_reply",
                f"expected log-probabilities, but the server sent {_preview_reply(value)} among them",
            )
        if not math.isfinite(value):
            return Failure("not_finite", "the server sent a log-probability that is not a finite number")
        if value > 0:
            return Failure("wrong_reply", f"a log-probability is at most 0, but the server sent {value}")
    return reply


def _preview_reply(reply: object) -> str:
    text = repr(reply)
    return text if len(text) <= 80 else f"{text[:80]}..."
