"""A deterministic backend without a model: each answer is derived from a hash of the request.

Tests use it instead of a model, and benchmarks use it to measure the engine. It must be fast, stream one
request at a time, and give the same answer to the same request in any order and on any machine.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, TypeAlias

import msgspec

from assay.backends.arguments import read_arguments, read_thinking_argument
from assay.backends.local.context_length import check_context_length
from assay.backends.local.media_bytes import MediaTrouble, read_media
from assay.backends.local.rolling_windows import (
    TextLength,
    Window,
    WindowTrouble,
    cut_windows,
    find_token_starts,
    measure_scored_text,
)
from assay.backends.problems import argument_error
from assay.core.errors import listing, suggest_name
from assay.core.media import Medium
from assay.core.model import ModelCard, ModelIdentity, Token
from assay.core.prompt import Prompt, final_text
from assay.core.request import Ask, Generate, Kind, Labels, Request, Span
from assay.core.response import Completion, Failure, Finish, LabelProbs, Likelihood, Outcome, Output, Response
from assay.core.thinking import Thinking

Piece: TypeAlias = re.Match[str]
_PIECE = re.compile(r"\s*\S{1,4}|\s+")
MOST_THINKING = 300
"""Maximum tokens of a thought."""
_OPTION = re.compile(r"^([A-Z])[.):]", re.MULTILINE)


class MockArgs(msgspec.Struct, frozen=True):
    """Arguments of the mock."""

    delay_ms: float = 0.0
    """How long each request takes."""
    fail_every: int = 0
    """Fail about one in this many requests; the request alone decides which. 0: no failures."""
    chat: bool = False
    """Whether it claims to have a chat template."""
    answer: str | None = None
    """The reply to every request. None: the reply depends on the request."""
    kinds: str = "span,labels,generate"
    """The kinds of request it can answer, separated by commas."""
    context_length: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Context length in its own tokens. None: unlimited."""
    media: str = "image,audio,video"
    """The media it claims to accept, separated by commas."""
    describe: bool = False
    """Whether to reply with a description of the media it received: type and number of bytes, in order."""
    die_on: str | None = None
    """A request that contains this text kills the process at once, like a crash in an engine."""
    hang_on: str | None = None
    """A request that contains this text is never answered."""
    thinking: str | None = None
    """Whether it writes a thought before each answer, whose length depends on the request."""


class MockBackend:
    """A deterministic replacement for a model; needs no files and no packages."""

    def __init__(self, where: str, args: Mapping[str, str]) -> None:
        self._args = read_arguments("mock", MockArgs, args)
        self._name = f"mock:{where}" if where else "mock"
        self._thinking = read_thinking_argument(self._args.thinking, "mock")
        self._card = ModelCard(
            name=self._name,
            kinds=_kinds(self._args.kinds),
            is_chat=self._args.chat or self._thinking is not None,
            context_length=self._args.context_length,
            is_cacheable=False,
            media=_media(self._args.media),
            fetches_media=True,
            thinks=self._thinking is not None and self._thinking.is_on,
        )
        self._requests = 0

    @property
    def card(self) -> ModelCard:
        """Return its declared abilities."""
        return self._card

    def probe_card(self, kinds: frozenset[Kind], *, is_chat: bool) -> ModelCard:
        """Return the card: nothing needs to be probed."""
        return self.card

    def identity(self) -> ModelIdentity:
        """Return its name and the arguments that change answers."""
        changed: dict[str, str | int | bool] = {
            "fail_every": self._args.fail_every,
            "answer": self._args.answer or "",
            "context_length": self._args.context_length or 0,
            "describe": self._args.describe,
            "thinking": self._args.thinking or "",
        }
        return ModelIdentity("mock", self._name, args={key: value for key, value in changed.items() if value})

    def run(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Answer one request at a time."""
        delay_s = self._args.delay_ms / 1000
        fail_every = self._args.fail_every
        for request in requests:
            if delay_s:
                time.sleep(delay_s)
            self._requests += 1
            self._break_down(request.ask)
            key = request.key
            seed = int(key[:16], 16)
            outcome: Outcome
            if fail_every and int(key, 16) % fail_every == 0:
                outcome = Failure("injected", f"fail_every={fail_every} makes the mock fail this request")
            else:
                outcome = self._answer(request.ask, seed)
            yield Response(request.id, key, outcome, delay_s)

    def _break_down(self, ask: Ask) -> None:
        """Kill the process or hang if `die_on` or `hang_on` selects this request."""
        die_on, hang_on = self._args.die_on, self._args.hang_on
        if die_on is None and hang_on is None:
            return
        text = _text(ask.prompt)
        if die_on is not None and die_on in text:
            os.kill(os.getpid(), signal.SIGKILL)
        if hang_on is not None and hang_on in text:
            threading.Event().wait()

    @property
    def has_more_at_hand(self) -> bool:
        """Return False: it answers one request at a time."""
        return False

    def tokens(self, ask: Ask) -> Sequence[Token]:
        """Return pieces of at most four characters, the scored ones marked."""
        text = _text(ask.prompt)
        pieces = list(_PIECE.finditer(text))
        context = self._args.context_length
        windows = _windows(ask, text, pieces, context) if isinstance(ask, Span) else []
        if isinstance(windows, Failure):
            windows = []
        scored = {at for window in windows for at in range(window.first_scored, window.end)}
        return [
            Token(_number(piece[0]) % 50_000, piece[0], is_scored=at in scored)
            for at, piece in enumerate(pieces)
        ]

    def n_tokens(self, ask: Ask) -> int:
        """Return the number of pieces a request needs, including those it may generate."""
        more = ask.sampling.max_tokens if isinstance(ask, Generate) else 0
        return _n_pieces(ask, self._args.context_length) + more

    def stats(self) -> Mapping[str, float]:
        """Return the number of requests received."""
        return {"requests": float(self._requests)}

    def notes(self) -> Sequence[str]:
        """Return no notes."""
        return ()

    def close(self) -> None:
        """Do nothing: there are no resources to release."""

    def _answer(self, ask: Ask, seed: int) -> Outcome:
        room: int | None = None
        if self._args.context_length is not None:
            n_pieces = _n_pieces(ask, self._args.context_length)
            needed = n_pieces + 1 if isinstance(ask, Generate) else n_pieces
            if (trouble := check_context_length(needed, self._args.context_length)) is not None:
                return trouble
            room = self._args.context_length - n_pieces
        if isinstance(ask, Generate):
            try:
                return self._complete(ask, seed, room)
            except MediaTrouble as trouble:
                return Failure("media", str(trouble))
        if isinstance(ask, Span):
            return _likelihood(ask, self._args.context_length)
        return _label_probs(ask, seed)

    def _complete(self, ask: Generate, seed: int, room: int | None) -> Completion:
        prompt, sampling = _text(ask.prompt), ask.sampling
        seen = _describe_media(ask.prompt)
        max_tokens = sampling.max_tokens if room is None else min(sampling.max_tokens, room)
        outputs = []
        for repeat in range(sampling.n):
            text = "; ".join(seen) if self._args.describe else self._args.answer
            if text is None:
                text = _reply(prompt, seed + repeat if sampling.temperature > 0 else seed)
            output = _cut(text, max_tokens, sampling.stop)
            if self._thinking is not None and self._thinking.is_on:
                output = _think_before(output, seed + repeat, self._thinking, max_tokens)
            outputs.append(output)
        return Completion(tuple(outputs), n_prompt_tokens=len(prompt) // 4 + 1)


def _think_before(answer: Output, seed: int, thinking: Thinking, max_tokens: int) -> Output:
    """Return an answer after a thought; without a budget, a long thought leaves no room for the answer."""
    n = seed % MOST_THINKING + 1
    if thinking.budget is None:
        n = min(n, max_tokens)
    else:
        n, max_tokens = min(n, thinking.budget), max_tokens + thinking.budget
    reasoning = " ".join(["hmm"] * n)
    if n + answer.n_tokens > max_tokens:
        room = max_tokens - n
        cut = _cut(answer.text, room, ()).text if room else ""
        return Output(cut, Finish.LENGTH, max_tokens, reasoning, n_thinking_tokens=n)
    return Output(answer.text, answer.finish, n + answer.n_tokens, reasoning, n_thinking_tokens=n)


def _kinds(text: str) -> frozenset[Kind]:
    """Read `generate,span`."""
    return frozenset(map(Kind, _parse_names(text, "kinds", "kind", [kind.value for kind in Kind])))


def _media(text: str) -> frozenset[Medium]:
    """Read `image,audio`."""
    return frozenset(map(Medium, _parse_names(text, "media", "medium", [medium.value for medium in Medium])))


def _parse_names(text: str, argument: str, noun: str, known: Sequence[str]) -> list[str]:
    """Parse a comma-separated list of names; raise MODEL-002 for an unknown one."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise argument_error(
                f"mock argument {argument}: unknown {noun} {name!r}{suggest_name(name, known)}",
                f"use some of: {listing(known)}",
            )
    return names


def _describe_media(prompt: Prompt) -> list[str]:
    """Return a description of each medium in a prompt, read as it would be sent; raise MediaTrouble."""
    if isinstance(prompt, str):
        return []
    parts = [part for message in prompt for part in message.media]
    return [part.url or f"{part.media_type} of {len(read_media(part))} bytes" for part in parts]


def _text(prompt: Prompt) -> str:
    """Return a prompt as one text, without its media."""
    if isinstance(prompt, str):
        return prompt
    return "\n".join(message.text for message in prompt)


def _n_pieces(ask: Ask, context: int | None) -> int:
    """Return the number of pieces read at once: the prompt's, plus the longest spelling for labels."""
    text = _text(ask.prompt)
    if isinstance(ask, Span) and ask.windows is not None:
        windows = _windows(ask, text, list(_PIECE.finditer(text)), context)
        # A window's last piece is predicted, not read.
        return 0 if isinstance(windows, Failure) else max(window.end - window.begin - 1 for window in windows)
    endings = [spelling for label in ask.labels for spelling in label] if isinstance(ask, Labels) else []
    return max(len(_PIECE.findall(text + ending)) for ending in endings or [""])


def _start(ask: Span, text: str) -> int:
    """Return the position in the whole text at which the scored part begins."""
    return len(text) - len(final_text(ask.prompt)) + ask.start


def _reply(text: str, seed: int) -> str:
    """Return a letter among the options of the last question, or a number when there are none."""
    # Search from the end: everything before the last option A is few-shot examples, and may be long.
    last = max(text.rfind("\nA."), text.rfind("\nA)"), text.rfind("\nA:"))
    options = _OPTION.findall(text, last + 1)
    return options[seed % len(options)] if options else str(seed % 100)


def _cut(text: str, max_tokens: int, stops: Sequence[str]) -> Output:
    """Return a reply ended as a real one would be: by a stop string, by length, or by itself."""
    ends = [at for stop in stops if (at := text.find(stop)) >= 0] if stops else []
    if ends:
        text = text[: min(ends)]
    pieces = _PIECE.findall(text) if len(text) > 1 else [text]
    if len(pieces) > max_tokens:
        return Output("".join(pieces[:max_tokens]), Finish.LENGTH, max_tokens)
    return Output(text, Finish.STOP if ends else Finish.END, len(pieces))


def _windows(ask: Span, text: str, pieces: Sequence[Piece], context: int | None) -> list[Window] | Failure:
    """Return the windows of pieces to score: one window for the whole text unless it sets windows."""
    if ask.windows is None:
        start = _start(ask, text)
        first = next((at for at, piece in enumerate(pieces) if piece.end() > start), len(pieces))
        first = 1 if first == 0 and not ask.scores_first_token else first
        if first >= len(pieces):
            return Failure("empty", f"there is nothing to score from character {ask.start} on")
        return [Window(0, len(pieces), first)]
    # A leading token would shift the first window to one position before the text.
    leads = ask.windows.scheme == "classic"
    try:
        windows = cut_windows(ask.windows, len(pieces) + leads, 1, context)
    except WindowTrouble as trouble:
        return Failure("windows", str(trouble))
    return [Window(*(at - leads for at in window)) for window in windows]


def _likelihood(ask: Span, context: int | None) -> Likelihood | Failure:
    """Return log-probabilities that depend on each piece and on its window's text before the scored part."""
    text = _text(ask.prompt)
    pieces = list(_PIECE.finditer(text))
    windows = _windows(ask, text, pieces, context)
    if isinstance(windows, Failure):
        return windows
    scored: list[Piece] = []
    logprobs: list[float] = []
    for window in windows:
        mine = pieces[window.first_scored : window.end]
        seen = text[pieces[max(window.begin, 0)].start() : mine[0].start()]
        before = hashlib.blake2b(seen.encode(), digest_size=8).hexdigest()
        logprobs += [-(1 + _number(before + piece[0]) % 5000) / 1000 for piece in mine]
        scored += mine
    start = _start(ask, text)
    if ask.windows is None:
        counted = text[start:].strip()
        length = TextLength(len(counted), len(counted.encode()), n_words=0)
    else:
        length = measure_scored_text(text, windows, [piece.span() for piece in pieces], n_leading=0)
    return Likelihood(
        sum_logprob=sum(logprobs),
        n_tokens=len(scored),
        n_chars=length.n_chars,
        n_bytes=length.n_bytes,
        is_greedy=all(logprob > -1 for logprob in logprobs),
        n_prompt_tokens=sum(window.first_scored - window.begin for window in windows),
        token_ids=tuple(_number(piece[0]) % 50_000 for piece in scored),
        token_logprobs=tuple(logprobs),
        straddles=scored[0].start() < start,
        n_words=length.n_words,
        token_starts=_starts(windows, scored, pieces, start),
    )


def _starts(
    windows: Sequence[Window], scored: Sequence[Piece], pieces: Sequence[Piece], start: int
) -> tuple[int, ...]:
    """Return the start of each scored piece; empty if windows skip pieces between them or at the end."""
    n_following = len(pieces) - windows[0].first_scored
    return find_token_starts([piece.span() for piece in scored], start) if len(scored) == n_following else ()


def _label_probs(ask: Labels, seed: int) -> LabelProbs:
    """Return pseudo-random label probabilities whose sum is below one."""
    weights = [1 + _number(f"{seed}:{'|'.join(spellings)}") % 1000 for spellings in ask.labels]
    mass = 0.5 + seed % 1000 / 2001
    probs = tuple(mass * weight / sum(weights) for weight in weights)
    return LabelProbs(probs, sum(probs), n_prompt_tokens=len(_PIECE.findall(_text(ask.prompt))))


def _number(text: str) -> int:
    """Return a number that depends only on a text."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).digest())
