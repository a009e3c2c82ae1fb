"""SPAN and LABELS asked of a server, by the ways that it was found to have.

Sends what `openai_likelihood` and `openai_labels` write and hands them what comes back; decides which way is
taken, and says in words which and why not another.
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
"""As many as vLLM takes."""


class ServerScoring:
    """Scores on one server."""

    def __init__(
        self, endpoint: Endpoint, root: Endpoint, model: Callable[[], str], asked: OpenAISettings
    ) -> None:
        """Take the server's address, what lies beside it, and who can name the model."""
        self._endpoint = endpoint
        self._root = root
        self._model = model
        self._asked = asked
        self._abilities: dict[tuple[Kind, Api], Abilities] = {}
        self._n_spans = 0
        self._n_by_context = 0
        self._n_bounded = 0

    # --- what can be asked ---

    def refused(self, ask: Span | Labels) -> Failure | None:
        """Return why an ask need not be sent to any server; None where it is sent."""
        if not ask.prompt:
            return Failure("empty", "the prompt is empty")
        if isinstance(ask.prompt, tuple) and self._asked.args.api == "completions":
            return Failure("chat", "api=completions takes plain text; it was asked with a conversation")
        return likelihood.check_span(ask) if isinstance(ask, Span) else label_probabilities.check_labels(ask)

    def learn(self, kinds: frozenset[Kind], api: Api) -> None:
        """Find out what the server can do for some kinds of ask, unless that is known. Not on the loop."""
        unknown = frozenset(kind for kind in kinds - {Kind.GENERATE} if (kind, api) not in self._abilities)
        if unknown:
            prober = Prober(self._endpoint, self._root, self._model(), self._asked)
            abilities = prober.abilities(unknown, api)
            self._abilities |= {(kind, api): abilities for kind in unknown}

    def described(self, card: ModelCard, kinds: frozenset[Kind], *, is_chat: bool) -> ModelCard:
        """Return a card that says which of these kinds the server can do, and how."""
        api = select_api(() if is_chat else "", self._asked)
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
        """Say what was not as it is elsewhere."""
        notes = []
        if self._n_by_context:
            notes.append(
                f"{name}: the texts of tokens did not show where {self._n_by_context:,} of "
                f"{self._n_spans:,} scored texts begin; their contexts were sent alone too, and scoring "
                "begins where the tokens begin to differ"
            )
        if self._n_bounded:
            notes.append(
                f"{name}: {self._n_bounded:,} questions had labels that were not among the likeliest tokens "
                "which the server tells; of those the greatest probability is known that they may have"
            )
        return notes

    # --- asking: on the loop's thread ---

    async def outcome(self, client: HttpClient, ask: Span | Labels) -> Likelihood | LabelProbs | Failure:
        """Return the answer to an ask for whose kind and path it has learned; may raise CallTrouble."""
        if isinstance(ask, Span):
            return await self._span(client, ask)
        made = await self._labels(client, ask)
        self._n_bounded += isinstance(made, LabelProbs) and bool(made.at_most)
        return made

    async def _span(self, client: HttpClient, ask: Span) -> Likelihood | Failure:
        api = select_api(ask.prompt, self._asked)
        way = _choose_span_method(self._abilities[Kind.SPAN, api], api, not isinstance(ask.prompt, str))
        if way.way is None:
            return Failure("no_likelihood", way.words)
        fields = {**way.way.fields, **self._asked.scoring}
        tokens = way.way.read(await self._post(client, ask.prompt, fields))
        if isinstance(tokens, Failure):
            return tokens
        self._n_spans += 1
        made = likelihood.score_by_texts(ask, tokens, way.way.n_lead)
        if made is not None:
            return made
        context = likelihood.build_span_context(ask)
        if context is None:
            return make_wrong_reply(
                "the tokens' texts do not add up to what was sent, and nothing stands before it"
            )
        before = way.way.read(await self._post(client, context, way.way.fields))
        if isinstance(before, Failure):
            return before
        self._n_by_context += 1
        return likelihood.score_by_context(ask, tokens, before)

    async def _labels(self, client: HttpClient, ask: Labels) -> LabelProbs | Failure:
        api = select_api(ask.prompt, self._asked)
        abilities = self._abilities[Kind.LABELS, api]
        if api == "chat" and isinstance(ask.prompt, str):
            # The labels begin the reply to it, and do not go on with what the user says.
            ask = msgspec.structs.replace(ask, prompt=(Message("user", ask.prompt),))
        if api in abilities.by_ids:
            return await self._score_by_ids(client, ask, api)
        if api not in abilities.n_top:
            return Failure("no_probabilities", _choose_labels_method(abilities, api).words)
        n = abilities.n_top[api]
        fields = label_probabilities.build_top_fields(n, is_chat=api == "chat")
        reply = await self._post(client, label_probabilities.build_labels_context(ask), fields)
        shown = read_next_tokens(reply)
        if isinstance(shown, Failure):
            return shown
        return label_probabilities.read_top_list(ask, shown, n, _n_prompt_tokens(reply))

    async def _score_by_ids(self, client: HttpClient, ask: Labels, api: Api) -> LabelProbs | Failure:
        """Return exact probabilities: spellings as the server's tokens, each token asked for by its id."""
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
        every = [one for spellings in labels for one in spellings]
        known = await self._fetch_probs(
            client, context, [one.next_id for one in every if one.next_id is not None]
        )
        if isinstance(known, Failure):
            return known
        longer = {one.text: one for one in every if one.next_id is None}
        made = await asyncio.gather(
            *(self._score_long_spelling(client, context, begin, one) for one in longer.values())
        )
        probs: dict[str, float] = {one.text: known[one.next_id] for one in every if one.next_id is not None}
        for text, prob in zip(longer, made, strict=True):
            if isinstance(prob, Failure):
                return prob
            probs[text] = prob
        lows = [math.fsum(probs[one.text] for one in spellings) for spellings in labels]
        return label_probabilities.build_label_probs(lows, lows, len(begin))

    async def _tokenize_prompt(
        self, client: HttpClient, prompt: Prompt, api: Api
    ) -> tuple[int, ...] | Failure:
        body = {"model": self._model(), **build_prompt_fields(prompt, api), **self._tools()}
        template = {k: v for k, v in self._asked.extra.items() if k.startswith("chat_template")}
        return read_token_ids(await self._root.post(client, {**body, **template}, WholeJson, path=TOKENIZE))

    async def _fetch_probs(
        self, client: HttpClient, context: Prompt, ids: Sequence[int]
    ) -> dict[int, float] | Failure:
        known: dict[int, float] = {}
        is_chat = select_api(context, self._asked) == "chat"
        for at in range(0, len(ids), _IDS_PER_CALL):
            some = ids[at : at + _IDS_PER_CALL]
            reply = await self._post(
                client, context, label_probabilities.build_id_fields(some, is_chat=is_chat)
            )
            shown = read_next_tokens(reply)
            if isinstance(shown, Failure):
                return shown
            told = label_probabilities.read_probs_by_id(shown)
            if missing := set(some) - told.keys():
                return make_wrong_reply(
                    f"the server was asked for {len(some)} tokens and left {len(missing)} out"
                )
            known |= told
        return known

    async def _score_long_spelling(
        self,
        client: HttpClient,
        context: Prompt,
        begin: tuple[int, ...],
        one: label_probabilities.ServerSpelling,
    ) -> float | Failure:
        """Return the probability of a spelling of several tokens: its tokens' after the context's."""
        way = LogprobMethod("prompt_logprobs", 1)
        tokens = way.read(
            await self._post(client, label_probabilities.append_spelling(context, one.text), way.fields)
        )
        if isinstance(tokens, Failure):
            return tokens
        if len(tokens.logprobs) != len(one.ids):
            return make_wrong_reply(
                f"{len(tokens.logprobs)} log-probabilities for {len(one.ids)} tokens of a spelling"
            )
        first = 0
        while first < min(len(begin), len(one.ids)) and begin[first] == one.ids[first]:
            first += 1
        logprobs = tokens.logprobs[first:]
        if not logprobs or None in logprobs:
            return Failure("labels", f"spelling {one.text!r} is no token of its own")
        return math.exp(math.fsum(logprob for logprob in logprobs if logprob is not None))

    def _tools(self) -> dict[str, Any]:
        """Return the tools that are offered: a template writes them into the prompt."""
        return {"tools": list(self._asked.tools)} if self._asked.tools else {}

    async def _post(self, client: HttpClient, prompt: Prompt, fields: dict[str, Any]) -> Any:
        api = select_api(prompt, self._asked)
        if find_media(prompt):
            # Reads files: other calls go on meanwhile.
            asked = await asyncio.to_thread(build_prompt_fields, prompt, api)
        else:
            asked = build_prompt_fields(prompt, api)
        body = {"model": self._model(), **asked, **fields, **self._tools(), **self._asked.extra}
        return await self._endpoint.post(client, adapt_fields(body, self._asked), WholeJson, path=PATHS[api])


class _ChosenMethod(NamedTuple):
    """A way to ask, or why there is none."""

    words: str
    is_way: bool = False
    way: LogprobMethod | None = None


def _choose_span_method(abilities: Abilities, api: Api, is_chat: bool) -> _ChosenMethod:
    if api == "chat" and not is_chat:
        return _ChosenMethod(
            "with api=chat a text is a message of the user, and what a user says is not scored"
        )
    way = abilities.spans.get(api)
    if way is not None:
        return _ChosenMethod(f"{way.field} of {PATHS[api]}", True, way)
    if api == "completions":
        names = ("prompt_logprobs", "echo with max_tokens 0", "echo with max_tokens 1")
        return _ChosenMethod(
            f"{PATHS[api]} gives no log-probabilities of a prompt ({abilities.explain_rejections(api, *names)})"
        )
    why = (
        f"{PATHS[api]} gives no log-probabilities of a conversation "
        f"({abilities.explain_rejections(api, 'prompt_logprobs')})"
    )
    plain = abilities.spans.get("completions")
    return _ChosenMethod(
        why if plain is None else f"{why}; of plain texts it does, by {plain.field}: --chat off"
    )


def _choose_labels_method(abilities: Abilities, api: Api) -> _ChosenMethod:
    if api in abilities.by_ids:
        return _ChosenMethod(f"logprob_token_ids of {PATHS[api]}, with {TOKENIZE}", True)
    n = abilities.n_top.get(api)
    if n is not None:
        listed = f"the {n:,} likeliest next tokens of {PATHS[api]}"
        return _ChosenMethod(f"{listed}; a label that is not among them has an upper bound", True)
    return _ChosenMethod(
        f"{PATHS[api]} does not list the likeliest next tokens ({abilities.explain_rejections(api, 'top 5')})"
    )


def _n_prompt_tokens(reply: Any) -> int:
    usage = reply.get("usage") if isinstance(reply, dict) else None
    return read_token_count(usage.get("prompt_tokens")) if isinstance(usage, dict) else 0
