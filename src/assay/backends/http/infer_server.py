"""Backend for a model behind one of UltraEval's servers: `ultraeval:http://127.0.0.1:5002/infer`.

This module batches parts of requests into calls, sends them, and assembles the answers. `infer_protocol`
builds and reads them, `post` and `pull` send the calls.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec

from assay.backends.arguments import read_arguments
from assay.backends.http.addresses import check_address
from assay.backends.http.concurrency import FixedLevel
from assay.backends.http.infer_protocol import (
    NEUTRAL,
    SCORING,
    InferPart,
    Params,
    read_infer_replies,
    split_infer_request,
)
from assay.backends.http.post import CallTrouble, Endpoint, RetryPolicy, WholeJson
from assay.backends.http.pull import CompletionState, run_concurrently
from assay.backends.http.request_parts import PartAnswer, PendingRequests
from assay.backends.openai.model_report import Report, fetch_model_report
from assay.backends.problems import unknown_model_error
from assay.core.model import ModelCard, ModelIdentity, Token
from assay.core.request import Ask, Kind, Request
from assay.core.response import Completion, Failure, Finish, Likelihood, Output, Response

if TYPE_CHECKING:
    from assay.backends.http.client import HttpClient


MAX_WAITING_CALLS = 8
"""Parts wait until a call is full, but at most as many as fill this many calls."""


class InferCall:
    """Parts with equal params, and the texts to send for them. Equal texts to score are sent once."""

    def __init__(self, parts: Iterable[InferPart] = ()) -> None:
        self.parts: list[InferPart] = []
        self.instances: list[str] = []
        self._places: list[list[int]] = []
        self._known: dict[str, int] = {}
        for part in parts:
            self.add(part)

    def add(self, part: InferPart) -> None:
        """Add a part. The options of a question share their context, which is sent once."""
        self.parts.append(part)
        self._places.append([self._place(text, part.params) for text in part.instances])

    def n_more(self, part: InferPart) -> int:
        """Return how many texts a part would add."""
        if part.params != SCORING:
            return len(part.instances)
        return sum(text not in self._known for text in part.instances)

    def _place(self, text: str, params: Params) -> int:
        if params == SCORING and text in self._known:
            return self._known[text]
        self._known[text] = len(self.instances)
        self.instances.append(text)
        return len(self.instances) - 1

    def shares(self, replies: Sequence[object]) -> Iterator[tuple[InferPart, list[object]]]:
        """Yield each part with the replies to its own texts."""
        for part, places in zip(self.parts, self._places, strict=True):
            yield part, [replies[place] for place in places]

    def halves(self) -> tuple[InferCall, InferCall]:
        """Split the parts into two calls."""
        middle = len(self.parts) // 2
        return InferCall(self.parts[:middle]), InferCall(self.parts[middle:])


class Batches:
    """Collects parts until they fill a call of `n_texts` texts; a larger part is sent alone.

    Parameters with a `batch_size` have their own number.
    """

    def __init__(self, n_texts: int) -> None:
        self._n_texts = n_texts
        self._waiting: dict[Params, InferCall] = {}
        self._n_waiting = 0

    def add(self, part: InferPart) -> Iterator[InferCall]:
        """Add a part; yield the calls to send now."""
        waiting = self._waiting.get(part.params)
        n_texts = part.params.batch_size or self._n_texts
        if waiting is not None and len(waiting.instances) + waiting.n_more(part) > n_texts:
            yield self._take_call(part.params)
        call = self._waiting.setdefault(part.params, InferCall())
        call.add(part)
        self._n_waiting += 1
        if len(call.instances) >= n_texts:
            yield self._take_call(part.params)
        elif self._n_waiting >= MAX_WAITING_CALLS * max(self._n_texts, n_texts):
            yield self._take_call(max(self._waiting, key=lambda params: len(self._waiting[params].parts)))

    def drain(self) -> Iterator[InferCall]:
        """Yield the calls that are still waiting."""
        while self._waiting:
            yield self._take_call(next(iter(self._waiting)))

    def _take_call(self, params: Params) -> InferCall:
        call = self._waiting.pop(params)
        self._n_waiting -= len(call.parts)
        return call


Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]


class InferArgs(msgspec.Struct, frozen=True):
    """Arguments of the client."""

    model: str | None = None
    """The name of the server's model, which the original's servers do not report. Without it, Assay does not
    reuse a finished run or cache answers."""
    batch_size: Positive = 16
    """Texts in one call."""
    concurrency: Positive = 8
    """Maximum concurrent calls."""
    timeout_s: Annotated[float, msgspec.Meta(gt=0)] = 600.0
    """Timeout of one attempt."""
    retries: Annotated[int, msgspec.Meta(ge=0)] = 5
    """Attempts after the first, if the error may be temporary."""
    retry_wait_s: Annotated[float, msgspec.Meta(ge=0)] = 1.0
    """Wait before the first retry, reduced by up to half at random; doubles each time, at most 60 s."""


class InferServerBackend:
    """Client of a server that accepts params and instances."""

    def __init__(self, where: str, args: Mapping[str, str]) -> None:
        """Check the address and the arguments; opens no connection."""
        self._args = read_arguments("ultraeval", InferArgs, args)
        self._url = _check_url(where)
        self._name = f"ultraeval:{where}"
        patience = RetryPolicy(self._args.timeout_s, self._args.retries, self._args.retry_wait_s)
        self._level = FixedLevel(self._args.concurrency)
        self._endpoint = Endpoint(self._url, patience, level=self._level)
        self._n_texts = 0
        self._ended = CompletionState()
        self._n_maybe_cut = 0
        self._server_keeps: set[str] = set()
        """Further parameters that earlier calls have set, which the server keeps."""

    @property
    def card(self) -> ModelCard:
        """Return the server's abilities: scoring and continuing plain texts."""
        return ModelCard(
            name=self._name,
            kinds=frozenset({Kind.SPAN, Kind.GENERATE}),
            is_chat=False,
            has_windows=False,
            takes_parameters=True,
        )

    def probe_card(self, kinds: frozenset[Kind], *, is_chat: bool) -> ModelCard:
        """Return the card: nothing needs to be probed."""
        return self.card

    def identity(self) -> ModelIdentity:
        """Return the address, the model's name if one was given, and the server's report."""
        name = self._args.model or ""
        named: dict[str, str | int | float | bool] = {"model": name} if name else {}
        server: Literal["reports", "named", "unknown"] = "named" if name else "unknown"
        # The original's servers have no list of models, but other servers with this protocol may.
        report = self._report
        if report is not None:
            server = "reports"
        return ModelIdentity("ultraeval", self._name, args=named, reported=report or {}, server=server)

    @cached_property
    def _report(self) -> Report | None:
        address = urlsplit(self._url)
        return fetch_model_report(f"{address.scheme}://{address.netloc}/v1", self._args.model or "")

    def run(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Send concurrent calls; pull the next request when a call ends."""
        pending = PendingRequests()
        jobs = self._jobs(requests, pending)
        for answers in run_concurrently(
            jobs, self._work, url=self._url, level=self._level, ended=self._ended
        ):
            if isinstance(answers, Response):
                yield answers
                continue
            for answer in answers:
                if (response := pending.complete(answer)) is not None:
                    yield self._count_response(response)

    @property
    def has_more_at_hand(self) -> bool:
        """Return whether another call has already ended."""
        return self._ended.has_more

    def tokens(self, ask: Ask) -> Sequence[Token]:
        """Return no tokens: the server does not report them."""
        return ()

    def n_tokens(self, ask: Ask) -> int | None:
        """Return None: the server does not count tokens."""
        return None

    def stats(self) -> Mapping[str, float]:
        """Return the number of calls, of texts in them, and of retries."""
        return {
            "calls": float(self._endpoint.n_calls),
            "texts": float(self._n_texts),
            "retries": float(self._endpoint.n_retries),
        }

    def notes(self) -> Sequence[str]:
        """Return a note about texts that may be truncated."""
        if not self._n_maybe_cut:
            return ()
        return (
            f"{self._name} does not report why a text ended: {self._n_maybe_cut:,} texts that are long "
            "enough to have reached max_tokens count as truncated",
        )

    def close(self) -> None:
        """Do nothing: connections close at the end of each run."""

    # --- collecting requests ---

    def _jobs(self, requests: Iterable[Request], pending: PendingRequests) -> Iterator[InferCall | Response]:
        """Yield calls as they become full, and the responses to requests that need no call."""
        batches = Batches(self._args.batch_size)
        for request in requests:
            parts = split_infer_request(request)
            if isinstance(parts, Failure):
                yield Response(request.id, request.key, parts)
                continue
            pending.expect(request, len(parts))
            for part in parts:
                yield from batches.add(part)
        yield from batches.drain()

    def _count_response(self, response: Response) -> Response:
        if isinstance(response.outcome, Completion):
            self._n_maybe_cut += sum(output.finish is Finish.LENGTH for output in response.outcome.outputs)
        return response

    # --- sending: on the loop's thread ---

    async def _work(self, client: HttpClient, job: InferCall | Response) -> list[PartAnswer] | Response:
        return job if isinstance(job, Response) else await self._answer_call(client, job)

    def _params(self, params: Params) -> dict[str, Any]:
        """Return the params of a call, with the initial values of those that only an earlier call set."""
        self._server_keeps |= params.further.keys() & NEUTRAL.keys()
        reset = {name: NEUTRAL[name] for name in sorted(self._server_keeps)}
        return {**reset, **params.fields()}

    async def _answer_call(
        self, client: HttpClient, call: InferCall, *, is_half: bool = False
    ) -> list[PartAnswer]:
        """Return the answers to a call. If it keeps failing, its halves are tried, down to the faulty part.

        The whole call and single parts get all attempts; the halves between them get one each.
        """
        began = time.perf_counter()
        self._n_texts += len(call.instances)
        document = {"params": self._params(call.parts[0].params), "instances": call.instances}
        is_single = len(call.parts) == 1
        try:
            is_patient = is_single or not is_half
            reply: Any = await self._endpoint.post(client, document, WholeJson, is_patient=is_patient)
            replies = _check_reply(reply, len(call.instances))
        except CallTrouble as trouble:
            if is_single:
                failure = Failure(trouble.kind, str(trouble), trouble.attempts)
                return [_answer(call.parts[0], failure, time.perf_counter() - began)]
            return [
                answer
                for half in call.halves()
                for answer in await self._answer_call(client, half, is_half=True)
            ]
        seconds = (time.perf_counter() - began) / len(call.parts)
        return [_answer(part, read_infer_replies(part, mine), seconds) for part, mine in call.shares(replies)]


def _answer(part: InferPart, outcome: Output | Likelihood | Failure, seconds: float) -> PartAnswer:
    texts = (outcome,) if isinstance(outcome, Output) else outcome
    return PartAnswer(part.request, part.number, texts, seconds)


def _check_reply(reply: object, n_expected: int) -> list[object]:
    if not isinstance(reply, list):
        kind = type(reply).__name__
        what = f"expected a list of {n_expected} replies, but the server sent a {kind}"
        raise CallTrouble("wrong_reply", what)
    if len(reply) != n_expected:
        raise CallTrouble("wrong_reply", f"expected {n_expected} replies, but the server sent {len(reply)}")
    return reply


def _check_url(url: str) -> str:
    example = "write ultraeval:http://127.0.0.1:5002/infer"
    if not url:
        raise unknown_model_error("ultraeval needs the address of a server", example)
    return check_address(url, example)
