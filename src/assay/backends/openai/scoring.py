"""Scoring on a server: likelihoods (SPAN) and label probabilities (LABELS), by the ways the server supports.

`likelihood` and `label_probabilities` build the request fields and read the replies. This module chooses the
way, sends the calls, and explains which way was chosen or why there is none.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from assay.backends.http.post import Endpoint, WholeJson
from assay.backends.openai import label_probabilities, likelihood
from assay.backends.openai.arguments import Api, OpenAISettings
from assay.backends.openai.likelihood import LogprobMethod
from assay.backends.openai.probe import TOKENIZE, Abilities, Prober
from assay.backends.openai.protocol import (
    PATHS,
    adapt_fields,
    build_prompt_fields,
    read_token_count,
    select_api,
)
from assay.backends.openai.tokens import make_wrong_reply, read_next_tokens, read_token_ids
from assay.core.model import ModelCard
from assay.core.prompt import Message, Prompt, find_media
from assay.core.request import Kind, Labels, Span
from assay.core.response import Failure, LabelProbs, Likelihood

if TYPE_CHECKING:
    from assay.backends.http.client import HttpClient

_IDS_PER_CALL = 128
"""The maximum that vLLM accepts."""


class ServerScoring:
    """Scores texts and labels on one server."""

    def __init__(
        self, endpoint: Endpoint, root: Endpoint, model: Callable[[], str], settings: OpenAISettings
    ) -> None:
        """Take the server's API address, its root address, and a function that returns the model's name."""
        self._endpoint = endpoint
        self._root = root
        self._model = model
        self._settings = settings
        self._abilities: dict[tuple[Kind, Api], Abilities] = {}
        self._n_spans = 0
        self._n_by_context = 0
        self._n_bounded = 0

    # --- abilities ---

    def find_invalid(self, ask: Span | Labels) -> Failure | None:
        """Return why no server can answer a request; None if it can be sent."""
        if not ask.prompt:
            return Failure("empty", "the prompt is empty")
        if isinstance(ask.prompt, tuple) and self._settings.args.api == "completions":
            return Failure(
                "chat", "api=completions accepts only plain text, but the prompt is a conversation"
            )
        return likelihood.check_span(ask) if isinstance(ask, Span) else label_probabilities.check_labels(ask)

    def learn(self, kinds: frozenset[Kind], api: Api) -> None:
        """Probe what the server can do for some kinds, unless that is known. Not on the loop's thread."""
        unknown = frozenset(kind for kind in kinds - {Kind.GENERATE} if (kind, api) not in self._abilities)
        if unknown:
            prober = Prober(self._endpoint, self._root, self._model(), self._settings)
            abilities = prober.abilities(unknown, api)
            self._abilities |= {(kind, api): abilities for kind in unknown}

    def describe(self, card: ModelCard, kinds: frozenset[Kind], *, is_chat: bool) -> ModelCard:
        """Return a card that says which of these kinds the server supports, and how."""
        api = select_api(() if is_chat else "", self._settings)
        self.learn(kinds, api)
        ways, cannot = dict(card.ways), dict(card.cannot)
        for kind in sorted(kinds - {Kind.GENERATE}):
            abilities = self._abilities[kind, api]
            way = (
                _choose_span_method(abilities, api, is_chat)
                if kind is Kind.SPAN
                else _choose_labels_method(abilities, api)
            )
            ways.pop(kind, None)
            cannot.pop(kind, None)
            (ways if way.is_way else cannot)[kind] = way.words
        able = card.kinds - cannot.keys() | ways.keys()
        return msgspec.structs.replace(card, kinds=frozenset(able), ways=ways, cannot=cannot)

    def notes(self, name: str) -> list[str]:
        """Return notes about texts scored by their context, and labels with upper bounds."""
        notes = []
        if self._n_by_context:
            notes.append(
                f"{name}: the token texts did not show where {self._n_by_context:,} of "
                f"{self._n_spans:,} scored texts begin; Assay sent their contexts alone as well, and scored "
                "from the first token that differs"
            )
        if self._n_bounded:
            notes.append(
                f"{name}: {self._n_bounded:,} questions had labels outside the list of likeliest tokens "
                "that the server returns; only an upper bound of their probability is known"
            )
        return notes

    # --- calls: on the loop's thread ---

    async def outcome(self, client: HttpClient, ask: Span | Labels) -> Likelihood | LabelProbs | Failure:
        """Return the answer to a request whose kind and API have been probed; may raise CallTrouble."""
        if isinstance(ask, Span):
            return await self._span(client, ask)
        probs = await self._labels(client, ask)
        self._n_bounded += isinstance(probs, LabelProbs) and bool(probs.at_most)
        return probs

    async def _span(self, client: HttpClient, ask: Span) -> Likelihood | Failure:
        api = select_api(ask.prompt, self._settings)
        way = _choose_span_method(self._abilities[Kind.SPAN, api], api, not isinstance(ask.prompt, str))
        if way.way is None:
            return Failure("no_likelihood", way.words)
        fields = {**way.way.fields, **self._settings.scoring}
        tokens = way.way.read(await self._post(client, ask.prompt, fields))
        if isinstance(tokens, Failure):
            return tokens
        self._n_spans += 1
        scored = likelihood.score_by_texts(ask, tokens, way.way.n_lead)
        if scored is not None:
            return scored
        context = likelihood.build_span_context(ask)
        if context is None:
            return make_wrong_reply(
                "the token texts do not match the text that was sent, and there is no context to compare with"
            )
        # With the same fields as before: both lists of tokens are compared.
        before = way.way.read(await self._post(client, context, fields))
        if isinstance(before, Failure):
            return before
        self._n_by_context += 1
        return likelihood.score_by_context(ask, tokens, before)

    async def _labels(self, client: HttpClient, ask: Labels) -> LabelProbs | Failure:
        api = select_api(ask.prompt, self._settings)
        abilities = self._abilities[Kind.LABELS, api]
        if api == "chat" and isinstance(ask.prompt, str):
            # The labels begin the reply; they do not continue the user's message.
            ask = msgspec.structs.replace(ask, prompt=(Message("user", ask.prompt),))
        if api in abilities.by_ids:
            return await self._score_by_ids(client, ask, api)
        if api not in abilities.n_top:
            return Failure("no_probabilities", _choose_labels_method(abilities, api).words)
        n = abilities.n_top[api]
        fields = label_probabilities.build_top_fields(n, is_chat=api == "chat")
        reply = await self._post(client, label_probabilities.build_labels_context(ask), fields)
        listed = read_next_tokens(reply)
        if isinstance(listed, Failure):
            return listed
        return label_probabilities.read_top_list(ask, listed, n, _n_prompt_tokens(reply))

    async def _score_by_ids(self, client: HttpClient, ask: Labels, api: Api) -> LabelProbs | Failure:
        """Return exact probabilities: tokenize the spellings, then request each token by its id."""
        context = label_probabilities.build_labels_context(ask)
        texts = list(dict.fromkeys(text for spellings in ask.labels for text in spellings))
        prompts = [context, *(label_probabilities.append_spelling(context, text) for text in texts)]
        encoded: list[tuple[int, ...]] = []
        for ids in await asyncio.gather(*(self._tokenize_prompt(client, prompt, api) for prompt in prompts)):
            if isinstance(ids, Failure):
                return ids
            encoded.append(ids)
        begin = encoded[0]
        labels = label_probabilities.find_spellings(ask, begin, dict(zip(texts, encoded[1:], strict=True)))
        if isinstance(labels, Failure):
            return labels
        every = [spelling for spellings in labels for spelling in spellings]
        known = await self._fetch_probs(
            client, context, [spelling.next_id for spelling in every if spelling.next_id is not None]
        )
        if isinstance(known, Failure):
            return known
        longer = {spelling.text: spelling for spelling in every if spelling.next_id is None}
        long_probs = await asyncio.gather(
            *(self._score_long_spelling(client, context, begin, spelling) for spelling in longer.values())
        )
        probs: dict[str, float] = {
            spelling.text: known[spelling.next_id] for spelling in every if spelling.next_id is not None
        }
        for text, prob in zip(longer, long_probs, strict=True):
            if isinstance(prob, Failure):
                return prob
            probs[text] = prob
        lows = [math.fsum(probs[spelling.text] for spelling in spellings) for spellings in labels]
        return label_probabilities.build_label_probs(lows, lows, len(begin))

    async def _tokenize_prompt(
        self, client: HttpClient, prompt: Prompt, api: Api
    ) -> tuple[int, ...] | Failure:
        body = {"model": self._model(), **build_prompt_fields(prompt, api), **self._tools()}
        template = {k: v for k, v in self._settings.extra.items() if k.startswith("chat_template")}
        return read_token_ids(await self._root.post(client, {**body, **template}, WholeJson, path=TOKENIZE))

    async def _fetch_probs(
        self, client: HttpClient, context: Prompt, ids: Sequence[int]
    ) -> dict[int, float] | Failure:
        known: dict[int, float] = {}
        is_chat = select_api(context, self._settings) == "chat"
        for at in range(0, len(ids), _IDS_PER_CALL):
            batch = ids[at : at + _IDS_PER_CALL]
            reply = await self._post(
                client, context, label_probabilities.build_id_fields(batch, is_chat=is_chat)
            )
            listed = read_next_tokens(reply)
            if isinstance(listed, Failure):
                return listed
            probs = label_probabilities.read_probs_by_id(listed)
            if missing := set(batch) - probs.keys():
                return make_wrong_reply(
                    f"{len(batch)} tokens were requested by id, and {len(missing)} are missing from the reply"
                )
            known |= probs
        return known

    async def _score_long_spelling(
        self,
        client: HttpClient,
        context: Prompt,
        begin: tuple[int, ...],
        spelling: label_probabilities.ServerSpelling,
    ) -> float | Failure:
        """Return the probability of a spelling of several tokens: the product of theirs after the context."""
        way = LogprobMethod("prompt_logprobs", 1)
        tokens = way.read(
            await self._post(client, label_probabilities.append_spelling(context, spelling.text), way.fields)
        )
        if isinstance(tokens, Failure):
            return tokens
        if len(tokens.logprobs) != len(spelling.ids):
            return make_wrong_reply(
                f"{len(tokens.logprobs)} log-probabilities for {len(spelling.ids)} tokens of a spelling"
            )
        first = 0
        while first < min(len(begin), len(spelling.ids)) and begin[first] == spelling.ids[first]:
            first += 1
        logprobs = tokens.logprobs[first:]
        if not logprobs or None in logprobs:
            return Failure("labels", f"spelling {spelling.text!r} has no token of its own")
        return math.exp(math.fsum(logprob for logprob in logprobs if logprob is not None))

    def _tools(self) -> dict[str, Any]:
        """Return the offered tools: a chat template writes them into the prompt."""
        return {"tools": list(self._settings.tools)} if self._settings.tools else {}

    async def _post(self, client: HttpClient, prompt: Prompt, fields: dict[str, Any]) -> Any:
        api = select_api(prompt, self._settings)
        if find_media(prompt):
            # Reads files: other calls continue meanwhile.
            prompt_fields = await asyncio.to_thread(build_prompt_fields, prompt, api)
        else:
            prompt_fields = build_prompt_fields(prompt, api)
        body = {"model": self._model(), **prompt_fields, **fields, **self._tools(), **self._settings.extra}
        return await self._endpoint.post(
            client, adapt_fields(body, self._settings), WholeJson, path=PATHS[api]
        )


class _ChosenMethod(NamedTuple):
    """A way to score, or why there is none."""

    words: str
    is_way: bool = False
    way: LogprobMethod | None = None


def _choose_span_method(abilities: Abilities, api: Api, is_chat: bool) -> _ChosenMethod:
    if api == "chat" and not is_chat:
        return _ChosenMethod(
            "with api=chat a plain text becomes a user message, and user messages are not scored"
        )
    way = abilities.spans.get(api)
    if way is not None:
        return _ChosenMethod(f"{way.field} of {PATHS[api]}", True, way)
    if api == "completions":
        names = ("prompt_logprobs", "echo with max_tokens 0", "echo with max_tokens 1")
        rejections = abilities.explain_rejections(api, *names)
        return _ChosenMethod(f"{PATHS[api]} does not return log-probabilities of a prompt ({rejections})")
    why = (
        f"{PATHS[api]} does not return log-probabilities of a conversation "
        f"({abilities.explain_rejections(api, 'prompt_logprobs')})"
    )
    plain = abilities.spans.get("completions")
    return _ChosenMethod(
        why if plain is None else f"{why}; for plain texts it does, with {plain.field}: use --chat off"
    )


def _choose_labels_method(abilities: Abilities, api: Api) -> _ChosenMethod:
    if api in abilities.by_ids:
        return _ChosenMethod(f"logprob_token_ids of {PATHS[api]}, with {TOKENIZE}", True)
    n = abilities.n_top.get(api)
    if n is not None:
        listed = f"the {n:,} likeliest next tokens of {PATHS[api]}"
        return _ChosenMethod(f"{listed}; labels outside this list have only an upper bound", True)
    return _ChosenMethod(
        f"{PATHS[api]} does not list the likeliest next tokens ({abilities.explain_rejections(api, 'top 5')})"
    )


def _n_prompt_tokens(reply: Any) -> int:
    usage = reply.get("usage") if isinstance(reply, dict) else None
    return read_token_count(usage.get("prompt_tokens")) if isinstance(usage, dict) else 0
