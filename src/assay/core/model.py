"""Who a model is and what it can do, known before its weights are read."""

from __future__ import annotations

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
    """Hash of the weight files, or the revision of a hub repository."""
    dtype: str = ""
    template: str = ""
    """Hash of the chat template."""
    args: dict[str, str | int | float | bool] = {}
    """Arguments that change answers."""

    @property
    def digest(self) -> str:
        """Return one name for all of it."""
        return digest(self, size=16)


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
