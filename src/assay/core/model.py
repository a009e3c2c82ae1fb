"""The identity and the capabilities of a model, known before its weights are loaded."""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.core.ids import digest
from assay.core.media import Medium
from assay.core.model_names import title_of_spec
from assay.core.request import Kind


class ModelIdentity(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything that determines a model's answers. Cached answers are stored under it."""

    backend: str
    name: str
    """As the user named it, without secrets."""
    weights: str = ""
    """Hash of the weight files, or the name of a hub repository and its commit."""
    dtype: str = ""
    template: str = ""
    """Hash of the chat template."""
    args: dict[str, str | int | float | bool] = {}
    """Arguments that change answers."""
    reported: dict[str, str | int | float | bool] = {}
    """What a server reports about its model, such as the path of its weights."""
    server: Literal["reports", "named", "unknown"] | None = None
    """How the model behind a server is identified: the server reports it, the user named it, or not at all.
    None: the model is on this machine, and its files identify it."""
    revision: str = ""
    """The requested branch, tag or commit of a hub repository; `weights` has the resolved commit."""

    @property
    def digest(self) -> str:
        """Return one hash of everything that determines the answers."""
        return digest(self.deciding, size=16)

    @property
    def deciding(self) -> ModelIdentity:
        """Return what determines the answers, without how the model was found."""
        return msgspec.structs.replace(self, server=None, revision="")

    @property
    def title(self) -> str:
        """Return the name for tables and pages: without the address of a server."""
        title = title_of_spec(self.name)
        known = self.args.get("model") or self.reported.get("id") or self.reported.get("model_id")
        return f"{title}:{known}" if known and ":" not in title and title != self.name else title

    @property
    def key(self) -> str:
        """Return a hash that is equal for the same model on several servers.

        A server that neither reports nor names its model keeps its address: it may run any model.
        """
        if self.server == "unknown":
            return self.digest
        return digest(msgspec.structs.replace(self.deciding, name=self.title), size=16)

    @property
    def commit(self) -> str | None:
        """Return the commit of a hub repository; None if the model is not from the hub."""
        return self.weights.rpartition("@")[2] if self.revision else None


class ModelCard(msgspec.Struct, frozen=True):
    """What a plan needs to know about a model."""

    name: str
    kinds: frozenset[Kind]
    """The kinds of ask it supports."""
    is_chat: bool
    """Whether it has a chat template."""
    context_length: int | None = None
    is_cacheable: bool = True
    """Whether it is worth caching its answers between runs."""
    has_windows: bool = True
    """Whether it can score texts of any length in windows, which needs its tokens."""
    stops_at_tokens: bool = False
    """Whether it can stop at `Generate.stop_ids`, which needs its tokens."""
    media: frozenset[Medium] = frozenset()
    """The media it accepts besides text."""
    takes_parameters: bool = False
    """Whether it accepts further sampling parameters under the names of UltraEval's servers."""
    fetches_media: bool = False
    """Whether it accepts URLs of media and fetches them itself."""
    ways: dict[Kind, str] = {}
    """How each kind is requested, in words, if there are several ways and the server was probed."""
    cannot: dict[Kind, str] = {}
    """Why a kind is not supported, if that is known."""
    thinks: bool = False
    """Whether it is asked to think before each answer."""


class Token(msgspec.Struct, frozen=True):
    """One token of a prompt as the model reads it."""

    id: int
    text: str
    is_scored: bool
