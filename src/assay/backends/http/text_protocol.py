"""What a protocol for texts says of itself, so that one client speaks all of them.

The client (`openai_server`, `openai_timed`) keeps calls concurrent, retries them and times them. A protocol
says where a call goes, what its body holds and how its reply is read: as the reply of an OpenAI-compatible
server, whatever the server wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

from assay.backends.openai.address import Address, parse_address
from assay.backends.openai.arguments import OpenAISettings, read_openai_settings
from assay.backends.openai.model_report import Report, fetch_model_report
from assay.backends.openai.protocol import PATHS, build_body, select_api
from assay.backends.openai.reply_reader import OpenAIReplyReader
from assay.core.request import Generate

Arguments: TypeAlias = dict[str, str | int | float | bool]


class TextProtocol(Protocol):
    """A protocol that asks for texts."""

    name: str
    """The backend's name on the command line."""
    lists_models: bool
    """Whether a server can be asked which models it has, where a person names none."""

    def read_address(self, where: str) -> Address:
        """Return where the model is, or raise MODEL-001."""

    def read_settings(self, args: Mapping[str, str]) -> OpenAISettings:
        """Return the model arguments, or raise MODEL-002."""

    def collect_identity_args(self, asked: OpenAISettings) -> Arguments:
        """Return the arguments another value of which would be another model, as far as answers go."""

    def path(self, ask: Generate, model: str, asked: OpenAISettings, *, is_stream: bool) -> str:
        """Return where a call goes, below the server's address."""

    def body(
        self,
        ask: Generate,
        model: str,
        asked: OpenAISettings,
        *,
        is_stream: bool,
        seed: int | None = None,
        n_texts: int = 1,
    ) -> dict[str, Any]:
        """Return the body of a call; may raise MediaTrouble."""

    def reading(self, ask: Generate) -> OpenAIReplyReader:
        """Return who reads the reply to one attempt."""

    def report(self, url: str, model: str, key: str | None) -> Report | None:
        """Return what the server says about its model; None where it says nothing."""


class OpenAIProtocol:
    """Chats and completions."""

    name = "openai"
    lists_models = True

    def read_address(self, where: str) -> Address:
        """Return where the model is, or raise MODEL-001."""
        return parse_address(where)

    def read_settings(self, args: Mapping[str, str]) -> OpenAISettings:
        """Return the model arguments, or raise MODEL-002."""
        return read_openai_settings(args)

    def collect_identity_args(self, asked: OpenAISettings) -> Arguments:
        """Return the arguments that change answers."""
        return asked.collect_identity_args()

    def path(self, ask: Generate, model: str, asked: OpenAISettings, *, is_stream: bool) -> str:
        """Return where a call goes: it depends on the prompt alone."""
        return PATHS[select_api(ask.prompt, asked)]

    def body(
        self,
        ask: Generate,
        model: str,
        asked: OpenAISettings,
        *,
        is_stream: bool,
        seed: int | None = None,
        n_texts: int = 1,
    ) -> dict[str, Any]:
        """Return the body of a call; may raise MediaTrouble."""
        return build_body(ask, model, asked, is_stream=is_stream, seed=seed, n_texts=n_texts)

    def reading(self, ask: Generate) -> OpenAIReplyReader:
        """Return who reads the reply to one attempt."""
        return OpenAIReplyReader()

    def report(self, url: str, model: str, key: str | None) -> Report | None:
        """Return the model's entry in the server's list."""
        return fetch_model_report(url, model, key)


OPENAI = OpenAIProtocol()
