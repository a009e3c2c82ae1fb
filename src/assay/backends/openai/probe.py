"""Probes what a server can do besides generation: a few calls of one token each.

Servers with the same protocol differ in what they report. vLLM has `prompt_logprobs` and accepts token ids,
some servers repeat a prompt with its log-probabilities (`echo`), and most list the likeliest next tokens,
each with its own maximum. No server declares this. A rejected call is a result, and its reason is kept for
error messages. A server that is not reachable or rejects the key is an error, as at any other time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from assay.backends.http.concurrency import FixedLevel
from assay.backends.http.post import CallTrouble, Endpoint, WholeJson
from assay.backends.http.pull import run_concurrently
from assay.backends.openai.arguments import Api, OpenAISettings
from assay.backends.openai.label_probabilities import build_id_fields, build_top_fields, read_probs_by_id
from assay.backends.openai.likelihood import LogprobMethod
from assay.backends.openai.protocol import PATHS, adapt_fields, build_prompt_fields
from assay.backends.openai.tokens import read_next_tokens, read_token_ids
from assay.core.errors import BackendError
from assay.core.prompt import Message, Prompt
from assay.core.request import Kind
from assay.core.response import Failure

if TYPE_CHECKING:
    from assay.backends.http.client import HttpClient

TOKENIZE = "/tokenize"
_WORDS = "one two three four"
_PROMPTS: dict[Api, Prompt] = {
    "completions": _WORDS,
    "chat": (Message("user", "Count."), Message("assistant", _WORDS)),
}
_SPAN_WAYS: dict[Api, tuple[LogprobMethod, ...]] = {
    # Best first: token ids and ranks; then ways that generate no unused tokens.
    "completions": (LogprobMethod("prompt_logprobs", 1), LogprobMethod("echo", 0), LogprobMethod("echo", 1)),
    "chat": (LogprobMethod("prompt_logprobs", 1),),
}
_TOP_COUNTS = (1000, 20, 5)
"""Tried one after another: a server rejects more than it supports. Longer lists would add nothing useful."""
_TOP = "top "
_NEARLY = 0.5
_IDS = (1, 2, 3)
"""Token ids that every vocabulary has."""
_NOT_SERVED = "MODEL-008"
_NOT_IMPLEMENTED = "HTTP status 501"


@dataclass(frozen=True)
class Abilities:
    """What a server can do, by API."""

    spans: dict[Api, LogprobMethod]
    """How to score the tokens of a prompt."""
    n_top: dict[Api, int]
    """How many of the likeliest next tokens are reported."""
    by_ids: frozenset[Api]
    """APIs that report tokens chosen by id, on a server that can tokenize texts."""
    refusals: dict[tuple[Api, str], str]
    """Why a call failed, by API and requested feature."""

    def explain_rejections(self, api: Api, *names: str) -> str:
        """Return why each named feature is not available, in the server's words."""
        return "; ".join(f"{name}: {self.refusals.get((api, name), 'not tried')}" for name in names)


class _Probe(NamedTuple):
    """One call, and the function that checks its reply."""

    api: Api
    name: str
    path: str
    body: dict[str, Any]
    read: Callable[[Any], Any]
    """Returns the ability, or a Failure."""


_ProbeResult: TypeAlias = tuple[_Probe, Any]


class Prober:
    """Probes one server."""

    def __init__(self, endpoint: Endpoint, root: Endpoint, model: str, settings: OpenAISettings) -> None:
        self._endpoint = endpoint
        self._root = root
        self._model = model
        self._settings = settings

    def abilities(self, kinds: frozenset[Kind], api: Api) -> Abilities:
        """Probe what these kinds need, in concurrent calls; raise if the server serves no such endpoint."""
        probes = list(self._probes(kinds, api))
        results: list[_ProbeResult] = []
        level = FixedLevel(len(probes))
        # vLLM (seen in 0.32) mixes up the top lists of calls that it batches with a call by ids: those wait.
        for is_list in (False, True):
            batch = [probe for probe in probes if probe.name.startswith(_TOP) == is_list]
            results += run_concurrently(batch, self._ask, url=self._endpoint.url, level=level)
        missing = [
            result for probe, result in results if isinstance(result, BackendError) and probe.path != TOKENIZE
        ]
        if len(missing) == sum(probe.path != TOKENIZE for probe in probes):
            raise missing[0]
        return _abilities(results)

    def _probes(self, kinds: frozenset[Kind], api: Api) -> Iterator[_Probe]:
        if Kind.SPAN in kinds:
            # If conversations cannot be scored, the error says whether plain texts can.
            for tried_api in dict.fromkeys((api, "completions")):
                for way in _SPAN_WAYS[tried_api]:
                    yield self._probe(
                        tried_api, _name(way), way.fields, partial(_check_span_reply, way, tried_api)
                    )
        if Kind.LABELS in kinds:
            for n in _TOP_COUNTS:
                yield self._probe(
                    api,
                    f"{_TOP}{n}",
                    build_top_fields(n, is_chat=api == "chat"),
                    partial(_count_top_tokens, n),
                )
            yield self._probe(
                api, "logprob_token_ids", build_id_fields(_IDS, is_chat=api == "chat"), _check_chosen_ids
            )
            body = {"model": self._model, **build_prompt_fields(_PROMPTS[api], api)}
            yield _Probe(api, TOKENIZE, TOKENIZE, body, read_token_ids)

    def _probe(self, api: Api, name: str, fields: dict[str, Any], read: Callable[[Any], Any]) -> _Probe:
        body = {
            "model": self._model,
            **build_prompt_fields(_PROMPTS[api], api),
            **fields,
            **self._settings.extra,
        }
        return _Probe(api, name, PATHS[api], adapt_fields(body, self._settings), read)

    async def _ask(self, client: HttpClient, probe: _Probe) -> _ProbeResult:
        try:
            try:
                reply = await self._post(client, probe, is_patient=False)
            except CallTrouble as trouble:
                if not trouble.may_pass or _NOT_IMPLEMENTED in str(trouble):
                    raise
                reply = await self._post(client, probe, is_patient=True)
        except CallTrouble as trouble:
            return probe, Failure(trouble.kind, str(trouble))
        except BackendError as error:
            if error.problems[0].code != _NOT_SERVED:
                raise
            return probe, error
        return probe, probe.read(reply)

    async def _post(self, client: HttpClient, probe: _Probe, *, is_patient: bool) -> Any:
        endpoint = self._root if probe.path == TOKENIZE else self._endpoint
        return await endpoint.post(client, probe.body, WholeJson, path=probe.path, is_patient=is_patient)


def _abilities(results: list[_ProbeResult]) -> Abilities:
    good: dict[tuple[Api, str], Any] = {}
    refusals: dict[tuple[Api, str], str] = {}
    for probe, result in results:
        key = (probe.api, probe.name)
        if isinstance(result, Failure):
            refusals[key] = result.message
        elif isinstance(result, BackendError):
            refusals[key] = result.problems[0].what
        else:
            good[key] = result
    apis = tuple(_SPAN_WAYS)
    spans = {
        api: next(good[api, _name(way)] for way in _SPAN_WAYS[api] if (api, _name(way)) in good)
        for api in apis
        if any((api, _name(way)) in good for way in _SPAN_WAYS[api])
    }
    counts = {
        api: [good[api, f"{_TOP}{n}"] for n in _TOP_COUNTS if (api, f"{_TOP}{n}") in good] for api in apis
    }
    chosen = {api for api in apis if {(api, "logprob_token_ids"), (api, TOKENIZE)} <= good.keys()}
    return Abilities(spans, {api: max(ns) for api, ns in counts.items() if ns}, frozenset(chosen), refusals)


def _name(way: LogprobMethod) -> str:
    return way.field if way.field == "prompt_logprobs" else f"echo with max_tokens {way.n_written}"


def _check_span_reply(way: LogprobMethod, api: Api, reply: Any) -> LogprobMethod | Failure:
    """Return the way if the reply reports the tokens of the prompt, and not those that were generated."""
    tokens = way.read(reply)
    if isinstance(tokens, Failure):
        return tokens
    # Spaces are ignored, because some servers drop them.
    sent = _WORDS.replace(" ", "")
    texts = [(text or "").replace(" ", "") for text in tokens.texts]
    joined = "".join(texts)
    if api == "chat" and joined.endswith(sent):
        return way
    for n_lead in range(1, len(texts)):
        if "".join(texts[n_lead:]) == sent:
            return way._replace(n_lead=n_lead)
    if joined == sent or (tokens.texts[0] is None and joined and sent.endswith(joined)):
        return way
    return Failure("wrong_reply", f"the reported tokens are not those of the prompt: {joined[:80]!r}")


def _count_top_tokens(n_asked: int, reply: Any) -> int | Failure:
    """Return how many tokens are reported; some servers silently report another number than requested."""
    listed = read_next_tokens(reply)
    if isinstance(listed, Failure):
        return listed
    if not listed:
        return Failure("wrong_reply", "the list of the likeliest tokens is empty")
    # Servers merge tokens with equal texts, such as parts of characters.
    return n_asked if len(listed) >= _NEARLY * n_asked else len(listed)


def _check_chosen_ids(reply: Any) -> bool | Failure:
    listed = read_next_tokens(reply)
    if isinstance(listed, Failure):
        return listed
    is_complete = read_probs_by_id(listed).keys() >= set(_IDS)
    return is_complete or Failure("wrong_reply", "the reply does not contain the requested token ids")
