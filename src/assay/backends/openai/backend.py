"""Backend for a model behind an OpenAI-compatible address: `openai:MODEL@http://127.0.0.1:8000/v1`.

This module runs concurrent calls and assembles the texts of each request. `protocol` builds the bodies and
reads the replies, `arguments` declares the settings, `http.post` and `http.pull` send the calls.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from assay.backends.http.batches import BatchRecords
from assay.backends.http.concurrency import MOST, AdaptiveLevel, FixedLevel, Level
from assay.backends.http.exchange import HttpReply
from assay.backends.http.open_files import raise_connection_limit
from assay.backends.http.post import CallTrouble, Endpoint, RetryPolicy
from assay.backends.http.pull import CompletionState, run_concurrently
from assay.backends.http.request_parts import PartAnswer, PendingRequests
from assay.backends.http.text_protocol import OPENAI, TextProtocol
from assay.backends.local.media_bytes import MediaTrouble
from assay.backends.openai.address import fetch_first_model
from assay.backends.openai.arguments import OpenAISettings, read_key
from assay.backends.openai.batch_run import BatchRun
from assay.backends.openai.model_report import Report
from assay.backends.openai.protocol import (
    GenerationPart,
    OpenAIReply,
    build_thoughts,
    count_prompt_tokens,
    count_written_tokens,
    get_bill,
    read_texts,
    select_api,
    split_generation,
)
from assay.backends.openai.rejected_fields import suggest_fix
from assay.backends.openai.reply_reader import TimedReply
from assay.backends.openai.scoring import ServerScoring
from assay.backends.openai.thinking import ThinkingCheck
from assay.backends.problems import argument_error
from assay.core.billing import Bill
from assay.core.media import Medium
from assay.core.model import ModelCard, ModelIdentity, Token
from assay.core.prompt import find_media
from assay.core.request import Ask, Generate, Kind, Labels, Request, Span
from assay.core.response import Failure, LabelProbs, Likelihood, Output, Response
from assay.core.secrets import mask_secret

if TYPE_CHECKING:
    from assay.backends.http.client import HttpClient


class OpenAIBackend:
    """Client of a server with chat or completions endpoints."""

    def __init__(self, where: str, args: Mapping[str, str], protocol: TextProtocol = OPENAI) -> None:
        """Check the address, the arguments and that a named key exists; opens no connection."""
        self._protocol = protocol
        self._settings = protocol.read_settings(args)
        address = protocol.read_address(where)
        self._given_name = address.model
        self._name = f"{protocol.name}:{address.model}@{address.url}"
        given = self._settings.args
        patience = RetryPolicy(
            given.timeout_s,
            given.retries,
            given.retry_wait_s,
            idle_s=given.idle_s,
            retries_statuses=given.retry_statuses,
            gives_up=True,
        )
        self._level = _level(given.concurrency)
        self._key = key = read_key(given, protocol.key_variable)
        headers = protocol.build_headers(key)
        self._endpoint = Endpoint(
            address.url,
            patience,
            key=key,
            fix=address.fix,
            level=self._level,
            headers=headers,
            key_variable=protocol.key_variable,
        )
        # vLLM's additions to the protocol are next to /v1. They do no model work, so no level counts them.
        self._root = Endpoint(address.url.removesuffix("/v1"), patience, key=key, fix=address.fix)
        self._scoring = ServerScoring(self._endpoint, self._root, lambda: self._model, self._settings)
        self._card: ModelCard | None = None
        self._n_without_reason = 0
        self._ended = CompletionState()
        self._is_stream = given.stream is not False
        self._notes: list[str] = []
        self._thoughts = build_thoughts(self._settings)
        if given.batch is not None:
            _check_batch(protocol, self._settings)
        self._check = ThinkingCheck(self._settings.thinking, given.thinking_budget_name)

    @property
    def card(self) -> ModelCard:
        """Return the server's abilities: generation, and what else probing found."""
        if self._settings.args.batch is not None:
            return self._batch_card
        if self._card is not None:
            return self._card
        is_chat = self._settings.args.api != "completions"
        return ModelCard(
            name=self._name,
            kinds=frozenset({Kind.GENERATE}),
            is_chat=is_chat,
            has_windows=False,
            media=frozenset(Medium) if is_chat else frozenset(),
            fetches_media=is_chat,
            thinks=self._thoughts.is_requested,
        )

    @property
    def _batch_card(self) -> ModelCard:
        is_chat = self._settings.args.api != "completions"
        why = "--batch sends only requests for generated text"
        return ModelCard(
            name=self._name,
            kinds=frozenset({Kind.GENERATE}),
            is_chat=is_chat,
            has_windows=False,
            media=frozenset(Medium) if is_chat else frozenset(),
            fetches_media=is_chat,
            cannot=dict.fromkeys((Kind.SPAN, Kind.LABELS), why),
            thinks=self._thoughts.is_requested,
        )

    def probe_card(self, kinds: frozenset[Kind], *, is_chat: bool) -> ModelCard:
        """Probe the server with short calls if more than generation is needed."""
        if self._settings.args.batch is None and kinds - {Kind.GENERATE}:
            self._card = self._scoring.describe(self.card, kinds, is_chat=is_chat)
            if not kinds <= self._card.kinds:
                # If one method is not available, the error lists those that are.
                self._card = self._scoring.describe(self._card, frozenset(Kind), is_chat=is_chat)
        return self.card

    def identity(self) -> ModelIdentity:
        """Return the address, the model's name, the settings that change answers, and the server's report."""
        args = self._protocol.collect_identity_args(self._settings)
        if self._model != self._given_name:
            args["model"] = self._model
        report = self._report
        server: Literal["reports", "named", "unknown"] = "named" if self._model else "unknown"
        if report is not None:
            server = "reports"
        return ModelIdentity(self._protocol.name, self._name, args=args, reported=report or {}, server=server)

    @cached_property
    def _report(self) -> Report | None:
        return self._protocol.report(self._endpoint.url, self._model, self._key)

    def run(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Send concurrent calls; pull the next request when a call ends."""
        pending = PendingRequests()
        jobs = self._jobs(requests, pending)
        if self._settings.args.batch is not None:
            yield from self._run_batches(jobs, pending)
            return
        url = self._endpoint.url
        for done in run_concurrently(jobs, self._work, url=url, level=self._level, ended=self._ended):
            response = done if isinstance(done, Response) else pending.complete(done)
            if response is not None:
                # Some servers repeat the API key in their replies.
                yield response if self._key is None else mask_secret(response, self._key)

    def _run_batches(
        self, jobs: Iterable[GenerationPart | Request | Response], pending: PendingRequests
    ) -> Iterator[Response]:
        """Send all requests through the batch endpoint; yield their responses as batches end."""
        parts: dict[str, GenerationPart] = {}
        bodies: dict[str, Mapping[str, Any]] = {}
        for job in jobs:
            if isinstance(job, GenerationPart):
                custom_id = f"{job.request.key}-{job.number}"
                try:
                    bodies[custom_id] = self._build_body(job, is_stream=False)
                    parts[custom_id] = job
                except MediaTrouble as trouble:
                    answer = PartAnswer(job.request, job.number, Failure("media", str(trouble)), 0.0)
                    if (response := pending.complete(answer)) is not None:
                        yield response
            elif isinstance(job, Response):
                yield job
        paths = {
            custom_id: self._protocol.path(part.ask, self._model, self._settings, is_stream=False)
            for custom_id, part in parts.items()
        }
        for custom_id, content in self._batch_run.run(bodies, paths):
            part = parts[custom_id]
            response = pending.complete(self._read_result(part, content))
            if response is not None:
                yield response if self._key is None else mask_secret(response, self._key)

    @cached_property
    def _batch_run(self) -> BatchRun:
        args, batches = self._settings.args, self._protocol.batches
        assert batches is not None  # Checked when the backend was created.
        model = msgspec.to_builtins(self.identity().deciding)
        return BatchRun(
            batches,
            self._endpoint,
            BatchRecords(model),
            poll_s=args.batch_poll_s,
            retries=args.retries,
            resumes=args.batch == "resume",
        )

    def _read_result(self, part: GenerationPart, content: bytes | Failure) -> PartAnswer:
        """Return the answer in one result of a batch."""
        if isinstance(content, Failure):
            return PartAnswer(part.request, part.number, content, 0.0)
        reading = self._protocol.create_reader(part.ask)
        try:
            reply, _ = reading.read(HttpReply(200, {}, content, time.perf_counter()))
        except CallTrouble as trouble:
            return PartAnswer(part.request, part.number, Failure(trouble.kind, str(trouble)), 0.0)
        outputs = self._read_outputs(reply, part)
        n_read = count_prompt_tokens(reply)
        return PartAnswer(part.request, part.number, outputs, 0.0, n_read, bill=get_bill(reply))

    @property
    def has_more_at_hand(self) -> bool:
        """Return whether another call has already ended."""
        return self._ended.has_more

    def tokens(self, ask: Ask) -> Sequence[Token]:
        """Return no tokens: the server does not report them."""
        return ()

    def n_tokens(self, ask: Ask) -> int | None:
        """Return None: the server counts tokens only in its answers."""
        return None

    def stats(self) -> Mapping[str, float]:
        """Return the number of calls, retries and rejections, and the concurrency."""
        endpoints = (self._endpoint, self._root)
        return {
            "calls": float(sum(endpoint.n_calls for endpoint in endpoints)),
            "retries": float(sum(endpoint.n_retries for endpoint in endpoints)),
            "refusals": float(self._level.n_refused),
            "concurrency": float(self._level.limit),
            "highest_concurrency": float(self._level.highest),
        }

    def notes(self) -> Sequence[str]:
        """Return notes about retries, reduced concurrency and missing finish reasons."""
        notes = list(self._notes)
        if self._endpoint.retries:
            reasons = ", ".join(f"{why} ({n:,})" for why, n in self._endpoint.retries.most_common())
            notes.append(f"{self._name}: {self._endpoint.n_retries:,} calls were retried after {reasons}")
        if self._level.n_falls:
            notes.append(
                f"{self._name} was overloaded: Assay reduced the number of concurrent requests from at most "
                f"{self._level.highest:,} to {self._level.limit:,}; --concurrency N sets a fixed number"
            )
        if self._n_without_reason:
            notes.append(
                f"{self._name} did not report why {self._n_without_reason:,} texts ended: they count as "
                "complete unless they reached the maximum number of tokens"
            )
        if "_batch_run" in self.__dict__:
            batch = self._batch_run
            notes.append(
                f"{self._name}: batches submitted: {batch.n_submitted:,}, resumed from an earlier start: "
                f"{batch.n_resumed:,}; requests sent again: {batch.n_sent_again:,}"
            )
        return [*notes, *self._check.notes(self._name), *self._scoring.notes(self._name)]

    def close(self) -> None:
        """Do nothing: connections close at the end of each run."""

    # --- collecting requests: on the caller's thread ---

    @cached_property
    def _model(self) -> str:
        """Return the model's name; the first one that the server lists if none was given."""
        if self._given_name or not self._protocol.lists_models:
            return self._given_name
        [name] = run_concurrently([None], self._list_models, url=self._endpoint.url, level=FixedLevel(1))
        return name

    def _jobs(
        self, requests: Iterable[Request], pending: PendingRequests
    ) -> Iterator[GenerationPart | Request | Response]:
        """Yield the calls to send, and the responses to requests that need no call."""
        for request in requests:
            _ = self._model  # Fetched here: not on the loop's thread, and not without a request.
            if not isinstance(request.ask, Generate):
                job = self._scoring_job(request, request.ask)
                if isinstance(job, Request):
                    pending.expect(request, 1)
                yield job
                continue
            parts = self._parts(request, request.ask)
            if isinstance(parts, Failure):
                yield Response(request.id, request.key, parts)
                continue
            pending.expect(request, len(parts))
            yield from parts

    def _parts(self, request: Request, ask: Generate) -> list[GenerationPart] | Failure:
        return split_generation(request, self._settings)

    def _scoring_job(self, request: Request, ask: Span | Labels) -> Request | Response:
        """Return the request once the server's abilities are known, or the response if it is invalid."""
        if (trouble := self._scoring.find_invalid(ask)) is not None:
            return Response(request.id, request.key, trouble)
        self._scoring.learn(frozenset({ask.kind}), select_api(ask.prompt, self._settings))
        return request

    # --- sending: on the loop's thread ---

    async def _list_models(self, client: HttpClient, _: None) -> str:
        return await fetch_first_model(self._endpoint, client)

    async def _work(
        self, client: HttpClient, job: GenerationPart | Request | Response
    ) -> PartAnswer | Response:
        if isinstance(job, Request):
            return await self._answer_scoring(client, job)
        return job if isinstance(job, Response) else await self._answer_part(client, job)

    async def _answer_scoring(self, client: HttpClient, request: Request) -> PartAnswer:
        """Return the answer to a scoring request: a likelihood or label probabilities."""
        began = time.perf_counter()
        outcome: Likelihood | LabelProbs | Failure
        assert not isinstance(request.ask, Generate)
        try:
            outcome = await self._scoring.outcome(client, request.ask)
        except CallTrouble as trouble:
            outcome = Failure(trouble.kind, str(trouble), trouble.attempts)
        except MediaTrouble as trouble:
            outcome = Failure("media", str(trouble))
        return PartAnswer(request, 0, outcome, time.perf_counter() - began)

    async def _answer_part(self, client: HttpClient, part: GenerationPart) -> PartAnswer:
        """Return the texts of a part, or why it failed."""
        began = time.perf_counter()
        try:
            texts = await self._texts(client, part)
        except CallTrouble as trouble:
            texts = _PartTexts(Failure(trouble.kind, str(trouble), trouble.attempts))
        except MediaTrouble as trouble:
            texts = _PartTexts(Failure("media", str(trouble)))
        seconds = time.perf_counter() - began
        return PartAnswer(
            part.request,
            part.number,
            texts.outcome,
            seconds,
            texts.n_prompt_tokens,
            texts.first_s,
            texts.bill,
        )

    async def _texts(self, client: HttpClient, part: GenerationPart) -> _PartTexts:
        """Return a part's texts. A server that sends fewer texts than requested gets another call."""
        reply, first_s = await self._reply(client, part)
        outputs = self._read_outputs(reply, part)
        n_read, bill = count_prompt_tokens(reply), get_bill(reply)
        if isinstance(outputs, Failure):
            return _PartTexts(outputs, n_read, first_s, bill)
        rest = part.after(len(outputs))
        if not rest.n_texts:
            return _PartTexts(outputs, n_read, first_s, bill)
        more = await self._texts(client, rest)
        texts = more.outcome if isinstance(more.outcome, Failure) else outputs + more.outcome
        return _PartTexts(texts, n_read, first_s, bill.plus(more.bill or Bill()))

    def _read_outputs(self, reply: OpenAIReply, part: GenerationPart) -> tuple[Output, ...] | Failure:
        """Return the texts of a reply, and count what it reports about them."""
        written = read_texts(
            reply, part.ask, offers_tools=bool(self._settings.tools), thoughts=self._thoughts
        )
        if isinstance(written, Failure):
            return written
        written = written[: part.n_texts]
        self._n_without_reason += sum(not text.is_end_reported for text in written)
        self._check.n_estimated += sum(text.is_estimated for text in written)
        self._check.n_unmarked += sum(text.is_unmarked for text in written)
        outputs = tuple(text.output for text in written)
        for output in outputs:
            self._check.add(output)
        return outputs

    async def _reply(self, client: HttpClient, part: GenerationPart) -> TimedReply:
        is_stream = self._is_stream
        try:
            return await self._post_part(client, part, is_stream=is_stream)
        except CallTrouble as trouble:
            if not (is_stream and self._settings.args.stream is None and _is_about_streams(trouble)):
                trouble.args = (f"{trouble}{suggest_fix(str(trouble), self._settings.thinking)}",)
                raise
        if self._is_stream:
            self._is_stream = False
            self._notes.append(f"{self._name} does not support streaming: TTFT is unknown")
        return await self._post_part(client, part, is_stream=False)

    async def _post_part(self, client: HttpClient, part: GenerationPart, *, is_stream: bool) -> TimedReply:
        prompt = part.ask.prompt
        build = partial(self._build_body, part, is_stream=is_stream)
        # Reading media files takes time: other calls continue meanwhile.
        body = await asyncio.to_thread(build) if find_media(prompt) else build()
        path = self._protocol.path(part.ask, self._model, self._settings, is_stream=is_stream)
        reading = partial(self._protocol.create_reader, part.ask)
        return await self._endpoint.post(client, body, reading, path=path, n_tokens=_n_written)

    def _build_body(self, part: GenerationPart, *, is_stream: bool) -> dict[str, Any]:
        return self._protocol.body(
            part.ask,
            self._model,
            self._settings,
            is_stream=is_stream,
            seed=part.seed,
            n_texts=part.n_texts,
        )


def _n_written(read: TimedReply) -> int:
    return count_written_tokens(read.reply)


def _check_batch(protocol: TextProtocol, settings: OpenAISettings) -> None:
    """Raise MODEL-002 if a protocol or its arguments do not go with batches."""
    if protocol.batches is None:
        what = f"--batch: {protocol.name} has no batch endpoint that Assay supports"
        raise argument_error(what, "remove --batch, or use openai:MODEL@URL or anthropic:MODEL")
    if settings.args.n_per_call > 1:
        raise argument_error("--batch and n_per_call cannot be combined", "remove n_per_call")


def _level(concurrency: int | None) -> Level:
    if concurrency is not None:
        return FixedLevel(concurrency)
    return AdaptiveLevel(most=raise_connection_limit(MOST))


def _is_about_streams(trouble: CallTrouble) -> bool:
    """Return whether a server rejects streaming, which says nothing about the request itself."""
    return trouble.kind == "refused" and "stream" in str(trouble).lower()


class _PartTexts(NamedTuple):
    """The texts of a part, or why it failed, with the server's counts and timing."""

    outcome: tuple[Output, ...] | Failure
    n_prompt_tokens: int = 0
    first_s: float = 0.0
    bill: Bill | None = None
