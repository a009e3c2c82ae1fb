"""A loaded model, as scoring and generation use it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from assay.backends.hf.fused_kernels import has_compiler
from assay.backends.hf.fused_pieces import FusedPieces


@dataclass(slots=True)
class LoadedModel:
    """A model in memory."""

    model: Any
    device: Any
    body: Any
    """The part that computes hidden states; None if head(body(x)) differs from the whole model."""
    head: Any
    takes: frozenset[str]
    """Names of the arguments of the model's forward."""
    vocab_size: int
    window: int | None = None
    """How many tokens back its attention looks; None: to the beginning."""
    makes_cache: bool = False
    """Whether its family has a cache class that only the model itself can create."""
    is_stateful: bool = False
    """Whether it has a state from token to token that padding before a row would change."""
    is_spread: bool = False
    """Whether its layers are on several devices."""
    is_passed: bool = False
    """Whether it belongs to the calling program: its weights must stay where they are in memory."""
    shares: bool = False
    """Whether its attention reads a shared prefix itself (see shared_attention)."""
    pieces: FusedPieces | None = None
    """Faster forms of its parts, used where its attention reads a shared prefix itself; None: its own."""

    @property
    def has_kernels(self) -> bool:
        """Whether Assay's own kernels run on its device."""
        return self.device.type == "cuda" and has_compiler()

    def using_pieces(self) -> AbstractContextManager[None]:
        """Let the model use the faster forms of its parts inside the block."""
        return nullcontext() if self.pieces is None else self.pieces.using()
