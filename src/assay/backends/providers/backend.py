"""Backends for providers with protocols of their own.

They use the client for OpenAI-compatible servers: the same retries, streams, timing, concurrency and keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from assay.backends.http.text_protocol import TextProtocol
from assay.backends.openai.arguments import OpenAISettings
from assay.backends.openai.backend import OpenAIBackend
from assay.backends.openai.protocol import GenerationPart
from assay.backends.openai.timed_client import OpenAITimedClient
from assay.backends.problems import rejected_key_error
from assay.backends.providers.anthropic import AnthropicProtocol
from assay.backends.providers.gemini import GeminiProtocol
from assay.core.media import Medium
from assay.core.model import ModelCard
from assay.core.request import Generate, Kind, Labels, Request, Span
from assay.core.response import Failure, Response


class ProviderProtocol(TextProtocol, Protocol):
    """The protocol of a provider, which only generates."""

    media: frozenset[Medium]
    fetches_media: bool
    own_url: str
    """The address of the provider itself, which requires a key."""
    cannot_score: str
    """Why it supports no likelihoods."""

    def describe_begun_reply(self, settings: OpenAISettings) -> str | None:
        """Return why the model cannot continue a begun reply; None if it can."""

    def describe_unsent(self, settings: OpenAISettings) -> str | None:
        """Return which sampling parameters are not sent, and why; None if all are."""


class ProviderBackend(OpenAIBackend):
    """A model that answers conversations."""

    def __init__(self, where: str, args: Mapping[str, str], protocol: ProviderProtocol) -> None:
        super().__init__(where, args, protocol)
        self._provider = protocol

    @property
    def card(self) -> ModelCard:
        """Return the provider's abilities."""
        return ModelCard(
            name=self._name,
            kinds=frozenset({Kind.GENERATE}),
            is_chat=True,
            has_windows=False,
            media=self._provider.media,
            fetches_media=self._provider.fetches_media,
            cannot=dict.fromkeys((Kind.SPAN, Kind.LABELS), self._provider.cannot_score),
            thinks=self._thoughts.is_requested,
        )

    def probe_card(self, kinds: frozenset[Kind], *, is_chat: bool) -> ModelCard:
        """Return the card; raise MODEL-009 if the provider's own API would be called without a key."""
        provider = self._provider
        if self._key is None and self._endpoint.url == provider.own_url:
            raise rejected_key_error(f"{provider.name} needs an API key", provider.key_variable)
        return self.card

    def notes(self) -> Sequence[str]:
        """Return the client's notes, and which sampling parameters were not sent."""
        unsent = self._provider.describe_unsent(self._settings)
        return [*super().notes(), *([f"{self._name}: {unsent}"] if unsent else [])]

    def _parts(self, request: Request, ask: Generate) -> list[GenerationPart] | Failure:
        is_begun = not isinstance(ask.prompt, str) and bool(ask.prompt) and ask.prompt[-1].role == "assistant"
        if is_begun and (why := self._provider.describe_begun_reply(self._settings)):
            return Failure("begun_reply", why)
        return super()._parts(request, ask)

    def _scoring_job(self, request: Request, ask: Span | Labels) -> Request | Response:
        what = f"{self._provider.cannot_score}: use --method gen"
        return Response(request.id, request.key, Failure("kind", what))


class AnthropicBackend(ProviderBackend):
    """A model behind Anthropic's API."""

    def __init__(self, where: str, args: Mapping[str, str]) -> None:
        """Check the address, the arguments and the key; opens no connection."""
        super().__init__(where, args, AnthropicProtocol())


class GeminiBackend(ProviderBackend):
    """A model behind the Gemini API."""

    def __init__(self, where: str, args: Mapping[str, str]) -> None:
        """Check the address, the arguments and the key; opens no connection."""
        super().__init__(where, args, GeminiProtocol())


class AnthropicTimedClient(OpenAITimedClient):
    """Timed client of a model behind Anthropic's API."""

    def __init__(self, where: str, args: Mapping[str, str]) -> None:
        """Check the address, the arguments and the key; opens no connection."""
        super().__init__(where, args, AnthropicProtocol())


class GeminiTimedClient(OpenAITimedClient):
    """Timed client of a model behind the Gemini API."""

    def __init__(self, where: str, args: Mapping[str, str]) -> None:
        """Check the address, the arguments and the key; opens no connection."""
        super().__init__(where, args, GeminiProtocol())
