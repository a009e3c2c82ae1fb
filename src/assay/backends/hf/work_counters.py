"""Counters of a local model's work."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(slots=True)
class Counters:
    """Sums since a backend was created."""

    prompt_tokens: float = 0
    """Tokens of all prompts, as if no prefix were shared."""
    generated_tokens: float = 0
    forward_tokens: float = 0
    """Tokens that the model computed, for a request or as padding."""
    padding_tokens: float = 0
    """Those of them that belong to no request."""
    batches: float = 0
    load_seconds: float = 0

    def count_batch(self, n_tokens: int, n_padding: int = 0) -> None:
        """Count a batch that the model computed."""
        self.batches += 1
        self.forward_tokens += n_tokens + n_padding
        self.padding_tokens += n_padding

    def as_dict(self) -> dict[str, float]:
        """Return the sums by name."""
        return asdict(self)
