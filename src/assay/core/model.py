"""Who a model is and what it can do, known before its weights are read."""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.core.ids import digest
from assay.core.media import Medium
from assay.core.request import Kind


class ModelIdentity(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything that decides what a model answers. Cached answers are found by it."""

    backend: str
    name: str
    """As the person named it, without secrets."""
    weights: str = ""
    """Hash of the weight files, or the name of a hub repository and its commit."""
    dtype: str = ""
    template: str = ""
    """Hash of the chat template."""
    args: dict[str, str | int | float | bool] = {}
    """Arguments that change answers."""
    reported: dict[str, str | int | float | bool] = {}
    """What a server says about the model it serves, such as the path of its weights."""
    server: Literal["reports", "named", "unknown"] | None = None
    """How the model behind a server is identified: the server reports it, a person named it, or not at all.
    None: the model is on this machine, and its files identify it."""
    revision: str = ""
    """The branch, tag or commit of a hub repository that was asked for; `weights` has the commit it named."""

    @property
    def digest(self) -> str:
        """Return one name for all that decides the answers."""
        return digest(self.deciding, size=16)

    @property
    def deciding(self) -> ModelIdentity:
        """Return what decides the answers: how a model came to be known does not."""
        return msgspec.structs.replace(self, server=None, revision="")

    @property
    def commit(self) -> str | None:
        """Return the commit of a hub repository; None where the model is not from the hub."""
        return self.weights.rpartition("@")[2] if self.revision else None


class ModelCard(msgspec.Struct, frozen=True):
    """What a plan needs to know about a model."""

    name: str
    kinds: frozenset[Kind]
    """The asks it can answer."""
    is_chat: bool
    """Whether it has a chat template."""
    context_length: int | None = None
    is_cacheable: bool = True
    """Whether keeping its answers between runs is worth while."""
    has_windows: bool = True
    """Whether it can score a text of any length window by window, which needs its tokens."""
    stops_at_tokens: bool = False
    """Whether it ends a text at `Generate.stop_ids`, which needs its tokens."""
    media: frozenset[Medium] = frozenset()
    """What it takes beside text."""
    takes_parameters: bool = False
    """Whether it takes further sampling parameters by the names of UltraEval's servers."""
    fetches_media: bool = False
    """Whether it takes media by their addresses and fetches them itself."""
    ways: dict[Kind, str] = {}
    """How each kind is asked for, in words, where there are several ways: a server was asked which it has."""
    cannot: dict[Kind, str] = {}
    """Why a kind cannot be asked for, where that was found out."""


class Token(msgspec.Struct, frozen=True):
    """One token of a prompt as the model reads it."""

    id: int
    text: str
    is_scored: bool
