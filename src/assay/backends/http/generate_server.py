"""Backends for TGI's own protocol and Triton's generate extension: `tgi:@URL`, `triton:MODEL@URL`.

They use the client for OpenAI-compatible servers: the same retries, streams, timing and keys.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.backends.http.generate_protocols import TgiProtocol, TritonProtocol
from assay.backends.http.text_protocol import TextProtocol
from assay.backends.openai.backend import OpenAIBackend
from assay.backends.openai.protocol import GenerationPart
from assay.backends.openai.timed_client import OpenAITimedClient
from assay.core.model import ModelCard
from assay.core.request import Generate, Kind, Labels, Request, Span
from assay.core.response import Failure, Response


class _GenerateBackend(OpenAIBackend):
    """A server that only continues plain texts."""

    def __init__(self, where: str, args: Mapping[str, str], protocol: TextProtocol) -> None:
        super().__init__(where, args, protocol)

    @property
    def card(self) -> ModelCard:
        """Return the server's abilities."""
        kinds = frozenset({Kind.GENERATE})
        return ModelCard(name=self._name, kinds=kinds, is_chat=False, has_windows=False)

    def probe_card(self, kinds: frozenset[Kind], *, is_chat: bool) -> ModelCard:
        """Return the card: nothing needs to be probed."""
        return self.card

    def _parts(self, request: Request, ask: Generate) -> list[GenerationPart] | Failure:
        if not isinstance(ask.prompt, str):
            what = f"{self._protocol.name} accepts only plain text, but the prompt is a conversation"
            return Failure("chat", what)
        return super()._parts(request, ask)

    def _scoring_job(self, request: Request, ask: Span | Labels) -> Request | Response:
        what = f"{self._protocol.name} does not support likelihoods: use --method gen"
        return Response(request.id, request.key, Failure("kind", what))


class TgiBackend(_GenerateBackend):
    """A model behind TGI."""

    def __init__(self, where: str, args: Mapping[str, str]) -> None:
        """Check the address and the arguments; opens no connection."""
        super().__init__(where, args, TgiProtocol())


class TritonBackend(_GenerateBackend):
    """A model behind Triton."""

    def __init__(self, where: str, args: Mapping[str, str]) -> None:
        """Check the address and the arguments; opens no connection."""
        super().__init__(where, args, TritonProtocol())


class TgiTimedClient(OpenAITimedClient):
    """Timed client of a model behind TGI."""

    def __init__(self, where: str, args: Mapping[str, str]) -> None:
        """Check the address and the arguments; opens no connection."""
        super().__init__(where, args, TgiProtocol())


class TritonTimedClient(OpenAITimedClient):
    """Timed client of a model behind Triton."""

    def __init__(self, where: str, args: Mapping[str, str]) -> None:
        """Check the address and the arguments; opens no connection."""
        super().__init__(where, args, TritonProtocol())
