"""What a run is expected to need: requests, tokens, time and money."""

from __future__ import annotations

import msgspec


class Range(msgspec.Struct, frozen=True):
    """An estimated number with its limits."""

    low: float
    expected: float | None
    """None: only the limits are known."""
    high: float


class MethodEstimate(msgspec.Struct, frozen=True):
    """The requests of one method of a task."""

    task: str
    method: str
    n_requests: int


class Estimate(msgspec.Struct, frozen=True):
    """What a run would need, without answers that are already in the cache, and without its judge."""

    model: str
    methods: tuple[MethodEstimate, ...]
    n_requests: int
    input_tokens: Range
    output_tokens: Range
    seconds: Range | None
    """None: not known."""
    usd: Range | None
    """None: not known."""
    is_exact_input: bool
    """Whether the model's own tokenizer counted the prompts."""
    input_from: str
    """How each number was estimated, in words."""
    output_from: str
    seconds_from: str
    usd_from: str
    notes: tuple[str, ...] = ()
