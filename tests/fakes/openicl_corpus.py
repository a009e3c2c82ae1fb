"""Corpora for retrievers, and an encoder that needs no weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from assay.core.ids import digest
from assay.core.model import ModelIdentity
from assay.dialects.openicl.retrievers.corpus import Corpus, Losses, build_corpus, build_text_joiner

WIDTH = 8


class HashedTexts:
    """An encoder whose vectors depend on each text alone, and have directions all over the place."""

    def identity(self) -> ModelIdentity:
        return ModelIdentity("embedding", "hashed")

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        drawn = [np.random.RandomState(int(digest(text)[:8], 16)).normal(size=WIDTH) for text in texts]
        return np.array([one / np.linalg.norm(one) for one in drawn], dtype=np.float32)


def vectors(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the vectors that retrievers compare."""
    return HashedTexts().embed(texts).astype(np.float64)


def rows(*questions: str) -> list[Mapping[str, Any]]:
    """Return rows with an answer that differs from question to question."""
    return [{"q": question, "a": question.strip()[-1:]} for question in questions]


def corpus(
    train: Sequence[Mapping[str, Any]],
    test: Sequence[Mapping[str, Any]],
    *,
    losses: Losses | None = None,
    seed: int = 0,
    only: Sequence[int] | None = None,
    **more: Any,
) -> Corpus:
    """Return a corpus; `only` names the test rows that are in it, in their order, of those of the split."""
    places = range(len(test)) if only is None else only
    made = build_corpus(
        train,
        [test[place] for place in places],
        text=build_text_joiner(["q"]),
        output_column="a",
        sample_ids=[f"row {place}" for place in places],
        places=places,
        task="quiz",
        seed=seed,
        embedder=HashedTexts(),
        **more,
    )
    return msgspec.structs.replace(made, losses=losses)
