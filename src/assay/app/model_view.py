"""A model as dataset authors see it: its kind and its tokenizer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.core.ports import Backend
from assay.core.request import Span
from assay.dialects.llmbox.authoring import ModelView

_WORD = re.compile(r"\w+|\s+|[^\w\s]")


def model_view(backend: Backend | None, *, is_chat: bool) -> ModelView:
    """Return the view of a model; without a model, words serve as tokens."""
    pieces = _TokenCodec(backend)
    name = "" if backend is None else backend.card.name
    view = ModelView(name, "chat" if is_chat else "base", pieces.encode, pieces.decode)
    if backend is not None and backend.card.stops_at_tokens:
        view.pieces = lambda text: [(token.id, token.text) for token in backend.tokens(Span(text, 0))]
    return view


class _TokenCodec:
    """Encodes text to token ids and back. Decodes only ids that it encoded, which is all authors need."""

    def __init__(self, backend: Backend | None) -> None:
        self._backend = backend
        self._texts: dict[int, str] = {}
        self._ids: dict[str, int] = {}

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text."""
        if not text:
            return []
        tokens = () if self._backend is None else self._backend.tokens(Span(text, 0))
        scored = [token for token in tokens if token.is_scored]
        if scored:
            self._texts.update((token.id, token.text) for token in scored)
            return [token.id for token in scored]
        ids = [self._ids.setdefault(word, len(self._ids)) for word in _WORD.findall(text)]
        self._texts.update((id_, word) for word, id_ in self._ids.items())
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids."""
        return "".join(self._texts.get(id_, "") for id_ in ids)
