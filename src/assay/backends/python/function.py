"""Backend for a function of the calling program: `def answer(prompt: str) -> str`.

A function that raises, or returns something that is not a text, fails the sample. It never gives an answer.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from time import perf_counter
from typing import Annotated, Any

import msgspec

from assay.backends.arguments import read_arguments
from assay.backends.python.function_identity import UnknownIdentity, fingerprint_function
from assay.backends.python.signature import Takes, read_signature
from assay.core.errors import RAISED_BY_AUTHORS, find_raise_origin, reraise_interrupt
from assay.core.model import ModelCard, ModelIdentity, Token
from assay.core.prompt import AFTER_TURN, Prompt
from assay.core.request import Ask, Generate, Kind, Request, Sampling
from assay.core.response import Completion, Failure, Finish, Outcome, Output, Response
from assay.core.text_preview import shorten_text

_ASYNC_CONCURRENCY = 16
_BATCH_SIZE = 16
_SHOWN_CHARS = 200
RAISED, WRONG_TYPE = "raised", "wrong_type"
"""Kinds of failure: the function raised, or returned something that is not a text."""


class FunctionArgs(msgspec.Struct, frozen=True):
    """Arguments of a function used as a model."""

    takes: Takes | None = None
    """What one call receives. None: as the function's signature says."""
    concurrency: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Maximum concurrent calls. None: 16 of an async function, else 1."""
    batch_size: Annotated[int, msgspec.Meta(ge=1)] = _BATCH_SIZE
    """Maximum prompts in one call of a function that takes several."""
    version: str | None = None
    """Identifies the function's behaviour, so that its answers can be reused."""


class FunctionBackend:
    """A function that writes texts."""

    def __init__(self, name: str, function: Callable[..., Any], args: Mapping[str, str]) -> None:
        """Check arguments and signature; calls nothing."""
        self._args = read_arguments("a function", FunctionArgs, args)
        self._name = name
        self._function = function
        self._signature = read_signature(name, function, self._args.takes)
        self._unknown: str | None = None
        self._identity = self._identify()
        self._counts = {"calls": 0, "failed_calls": 0}
        self._n_ready = 0

    @property
    def card(self) -> ModelCard:
        """Return its abilities: it writes texts and reports no probabilities."""
        why = "a function returns a text, not the probability of one"
        return ModelCard(
            name=self._name,
            kinds=frozenset({Kind.GENERATE}),
            is_chat=True,
            is_cacheable=self._args.version is not None,
            has_windows=False,
            cannot={Kind.SPAN: why, Kind.LABELS: why},
        )

    def probe_card(self, kinds: frozenset[Kind], *, is_chat: bool) -> ModelCard:
        """Return the card: nothing needs to be probed."""
        return self.card

    def identity(self) -> ModelIdentity:
        """Return the function's identity: the version given by the user, or a hash of its code."""
        return self._identity

    def _identify(self) -> ModelIdentity:
        takes: dict[str, str | int | float | bool] = {"takes": self._signature.takes}
        if self._args.version is not None:
            named = {**takes, "version": self._args.version}
            return ModelIdentity("python", self._name, args=named, server="named")
        try:
            code = fingerprint_function(self._function)
        except UnknownIdentity as unknown:
            self._unknown = str(unknown)
            code = unknown.unique
        # Code does not say everything: it may query a service that changes.
        return ModelIdentity("python", self._name, weights=code, args=takes, server="unknown")

    def run(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Answer requests by calling the function, concurrently if that is set."""
        if self._signature.is_async:
            return self._run_async(requests, self._args.concurrency or _ASYNC_CONCURRENCY)
        if (self._args.concurrency or 1) > 1:
            return self._run_threads(requests, self._args.concurrency or 1)
        return self._run_here(requests)

    @property
    def has_more_at_hand(self) -> bool:
        """Return whether further answers of the same call follow."""
        return self._n_ready > 0

    def tokens(self, ask: Ask) -> Sequence[Token]:
        """Return no tokens: a function has no tokenizer."""
        return ()

    def n_tokens(self, ask: Ask) -> int | None:
        """Return None: the length in tokens is not known."""
        return None

    def stats(self) -> Mapping[str, float]:
        """Return the number of calls, and how many of them failed."""
        return {name: float(n) for name, n in self._counts.items()}

    def notes(self) -> Sequence[str]:
        """Return why the answers of this function cannot be reused, if that is so."""
        if self._unknown is None:
            return ()
        return (
            f"{self._name}: its answers are not reused, because {self._unknown}; to allow it, name its "
            'version: model_args={"version": "1"}',
        )

    def close(self) -> None:
        """Do nothing: the function belongs to the calling program."""

    # --- ways of calling ---

    def _run_here(self, requests: Iterable[Request]) -> Iterator[Response]:
        for group in self._group(requests):
            yield from self._hand_over(self._call(group))

    def _run_threads(self, requests: Iterable[Request], n: int) -> Iterator[Response]:
        groups = self._group(requests)
        pool = ThreadPoolExecutor(n, thread_name_prefix="assay-function")

        def submit(group: list[Request]) -> Future[list[Response]]:
            return pool.submit(contextvars.copy_context().run, self._call, group)

        try:
            pending = {submit(group) for group in islice(groups, n)}
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for one in done:
                    yield from self._hand_over(one.result())
                pending |= {submit(group) for group in islice(groups, n - len(pending))}
        finally:
            # Not waiting: a call that hangs must not keep an interrupted run.
            pool.shutdown(wait=False, cancel_futures=True)

    def _run_async(self, requests: Iterable[Request], n: int) -> Iterator[Response]:
        groups = self._group(requests)
        with asyncio.Runner() as runner:
            loop = runner.get_loop()
            pending = {loop.create_task(self._call_async(group)) for group in islice(groups, n)}
            while pending:
                done, pending = runner.run(_wait_for_first(pending))
                for one in done:
                    yield from self._hand_over(one.result())
                pending |= {
                    loop.create_task(self._call_async(group)) for group in islice(groups, n - len(pending))
                }

    def _group(self, requests: Iterable[Request]) -> Iterator[list[Request]]:
        """Yield the requests of each call: one, or a batch with the same sampling parameters."""
        size = self._args.batch_size if self._signature.is_batched else 1
        group: list[Request] = []
        for request in requests:
            if group and not _fit_one_call(group[0], request):
                yield group
                group = []
            group.append(request)
            if len(group) == size:
                yield group
                group = []
        if group:
            yield group

    def _hand_over(self, responses: list[Response]) -> Iterator[Response]:
        for at, response in enumerate(responses, 1):
            self._n_ready = len(responses) - at
            yield response

    def _call(self, group: list[Request]) -> list[Response]:
        """Call a function that is not async: nothing in the coroutine waits, so it ends at once."""
        try:
            self._call_async(group).send(None)
        except StopIteration as end:
            responses: list[Response] = end.value
            return responses
        raise AssertionError("a call without await has ended")

    async def _call_async(self, group: list[Request]) -> list[Response]:
        """Call the function once for each repeat; the first call that fails decides."""
        if not isinstance(group[0].ask, Generate):
            return self._respond(group, Failure("kind", f"{self._name} writes texts: use --method gen"), 0.0)
        began = perf_counter()
        texts: list[list[str]] = []
        failure: Failure | None = None
        sampling = group[0].ask.sampling
        for _ in range(sampling.n):
            try:
                reply = self._function(*self._collect_arguments(group), **self._collect_parameters(sampling))
                if self._signature.is_async:
                    reply = await reply
            except RAISED_BY_AUTHORS as error:
                reraise_interrupt(error)
                failure = self._describe_error(error)
                break
            read = self._read_reply(reply, group)
            if isinstance(read, Failure):
                failure = read
                break
            texts.append(read)
        return self._respond(group, failure or texts, perf_counter() - began)

    # --- arguments and replies ---

    def _collect_arguments(self, group: list[Request]) -> tuple[Any, ...]:
        prompts = [_render_prompt(request.ask.prompt, self._signature.takes) for request in group]
        return (prompts,) if self._signature.is_batched else (prompts[0],)

    def _collect_parameters(self, sampling: Sampling) -> dict[str, Any]:
        return {name: getattr(sampling, name) for name in self._signature.parameters}

    def _read_reply(self, reply: Any, group: list[Request]) -> list[str] | Failure:
        """Return the text for each prompt of a call; a failure if the function returned anything else."""
        if not self._signature.is_batched:
            if isinstance(reply, str):
                return [str(reply)]
            fix = "return the text of the answer"
            if reply is None:
                fix = "add a return statement with the text of the answer"
            elif asyncio.iscoroutine(reply):
                reply.close()
                fix = "declare the function itself with async def, so that Assay awaits it"
            elif isinstance(reply, (list, tuple)) and reply and isinstance(reply[0], str):
                fix = "return one text, or declare that it takes several prompts: prompts: list[str]"
            return self._reject(f"must return a str, but returned {_describe_value(reply)}", fix)
        if not isinstance(reply, (list, tuple)):
            fix = "return a list with one text for each prompt"
            return self._reject(f"must return a list of str, but returned {_describe_value(reply)}", fix)
        if len(reply) != len(group):
            fix = "return one text for each prompt, in the same order"
            return self._reject(f"returned {len(reply)} texts for {len(group)} prompts", fix)
        wrong = next((at for at, text in enumerate(reply) if not isinstance(text, str)), None)
        if wrong is not None:
            value = _describe_value(reply[wrong])
            return self._reject(f"must return a list of str, but item {wrong} is {value}", "return texts")
        return [str(text) for text in reply]

    def _reject(self, what: str, fix: str) -> Failure:
        return Failure(WRONG_TYPE, f"{self._name} {what}. Fix: {fix}")

    def _describe_error(self, error: BaseException) -> Failure:
        where = find_raise_origin(error)
        place = "" if where is None else f" ({where})"
        message = shorten_text(f"{error}".strip(), _SHOWN_CHARS)
        return Failure(RAISED, f"{type(error).__name__}{': ' if message else ''}{message}{place}")

    def _respond(
        self, group: list[Request], texts: list[list[str]] | Failure, seconds: float
    ) -> list[Response]:
        self._counts["calls"] += 1
        self._counts["failed_calls"] += isinstance(texts, Failure)
        share = seconds / len(group)
        responses = []
        for at, request in enumerate(group):
            outcome: Outcome
            if isinstance(texts, Failure):
                outcome = texts
            else:
                assert isinstance(request.ask, Generate)
                stops = request.ask.sampling.stop
                outcome = Completion(tuple(_cut(call[at], stops) for call in texts), n_prompt_tokens=0)
            responses.append(Response(request.id, request.key, outcome, share))
        return responses


async def _wait_for_first(
    pending: set[asyncio.Task[list[Response]]],
) -> tuple[set[asyncio.Task[list[Response]]], set[asyncio.Task[list[Response]]]]:
    return await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)


def _fit_one_call(one: Request, other: Request) -> bool:
    """Return whether two requests can be in one call: both for texts, with the same parameters."""
    return (
        isinstance(one.ask, Generate)
        and isinstance(other.ask, Generate)
        and one.ask.sampling == other.ask.sampling
    )


def _render_prompt(prompt: Prompt, takes: Takes) -> str | list[dict[str, str]]:
    """Return a prompt as the function takes it: as one text, or as messages."""
    if takes in ("messages", "conversations"):
        if isinstance(prompt, str):
            return [{"role": "user", "content": prompt}]
        return [{"role": message.role, "content": message.text} for message in prompt]
    return prompt if isinstance(prompt, str) else AFTER_TURN.join(message.text for message in prompt)


def _cut(text: str, stops: tuple[str, ...]) -> Output:
    """Return a text up to the first stop string: a function may not know of them."""
    places = [at for stop in stops if (at := text.find(stop)) >= 0]
    if places:
        return Output(text[: min(places)], Finish.STOP, 0)
    return Output(text, Finish.END, 0)


def _describe_value(value: object) -> str:
    if value is None:
        return "None"
    return f"{type(value).__name__} {shorten_text(repr(value), _SHOWN_CHARS)}"
