"""Models behind LiteLLM, for providers that speak no OpenAI dialect: `litellm:bedrock/...`.

The package litellm writes the provider's request and reads its reply; its import takes seconds, so it happens
only here. Requests, retries, concurrency and thoughts are those of OpenAI-compatible servers.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from assay.backends.http.batches import BatchProtocol
from assay.backends.http.exchange import HttpReply
from assay.backends.http.post import JSON, CallTrouble, Endpoint, ReplyReader, RetryPolicy
from assay.backends.http.text_protocol import Arguments
from assay.backends.openai.address import Address, parse_address
from assay.backends.openai.arguments import OpenAISettings
from assay.backends.openai.model_report import Report
from assay.backends.openai.protocol import build_body
from assay.backends.openai.reply_reader import OpenAIReplyReader
from assay.backends.problems import (
    LITELLM_EXTRA,
    not_installed_error,
    rejected_key_error,
    unknown_model_error,
)
from assay.backends.providers.backend import ProviderBackend
from assay.backends.providers.settings import read_provider_settings
from assay.core.media import Medium
from assay.core.model import ModelCard
from assay.core.request import Generate, Kind
from assay.core.thinking import Thinking

if TYPE_CHECKING:
    from assay.backends.http.client import HttpClient

T = TypeVar("T")

_PROVIDER_URL = "https://provider.invalid"
"""Stands for the address that LiteLLM chooses; Assay itself connects nowhere."""
_EXAMPLE = "write litellm:PROVIDER/MODEL, such as litellm:bedrock/MODEL, or litellm:PROVIDER/MODEL@URL"
_NOT_WITH_THINKING = ("temperature", "top_p")
_NOT_CONNECTED = "APIConnectionError"


class LitellmProtocol:
    """LiteLLM's form of a chat."""

    name = "litellm"
    lists_models = False
    own_url = _PROVIDER_URL
    batches: BatchProtocol | None = None
    media = frozenset(Medium)
    fetches_media = True
    cannot_score = "LiteLLM returns no log-probabilities of a prompt"

    def __init__(self, where: str) -> None:
        self.key_variable = f"{where.partition('/')[0].upper()}_API_KEY"

    def read_address(self, where: str) -> Address:
        """Return the model's address, or raise MODEL-001."""
        model, at, _ = where.partition("@http")
        if "/" not in model:
            raise unknown_model_error(f"litellm needs a provider and a model, not {model!r}", _EXAMPLE)
        if not at:
            return Address(where, _PROVIDER_URL, "check the names of the provider and the model")
        return parse_address(where, self.name, _EXAMPLE, calls=(), fix="check the address and the model")

    def read_settings(self, args: Mapping[str, str]) -> OpenAISettings:
        """Return the model arguments, or raise MODEL-002."""
        return read_provider_settings(self.name, args)

    def collect_identity_args(self, settings: OpenAISettings) -> Arguments:
        """Return the arguments that change answers."""
        return settings.collect_identity_args()

    def build_headers(self, key: str | None) -> str:
        """Return no header: LiteLLM writes them."""
        return ""

    def path(self, ask: Generate, model: str, settings: OpenAISettings, *, is_stream: bool) -> str:
        """Return no path: LiteLLM knows it."""
        return ""

    def body(
        self,
        ask: Generate,
        model: str,
        settings: OpenAISettings,
        *,
        is_stream: bool,
        seed: int | None = None,
        n_texts: int = 1,
    ) -> dict[str, Any]:
        """Return the arguments of a call; may raise MediaTrouble."""
        thinking = settings.thinking
        plain = msgspec.structs.replace(
            settings,
            thinking=None,
            args=msgspec.structs.replace(settings.args, api="chat"),
        )
        fields = build_body(ask, model, plain, is_stream=False, seed=seed, n_texts=n_texts)
        if thinking is not None and thinking.budget is not None and "max_tokens" in fields:
            fields["max_tokens"] += thinking.budget
        if thinking is not None and thinking.is_on:
            for name in _NOT_WITH_THINKING:
                fields.pop(name, None)
        return build_thinking(thinking) | fields

    def create_reader(self, ask: Generate) -> OpenAIReplyReader:
        """Return the reader of the reply to one attempt."""
        return OpenAIReplyReader()

    def report(self, url: str, model: str, key: str | None) -> Report | None:
        """Return None: LiteLLM cannot describe a provider's model."""
        return None

    def describe_begun_reply(self, settings: OpenAISettings) -> str | None:
        """Return why the model cannot continue a begun reply."""
        return "the dataset begins the reply, which LiteLLM does not support for all providers"

    def describe_unsent(self, settings: OpenAISettings) -> str | None:
        """Return which sampling parameters are not sent, and why; None if all are."""
        if settings.thinking is not None and settings.thinking.is_on:
            return (
                "temperature and top_p are not sent, because several providers reject them with thinking on"
            )
        return None


def build_thinking(thinking: Thinking | None) -> dict[str, Any]:
    """Return the arguments that ask for thinking, which LiteLLM translates for each provider."""
    if thinking is None:
        return {}
    if thinking.budget is not None:
        return {"thinking": {"type": "enabled", "budget_tokens": thinking.budget}}
    if not thinking.is_on:
        return {"reasoning_effort": "none"}
    return {"reasoning_effort": thinking.effort or "medium"}


class _LitellmEndpoint(Endpoint):
    """Sends each call through LiteLLM."""

    def __init__(self, url: str, patience: RetryPolicy, *, key: str | None, **others: Any) -> None:
        super().__init__(url, patience, key=key, **others)
        self._own_url = None if url == _PROVIDER_URL else url
        # A server of one's own may need no key, but LiteLLM does not call it without one.
        self._sent_key = key or ("none" if self._own_url else None)
        self._timeout_s = patience.timeout_s
        self.has_costs = False
        """Whether LiteLLM reported the cost of a reply."""

    async def _attempt(
        self,
        client: HttpClient,
        method: str,
        path: str,
        body: bytes | None,
        reading: ReplyReader[T],
        content_type: str = JSON,
    ) -> T:
        litellm = import_litellm()
        from openai import OpenAIError  # The base of LiteLLM's own errors, in a package that it installs.

        complete: Callable[..., Coroutine[Any, Any, Any]] = litellm.acompletion
        try:
            reply = await _await_elsewhere(
                complete(
                    **msgspec.json.decode(body or b"{}"),
                    api_base=self._own_url,
                    api_key=self._sent_key,
                    timeout=self._timeout_s,
                    num_retries=0,
                    max_retries=0,
                )
            )
        except OpenAIError as error:
            raise self._convert_error(error) from None
        document = reply.model_dump()
        cost = (getattr(reply, "_hidden_params", None) or {}).get("response_cost")
        if cost and isinstance(document.get("usage"), dict):
            document["usage"].setdefault("cost", cost)
            self.has_costs = True
        self._was_reached = True
        return reading.read(HttpReply(200, {}, msgspec.json.encode(document), time.perf_counter()))

    def _convert_error(self, error: Any) -> Exception:
        status = getattr(error, "status_code", None)
        message = self._mask_key(str(getattr(error, "message", error)))
        if type(error).__name__ == _NOT_CONNECTED or not isinstance(status, int):
            return CallTrouble("connection", message, may_pass=True)
        headers = getattr(getattr(error, "response", None), "headers", None) or {}
        content = msgspec.json.encode({"error": {"message": message}})
        reply = HttpReply(status, {name.lower(): value for name, value in headers.items()}, content, 0.0)
        return self._build_error("LiteLLM" if self._own_url is None else self._own_url, reply)


class LitellmBackend(ProviderBackend):
    """A model behind LiteLLM."""

    def __init__(self, where: str, args: Mapping[str, str]) -> None:
        """Check the package, the names and the arguments; imports and connects nothing."""
        if find_spec("litellm") is None:
            raise not_installed_error("litellm: needs the package litellm", f"run: {LITELLM_EXTRA}")
        protocol = LitellmProtocol(where)
        super().__init__(where, {"stream": "false", **args}, protocol)
        given, address = self._settings.args, protocol.read_address(where)
        if address.url == _PROVIDER_URL:
            self._name = f"litellm:{address.model}"
        patience = RetryPolicy(
            given.timeout_s,
            given.retries,
            given.retry_wait_s,
            retries_statuses=given.retry_statuses,
            gives_up=True,
        )
        self._endpoint: _LitellmEndpoint = _LitellmEndpoint(
            address.url,
            patience,
            key=self._key,
            fix=address.fix,
            level=self._level,
            key_variable=protocol.key_variable,
        )

    def probe_card(self, kinds: frozenset[Kind], *, is_chat: bool) -> ModelCard:
        """Return the card; raise MODEL-001 for an unknown provider, MODEL-009 for a missing key."""
        litellm = import_litellm()
        from openai import OpenAIError

        model = self._given_name
        try:
            litellm.get_llm_provider(model)
        except OpenAIError:
            what = f"litellm {version('litellm')} knows no provider {model.partition('/')[0]!r}"
            raise unknown_model_error(what, _EXAMPLE) from None
        if self._key is None and self._endpoint.url == _PROVIDER_URL:
            missing = litellm.validate_environment(model)["missing_keys"]
            # Credentials of cloud providers can also come from files and roles.
            if missing and all(name.endswith("_API_KEY") for name in missing):
                raise rejected_key_error(f"{self._name} needs an API key", missing[0])
        return self.card

    def notes(self) -> Sequence[str]:
        """Return the client's notes, and which price table the reported costs come from."""
        notes = list(super().notes())
        if self._endpoint.has_costs:
            table = f"the price table of litellm {version('litellm')}"
            notes.append(
                f"{self._name} reports no costs: those without a price in assay.toml come from {table}"
            )
        return notes


@cache
def _open_loop() -> asyncio.AbstractEventLoop:
    """Return a loop that runs until the process ends: LiteLLM keeps connections and tasks on it."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="assay-litellm", daemon=True).start()
    return loop


async def _await_elsewhere(work: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of work on LiteLLM's own loop."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, _open_loop()))


def import_litellm() -> Any:
    """Return the package, without its requests to the internet and its messages."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    return litellm
