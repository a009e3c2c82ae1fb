"""A model behind an OpenAI-compatible address: `openai:MODEL@http://127.0.0.1:8000/v1`.

This file keeps calls under way and puts the texts of a request together; what is said in them is in
`openai_protocol`, what can be set in `openai_arguments`, how they travel in `http_post` and `http_pull`.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from assay.backends.addresses import checked_address
from assay.backends.http_post import CallTrouble, Endpoint, Patience
from assay.backends.http_pull import in_flight
from assay.backends.media_bytes import MediaTrouble
from assay.backends.openai_arguments import read_asked, read_key
from assay.backends.openai_protocol import (
    PATHS,
    Part,
    Reply,
    api_of,
    body_of,
    checked,
    decoded,
    model_ids,
    n_prompt_tokens,
    parts_of,
    read,
)
from assay.backends.openai_scoring import ServerScoring
from assay.backends.openai_stream import StreamedReply
from assay.backends.problems import no_such_endpoint, unknown_model, unreachable
from assay.backends.request_parts import Answer, UnderWay
from assay.core.media import Medium
from assay.core.model import ModelCard, ModelIdentity, Token
from assay.core.prompt import media_of
from assay.core.request import Ask, Generate, Kind, Labels, Request, Span
from assay.core.response import Failure, Outcome, Output, Response

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

EXAMPLE = "write openai:MODEL@http://127.0.0.1:8000/v1, or openai:@http://... for the server's first model"
FEWEST_LOST = 32
"""Calls lost in a row before a server that still takes connections counts as gone."""
_WHERE = re.compile(r"(?P<model>.*?)@(?P<url>https?://.*)", re.DOTALL)


class OpenAIBackend:
    """The client of a server that takes chats and completions."""

    def __init__(self, where: str, args: Mapping[str, str]) -> None:
        """Check the address, the arguments and that a named key is there; connects to nothing."""
        self._asked = read_asked(args)
        self._named, url = _split(where)
        self._name = f"openai:{self._named}@{url}"
        given = self._asked.args
        patience = Patience(
            given.timeout_s,
            given.retries,
            given.retry_wait_s,
            lost_in_a_row=max(FEWEST_LOST, 2 * given.concurrency),
        )
        fix = f"give the address up to /v1, and a model that {url}/models lists"
        key = read_key(given)
        self._endpoint = Endpoint(url, patience, key=key, fix=fix)
        # What vLLM has beside the protocol lies beside /v1.
        self._root = Endpoint(url.removesuffix("/v1"), patience, key=key, fix=fix)
        self._scoring = ServerScoring(self._endpoint, self._root, lambda: self._model, self._asked)
        self._card: ModelCard | None = None
        self._n_unsaid = 0

    @property
    def card(self) -> ModelCard:
        """Return what such a server is asked for: texts, and what else it was found to do."""
        if self._card is not None:
            return self._card
        is_chat = self._asked.args.api != "completions"
        return ModelCard(
            name=self._name,
            kinds=frozenset({Kind.GENERATE}),
            is_chat=is_chat,
            has_windows=False,
            media=frozenset(Medium) if is_chat else frozenset(),
            fetches_media=is_chat,
        )

    def probed(self, kinds: frozenset[Kind], *, is_chat: bool) -> ModelCard:
        """Ask the server for a token or two, where more than texts is wanted of it."""
        if kinds - {Kind.GENERATE}:
            self._card = self._scoring.described(self.card, kinds, is_chat=is_chat)
            if not kinds <= self._card.kinds:
                # Who cannot have one method is told which others there are.
                self._card = self._scoring.described(self._card, frozenset(Kind), is_chat=is_chat)
        return self.card

    def identity(self) -> ModelIdentity:
        """Return the address, the model's name there, and what is set on it. Asks for a name not given."""
        args = self._asked.changing_answers()
        if not self._named:
            args["model"] = self._model
        return ModelIdentity("openai", self._name, args=args)

    def run(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Keep some calls under way; pull requests as places become free."""
        under_way = UnderWay()
        jobs = self._jobs(requests, under_way)
        for done in in_flight(jobs, self._work, at_most=self._asked.args.concurrency):
            response = done if isinstance(done, Response) else under_way.complete(done)
            if response is not None:
                yield response

    def tokens(self, ask: Ask) -> Sequence[Token]:
        """Return nothing: the server does not show its tokens."""
        return ()

    def n_tokens(self, ask: Ask) -> int | None:
        """Return None: the server counts only what it answers."""
        return None

    def stats(self) -> Mapping[str, float]:
        """Return calls made, and how often one was repeated."""
        both = (self._endpoint, self._root)
        return {
            "calls": float(sum(one.n_calls for one in both)),
            "retries": float(sum(one.n_retries for one in both)),
        }

    def notes(self) -> Sequence[str]:
        """Say what had to be asked again, and what the server left open."""
        notes = []
        if self._endpoint.retries:
            reasons = ", ".join(f"{why} ({n:,})" for why, n in self._endpoint.retries.most_common())
            notes.append(f"{self._name}: {self._endpoint.n_retries:,} calls were repeated after {reasons}")
        if self._n_unsaid:
            notes.append(
                f"{self._name} did not say why {self._n_unsaid:,} texts ended: they count as ended by "
                "themselves unless as many tokens as allowed were written"
            )
        return [*notes, *self._scoring.notes(self._name)]

    def close(self) -> None:
        """Nothing to let go of: connections end with each run."""

    # --- gathering: on the caller's thread ---

    @cached_property
    def _model(self) -> str:
        """Return the model's name; the first one that the server lists, when the person gave none."""
        if self._named:
            return self._named
        [name] = in_flight([None], self._first_listed, at_most=1)
        return name

    def _jobs(self, requests: Iterable[Request], under_way: UnderWay) -> Iterator[Part | Request | Response]:
        """Yield what to ask for, and the responses to what no server needs to be asked."""
        for request in requests:
            _ = self._model  # Asked for here, if at all: not on the loop's thread, not without a request.
            if not isinstance(request.ask, Generate):
                yield self._scoring_job(request, request.ask)
                continue
            parts = parts_of(request, self._asked)
            if isinstance(parts, Failure):
                yield Response(request.id, request.key, parts)
                continue
            under_way.expect(request, len(parts))
            yield from parts

    def _scoring_job(self, request: Request, ask: Span | Labels) -> Request | Response:
        """Return what is no text to be asked for, once it is known how the server is asked for such."""
        if (trouble := self._scoring.refused(ask)) is not None:
            return Response(request.id, request.key, trouble)
        self._scoring.learn(frozenset({ask.kind}), api_of(ask.prompt, self._asked))
        return request

    # --- sending: on the loop's thread ---

    async def _work(self, session: ClientSession, job: Part | Request | Response) -> Answer | Response:
        if isinstance(job, Request):
            return await self._scored(session, job)
        return job if isinstance(job, Response) else await self._answered(session, job)

    async def _scored(self, session: ClientSession, request: Request) -> Response:
        """Return the response to what is no text: a likelihood, or probabilities."""
        began = time.perf_counter()
        outcome: Outcome
        assert not isinstance(request.ask, Generate)
        try:
            outcome = await self._scoring.outcome(session, request.ask)
        except CallTrouble as trouble:
            outcome = Failure(trouble.kind, str(trouble), trouble.attempts)
        except MediaTrouble as trouble:
            outcome = Failure("media", str(trouble))
        return Response(request.id, request.key, outcome, time.perf_counter() - began)

    async def _answered(self, session: ClientSession, part: Part) -> Answer:
        """Return the texts of a part, or why there are none."""
        began = time.perf_counter()
        n_read = 0
        outcome: tuple[Output, ...] | Failure
        try:
            outcome, n_read = await self._texts(session, part)
        except CallTrouble as trouble:
            outcome = Failure(trouble.kind, str(trouble), trouble.attempts)
        except MediaTrouble as trouble:
            outcome = Failure("media", str(trouble))
        return Answer(part.request, part.number, outcome, time.perf_counter() - began, n_read)

    async def _texts(self, session: ClientSession, part: Part) -> tuple[tuple[Output, ...] | Failure, int]:
        """Return a part's texts and the tokens of its prompt. Who writes fewer than asked is asked again."""
        reply = await self._reply(session, part)
        written = read(reply, part.ask)
        if isinstance(written, Failure):
            return written, n_prompt_tokens(reply)
        written = written[: part.n_texts]
        self._n_unsaid += sum(not one.is_end_said for one in written)
        outputs = tuple(one.output for one in written)
        rest = part.after(len(outputs))
        if not rest.n_texts:
            return outputs, n_prompt_tokens(reply)
        more, _ = await self._texts(session, rest)
        return more if isinstance(more, Failure) else outputs + more, n_prompt_tokens(reply)

    async def _reply(self, session: ClientSession, part: Part) -> Reply:
        prompt = part.ask.prompt
        if media_of(prompt):
            # Reads files: other calls go on meanwhile.
            body = await asyncio.to_thread(body_of, part, self._model, self._asked)
        else:
            body = body_of(part, self._model, self._asked)
        path = PATHS[api_of(prompt, self._asked)]
        return await self._endpoint.post(session, body, path=path, read=self._read)

    async def _read(self, reply: ClientResponse) -> Reply:
        """Read a reply as it comes; some servers send it whole though asked for a stream."""
        if reply.content_type != "text/event-stream":
            return checked(decoded(await reply.read()))
        streamed = StreamedReply()
        async for chunk in reply.content.iter_any():
            streamed.feed(chunk)
        return checked(streamed.whole())

    async def _first_listed(self, session: ClientSession, _: None) -> str:
        url = f"{self._endpoint.url}/models"
        try:
            names = await self._endpoint.get(session, path="/models", read=_listed)
        except CallTrouble as trouble:
            raise unreachable(f"{url} does not say which models there are: {trouble}") from None
        if not names:
            raise no_such_endpoint(f"{url} lists no model", EXAMPLE)
        return names[0]


async def _listed(reply: ClientResponse) -> list[str]:
    return model_ids(await reply.read())


def _split(where: str) -> tuple[str, str]:
    """Return the model's name and the address, or raise MODEL-001."""
    if not where:
        raise unknown_model("openai needs a model and the address of its server", EXAMPLE)
    found = _WHERE.fullmatch(where)
    if found is None:
        raise unknown_model(
            "openai needs an address that begins with http:// or https:// after an @", EXAMPLE
        )
    url = checked_address(found["url"], EXAMPLE).rstrip("/")
    if "?" in url or "#" in url:
        raise unknown_model(
            "the address holds a ? or a #, and all after it would be written into every run", EXAMPLE
        )
    if url.endswith(tuple(PATHS.values())):
        raise unknown_model(f"{url} is the address of one call: the base is needed", EXAMPLE)
    return found["model"], url
