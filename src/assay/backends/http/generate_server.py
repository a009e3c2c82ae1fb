"""Models behind TGI's own protocol and Triton's generate extension: `tgi:@URL`, `triton:MODEL@URL`.

The client is that of OpenAI-compatible servers: the same retries, streams, times and keys.
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
    """A server that continues plain texts, and does nothing else."""

    def __init__(self, where: str, args: Mapping[str, str], protocol: TextProtocol) -> None:
        super().__init__(where, args, protocol)

    @property
    def card(self) -> ModelCard:
        """Return what such a server can do."""
        kinds = frozenset({Kind.GENERATE})
        return ModelCard(name=self._name, kinds=kinds, is_chat=False, has_windows=False)

    def probe_card(self, kinds: frozenset[Kind], *, is_chat: bool) -> ModelCard:
        """Return the card: it is known without a call."""
        return self.card

    def _parts(self, request: Request, ask: Generate) -> list[GenerationPart] | Failure:
        if not isinstance(ask.prompt, str):
            return Failure("chat", f"{self._protocol.name} takes plain text; the prompt is a conversation")
        return super()._parts(request, ask)

    def _scoring_job(self, request: Request, ask: Span | Labels) -> Request | Response:
        what = f"the protocol of {self._protocol.name} has no likelihoods: use --method gen"
        return Response(request.id, request.key, Failure("kind", what))


class TgiBackend(_GenerateBackend):
    """A model behind TGI."""

    def __init__(self, where: str, args: Mapping[str, str]) -> None:
        """Check the address and the arguments; connects to nothing."""
        super().__init__(where, args, TgiProtocol())


class TritonBackend(_GenerateBackend):
    """A model behind Triton."""

    def __init__(self, where: str, args: Mapping[str, str]) -> None:
        """Check the address and the arguments; connects to nothing."""
        super().__init__(where, args, TritonProtocol())


class TgiTimedClient(OpenAITimedClient):
    """A model behind TGI, timed."""

    def __init__(self, where: str, args: Mapping[str, str]) -> None:
        """Check the address and the arguments; connects to nothing."""
        super().__init__(where, args, TgiProtocol())


class TritonTimedClient(OpenAITimedClient):
    """A model behind Triton, timed."""

    def __init__(self, where: str, args: Mapping[str, str]) -> None:
        """Check the address and the arguments; connects to nothing."""
        super().__init__(where, args, TritonProtocol())
