"""A model in memory, as scoring and writing see it. Needs nothing but torch and transformers around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class LoadedModel:
    """A model in memory."""

    model: Any
    device: Any
    body: Any
    """The part that makes hidden states; None when head(body(x)) is not what the whole model computes."""
    head: Any
    takes: frozenset[str]
    """Names of the arguments that the model's forward knows."""
    vocab_size: int
    window: int | None = None
    """How far back its attention looks; None: to the beginning."""
    makes_cache: bool = False
    """Whether its family has a kind of cache that only the model itself can make."""
    is_stateful: bool = False
    """Whether it carries a state from token to token that padding in front of a row would get into."""
    shares: bool = False
    """Whether its attention looks at a shared trunk by itself (see shared_attention)."""
    flex: Any = None
    """How it computes lanes on a GPU (see flex_lanes); None: it does not."""
