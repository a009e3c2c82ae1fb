"""The interface of a protocol for generation, so that one client can use all of them.

The client (`openai.backend`, `openai.timed_client`) sends concurrent calls, retries and times them. A
protocol defines the path of a call, its body, and how to read its reply. Whatever the server sends, the
result has the form of an OpenAI-compatible reply.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

from assay.backends.http.batches import BatchProtocol, OpenAIBatches
from assay.backends.openai.address import Address, parse_address
from assay.backends.openai.arguments import DEFAULT_KEY, OpenAISettings, read_openai_settings
from assay.backends.openai.model_report import Report, fetch_model_report
from assay.backends.openai.protocol import PATHS, build_body, select_api
from assay.backends.openai.reply_reader import OpenAIReplyReader
from assay.core.request import Generate

Arguments: TypeAlias = dict[str, str | int | float | bool]


class TextProtocol(Protocol):
    """A protocol for generation."""

    name: str
    """The backend's name on the command line."""
    lists_models: bool
    """Whether the server can list its models, to choose one if none is named."""
    key_variable: str
    """The environment variable with the API key, if no argument names another one."""
    batches: BatchProtocol | None
    """Its batch endpoint; None: it has none."""

    def read_address(self, where: str) -> Address:
        """Return the model's address, or raise MODEL-001."""

    def read_settings(self, args: Mapping[str, str]) -> OpenAISettings:
        """Return the model arguments, or raise MODEL-002."""

    def collect_identity_args(self, settings: OpenAISettings) -> Arguments:
        """Return the arguments that change answers, as part of the model's identity."""

    def build_headers(self, key: str | None) -> str:
        """Return the header lines that identify the caller, each with its line end."""

    def path(self, ask: Generate, model: str, settings: OpenAISettings, *, is_stream: bool) -> str:
        """Return the path of a call, below the server's address."""

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
        """Return the body of a call; may raise MediaTrouble."""

    def create_reader(self, ask: Generate) -> OpenAIReplyReader:
        """Return the reader of the reply to one attempt."""

    def report(self, url: str, model: str, key: str | None) -> Report | None:
        """Return what the server reports about its model; None if it reports nothing."""


class BearerKey:
    """Sends the API key as most servers expect it."""

    key_variable = DEFAULT_KEY
    batches: BatchProtocol | None = None

    def build_headers(self, key: str | None) -> str:
        """Return the header line with the key."""
        return "" if key is None else f"Authorization: Bearer {key}\r\n"


class OpenAIProtocol(BearerKey):
    """OpenAI's chat and completions API."""

    name = "openai"
    lists_models = True
    batches: BatchProtocol | None = OpenAIBatches()

    def read_address(self, where: str) -> Address:
        """Return the model's address, or raise MODEL-001."""
        return parse_address(where)

    def read_settings(self, args: Mapping[str, str]) -> OpenAISettings:
        """Return the model arguments, or raise MODEL-002."""
        return read_openai_settings(args)

    def collect_identity_args(self, settings: OpenAISettings) -> Arguments:
        """Return the arguments that change answers."""
        return settings.collect_identity_args()

    def path(self, ask: Generate, model: str, settings: OpenAISettings, *, is_stream: bool) -> str:
        """Return the path of a call, which depends only on the prompt."""
        return PATHS[select_api(ask.prompt, settings)]

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
        """Return the body of a call; may raise MediaTrouble."""
        return build_body(ask, model, settings, is_stream=is_stream, seed=seed, n_texts=n_texts)

    def create_reader(self, ask: Generate) -> OpenAIReplyReader:
        """Return the reader of the reply to one attempt."""
        return OpenAIReplyReader()

    def report(self, url: str, model: str, key: str | None) -> Report | None:
        """Return the model's entry in the server's list."""
        return fetch_model_report(url, model, key)


OPENAI = OpenAIProtocol()
