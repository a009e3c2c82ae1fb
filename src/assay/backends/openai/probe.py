"""What a server can do beside writing texts, found out by asking for it: a few calls of one token each.

Servers that speak the same protocol differ in what they tell: vLLM has `prompt_logprobs` and takes the ids of
tokens, some repeat a prompt with its log-probabilities (`echo`), most list the likeliest next tokens, each as
many as it likes. None of them says so anywhere. A call that is refused is an answer, and its reason is kept
for the person. A server that is not there or wants another key is an error as at any other time.
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
    # The best first: the ids of tokens and their ranks; then nothing that is written and not wanted.
    "completions": (LogprobMethod("prompt_logprobs", 1), LogprobMethod("echo", 0), LogprobMethod("echo", 1)),
    "chat": (LogprobMethod("prompt_logprobs", 1),),
}
_TOP_COUNTS = (1000, 20, 5)
"""Asked for by turns, as a server refuses more than it gives. More than the first tell nothing of use."""
_TOP = "top "
_NEARLY = 0.5
_IDS = (1, 2, 3)
"""Tokens that every vocabulary has."""
_NOT_SERVED = "MODEL-008"
_NOT_IMPLEMENTED = "HTTP status 501"


@dataclass(frozen=True)
class Abilities:
    """What a server was found to do, by the path that prompts take."""

    spans: dict[Api, LogprobMethod]
    """How the tokens of a prompt are scored."""
    n_top: dict[Api, int]
    """How many of the likeliest next tokens are told."""
    by_ids: frozenset[Api]
    """Where the tokens that are told can be chosen by their ids, and texts be turned into ids."""
    refusals: dict[tuple[Api, str], str]
    """Why not, by the path and what was asked for."""

    def explain_rejections(self, api: Api, *names: str) -> str:
        """Return why some fields are no way, each with the server's words."""
        return "; ".join(f"{name}: {self.refusals.get((api, name), 'not asked')}" for name in names)


class _Probe(NamedTuple):
    """One call, and what its reply must be."""

    api: Api
    name: str
    path: str
    body: dict[str, Any]
    read: Callable[[Any], Any]
    """Returns what was found, or a Failure."""


_ProbeResult: TypeAlias = tuple[_Probe, Any]


class Prober:
    """Asks one server."""

    def __init__(self, endpoint: Endpoint, root: Endpoint, model: str, asked: OpenAISettings) -> None:
        self._endpoint = endpoint
        self._root = root
        self._model = model
        self._asked = asked

    def abilities(self, kinds: frozenset[Kind], api: Api) -> Abilities:
        """Ask for what these kinds need, in calls made together; raise when nobody serves the address."""
        probes = list(self._probes(kinds, api))
        found: list[_ProbeResult] = []
        level = FixedLevel(len(probes))
        # vLLM (seen: 0.32) mixes up the lists of calls that it computes together with one by ids: those wait.
        for is_list in (False, True):
            some = [probe for probe in probes if probe.name.startswith(_TOP) == is_list]
            found += run_concurrently(some, self._ask, url=self._endpoint.url, level=level)
        missing = [what for probe, what in found if isinstance(what, BackendError) and probe.path != TOKENIZE]
        if len(missing) == sum(probe.path != TOKENIZE for probe in probes):
            raise missing[0]
        return _abilities(found)

    def _probes(self, kinds: frozenset[Kind], api: Api) -> Iterator[_Probe]:
        if Kind.SPAN in kinds:
            # Where conversations cannot be scored, it helps to know whether plain texts can.
            for one in dict.fromkeys((api, "completions")):
                for way in _SPAN_WAYS[one]:
                    yield self._probe(one, _name(way), way.fields, partial(_check_span_reply, way, one))
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
            **self._asked.extra,
        }
        return _Probe(api, name, PATHS[api], adapt_fields(body, self._asked), read)

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


def _abilities(found: list[_ProbeResult]) -> Abilities:
    good: dict[tuple[Api, str], Any] = {}
    refusals: dict[tuple[Api, str], str] = {}
    for probe, what in found:
        key = (probe.api, probe.name)
        if isinstance(what, Failure):
            refusals[key] = what.message
        elif isinstance(what, BackendError):
            refusals[key] = what.problems[0].what
        else:
            good[key] = what
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
    """Return the way, if the reply tells of the prompt that was sent and not of what was written."""
    tokens = way.read(reply)
    if isinstance(tokens, Failure):
        return tokens
    # Spaces aside, as some servers drop them.
    sent = _WORDS.replace(" ", "")
    texts = [(text or "").replace(" ", "") for text in tokens.texts]
    told = "".join(texts)
    if api == "chat" and told.endswith(sent):
        return way
    for n_lead in range(1, len(texts)):
        if "".join(texts[n_lead:]) == sent:
            return way._replace(n_lead=n_lead)
    if told == sent or (tokens.texts[0] is None and told and sent.endswith(told)):
        return way
    return Failure("wrong_reply", f"the tokens told are not those of the prompt: {told[:80]!r}")


def _count_top_tokens(n_asked: int, reply: Any) -> int | Failure:
    """Return how many tokens are told; some servers tell as many as they like, and say nothing."""
    shown = read_next_tokens(reply)
    if isinstance(shown, Failure):
        return shown
    if not shown:
        return Failure("wrong_reply", "the list of the likeliest tokens is empty")
    # Those whose texts are alike, as of parts of characters, are told as one.
    return n_asked if len(shown) >= _NEARLY * n_asked else len(shown)


def _check_chosen_ids(reply: Any) -> bool | Failure:
    shown = read_next_tokens(reply)
    if isinstance(shown, Failure):
        return shown
    is_told = read_probs_by_id(shown).keys() >= set(_IDS)
    return is_told or Failure("wrong_reply", "the tokens that were asked for are not told")
