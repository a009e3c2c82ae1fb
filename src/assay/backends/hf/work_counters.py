"""Counters of a local model's work."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, fields

from assay.backends.hf.compile_timing import count_compilations


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
    device_seconds: float = 0
    """How long the device computed likelihoods."""
    device_busy_share: float = 0
    """Its part of the time between the first and the last of these computations."""
    compilations: float = 0
    """Kernels that Triton compiled or read from its cache in this process since then."""
    _compiled_before: int = field(default_factory=count_compilations)
    _first_at: float | None = None

    def time_device(self, seconds: float) -> None:
        """Add a computation that ended now."""
        if not seconds:
            return
        now = time.perf_counter()
        if self._first_at is None:
            self._first_at = now - seconds
        self.device_seconds += seconds
        self.device_busy_share = min(1.0, self.device_seconds / max(now - self._first_at, 1e-9))

    def count_batch(self, n_tokens: int, n_padding: int = 0) -> None:
        """Count a batch that the model computed."""
        self.batches += 1
        self.forward_tokens += n_tokens + n_padding
        self.padding_tokens += n_padding

    def as_dict(self) -> dict[str, float]:
        """Return the sums by name."""
        self.compilations = count_compilations() - self._compiled_before
        return {one.name: getattr(self, one.name) for one in fields(self) if not one.name.startswith("_")}
