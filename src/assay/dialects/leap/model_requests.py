"""Convert the requests of an author's code to asks for a model, and the answers to the expected results.

Two requests that are parts of one (`ll, is_greedy = rf.loglikelihood(...)`) become one ask. A repeated
request stays two asks: they are two options, and the engine sends equal asks only once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from assay.core.errors import listing
from assay.core.prompt import Message, Prompt
from assay.core.request import Ask, Generate, Labels, Sampling, Span, Windows
from assay.core.sampling_bounds import describe_expected_value
from assay.core.task import TaskSettings
from assay.dialects.leap.author_requests import GREEDY_UNTIL, LOGLIKELIHOOD, ROLLING, Request
from assay.dialects.leap.calling import InvalidReturn
from assay.dialects.leap.contexts import Context

CODE = "LEAP-004"
_MAX_TOKENS = 256
_ORIGINAL_MAX_TOKENS = 16
_ORIGINAL_TEMPERATURE = 1.0
_LENGTH_KEYS = ("max_gen_toks", "max_length", "max_new_tokens", "max_tokens")
_USAGE = 'return rf.loglikelihood(ctx, " answer"), rf.greedy_until(ctx, {"until": ["."]}) or a list of these'


class GenerationOptions(NamedTuple):
    """An author's options for generating a text."""

    until: tuple[str, ...]
    max_tokens: int | None = None
    unknown: tuple[str, ...] = ()
    """Other options, which are not sent to the model."""


class ParsedRequest(NamedTuple):
    """One request of an author's code."""

    type: str
    context: str
    continuation: str = ""
    writing: GenerationOptions | None = None
    is_classic: bool = False


class ExpectedResult(NamedTuple):
    """One result that the author's code expects: the index of its request, and the part of its answer."""

    wish: int
    part: int | None
    """0: the number; 1: the greedy flag; None: everything."""
    is_classic: bool


class DocumentRequests(NamedTuple):
    """The requests of the author's code for one document."""

    every: tuple[ParsedRequest, ...]
    values: tuple[ExpectedResult, ...]

    @property
    def options(self) -> tuple[str, ...]:
        """The continuations that are compared: several for one context; otherwise empty."""
        contexts = {wish.context for wish in self.every}
        is_choice = len(self.every) > 1 and len(contexts) == 1 and self.types == {LOGLIKELIHOOD}
        return tuple(wish.continuation for wish in self.every) if is_choice else ()

    @property
    def types(self) -> set[str]:
        """The types of request."""
        return {wish.type for wish in self.every}

    def without_contexts(self) -> DocumentRequests:
        """Return the same without the long contexts; only trailing spaces are kept."""
        bare = (wish._replace(context=wish.context[len(wish.context.rstrip(" ")) :]) for wish in self.every)
        return DocumentRequests(tuple(bare), self.values)


def read_requests(returned: Any) -> DocumentRequests:
    """Return the requests of construct_requests; raise InvalidReturn for anything else."""
    several = list(returned) if isinstance(returned, list | tuple) else [returned]
    if not several:
        raise InvalidReturn(CODE, "construct_requests returned no request", _USAGE)
    wishes: list[ParsedRequest] = []
    parts: list[set[int | None]] = []
    values: list[ExpectedResult] = []
    for request in several:
        if not isinstance(request, Request):
            found = f"{type(request).__name__} ({request!r:.60})"
            what = f"construct_requests returned {found}, expected requests made by rf"
            raise InvalidReturn(CODE, what, _USAGE, kind=type(request).__name__)
        wish = _parse_request(request)
        shared = (at for at, known in enumerate(wishes) if known == wish and request.index not in parts[at])
        at = next(shared, None) if request.index is not None else None
        if at is None:
            at = len(wishes)
            wishes.append(wish)
            parts.append(set())
        parts[at].add(request.index)
        values.append(ExpectedResult(at, request.index, request.is_classic))
    return DocumentRequests(tuple(wishes), tuple(values))


def _parse_request(request: Request) -> ParsedRequest:
    if request.request_type == GREEDY_UNTIL:
        context, how = _arguments(request, 2)
        return ParsedRequest(
            GREEDY_UNTIL,
            _text(request, context),
            writing=_parse_generation_options(how),
            is_classic=request.is_classic,
        )
    if request.request_type == ROLLING:
        (text,) = _arguments(request, 1)
        return ParsedRequest(ROLLING, "", _text(request, text), is_classic=request.is_classic)
    context, continuation = _arguments(request, 2)
    if continuation == "":
        raise InvalidReturn(CODE, "loglikelihood received an empty continuation", "pass the text to score")
    return ParsedRequest(
        LOGLIKELIHOOD, _text(request, context), _text(request, continuation), is_classic=request.is_classic
    )


def _arguments(request: Request, n: int) -> tuple[Any, ...]:
    if len(request.args) != n:
        raise InvalidReturn(
            CODE, f"{request.request_type} received {len(request.args)} arguments, expected {n}", _USAGE
        )
    return request.args


def _text(request: Request, value: Any) -> str:
    if not isinstance(value, str):
        found = f"{type(value).__name__} ({value!r:.60})"
        what = f"{request.request_type} received {found}, expected a text"
        raise InvalidReturn(CODE, what, _USAGE, kind=request.request_type)
    return value


def _parse_generation_options(how: Any) -> GenerationOptions:
    """Return the options of greedy_until: a dict with `until`, or the stop texts themselves."""
    given: dict[str, Any] = dict(how) if isinstance(how, Mapping) else {"until": how}
    until = given.pop("until", None) or ()
    stops = (until,) if isinstance(until, str) else until
    if not isinstance(stops, list | tuple) or not all(isinstance(stop, str) for stop in stops):
        raise InvalidReturn(CODE, f"greedy_until received until {until!r:.60}, expected texts", _USAGE)
    for key, value in given.items():
        if (expected := describe_expected_value(key, value)) is not None:
            raise InvalidReturn(
                CODE, f"greedy_until received {key} {value!r:.60}, expected {expected}", _USAGE
            )
    lengths = [given.pop(key) for key in _LENGTH_KEYS if key in given]
    length = next((int(length) for length in lengths if length is not None), None)
    return GenerationOptions(tuple(stops), length, tuple(map(str, given)))


class LeapRequestBuilder(NamedTuple):
    """Builds the asks of a task."""

    settings: TaskSettings
    first_until: tuple[str, ...] = ()
    """The stop texts of the task's first request; in the original, all texts use them."""

    @property
    def is_faithful(self) -> bool:
        """Whether to build asks like the original."""
        return self.settings.is_faithful

    def ask(self, wish: ParsedRequest, context: Context) -> Ask:
        """Return the ask for a request."""
        if wish.type == ROLLING:
            return Span(wish.continuation, 0, windows=Windows("classic"))
        prompt = self._prompt(wish, context)
        if wish.type == GREEDY_UNTIL:
            return Generate(prompt, self.build_sampling(wish))
        if isinstance(prompt, str):
            start = len(prompt if self.is_faithful else prompt.rstrip(" "))
            return Span(wish.context + wish.continuation, start)
        if prompt[-1].role == "assistant":
            begun = prompt[-1].text
            return Span(
                (*prompt[:-1], Message("assistant", begun + wish.continuation)), len(begun.rstrip(" "))
            )
        return Span((*prompt, Message("assistant", wish.continuation.strip() or wish.continuation)), 0)

    def labels(self, wishes: DocumentRequests, context: Context) -> Labels:
        """Return the options of a document as labels for the next token."""
        prompt = self._prompt(wishes.every[0], context)
        texts = [option.strip() for option in wishes.options]
        before = prompt.rstrip(" ") if isinstance(prompt, str) else prompt
        return Labels(before, tuple((f" {text}", text) for text in texts))

    def build_sampling(self, wish: ParsedRequest) -> Sampling:
        """Return the sampling parameters of a request."""
        settings, writing = self.settings, wish.writing or GenerationOptions(())
        is_original = self.is_faithful and not wish.is_classic
        usual = _ORIGINAL_MAX_TOKENS if is_original else writing.max_tokens or _MAX_TOKENS
        stops = self.first_until if is_original else writing.until
        temperature = settings.temperature
        if temperature is None:
            temperature = _ORIGINAL_TEMPERATURE if is_original else 0.0
        return Sampling(
            max_tokens=settings.max_tokens or usual,
            temperature=temperature,
            top_p=1.0 if settings.top_p is None else settings.top_p,
            stop=stops if settings.stop is None else settings.stop,
            seed=settings.seed if temperature > 0 else None,
        )

    def _prompt(self, wish: ParsedRequest, context: Context) -> Prompt:
        """Return the prompt before the answer; an author can have changed the context."""
        if context.messages is None:
            is_written = wish.type == GREEDY_UNTIL and not self.is_faithful
            return (wish.context.rstrip(" ") or wish.context) if is_written else wish.context
        if wish.context.strip() == context.text.strip():
            return context.messages
        if context.text and wish.context.startswith(context.text):
            return (*context.messages, Message("assistant", wish.context[len(context.text) :].lstrip(" ")))
        return (Message("user", wish.context),)


def format_unknown_options(wishes: Sequence[DocumentRequests]) -> str | None:
    """Return a note about the authors' options that are not sent to the model."""
    names = dict.fromkeys(
        name
        for requests in wishes
        for wish in requests.every
        if wish.writing
        for name in wish.writing.unknown
    )
    return f"the options {listing(names)} of greedy_until are not sent to the model" if names else None
