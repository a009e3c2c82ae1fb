"""What does not fit into a model's context is a failure; no backend cuts a prompt."""

from __future__ import annotations

from assay.core.response import Failure


def check_context_length(n_tokens: int, context_length: int | None) -> Failure | None:
    """Return the failure of an ask that needs more than the model reads, or None when it fits."""
    if context_length is None or n_tokens <= context_length:
        return None
    return Failure("too_long", f"needs {n_tokens:,} tokens; the model reads at most {context_length:,}")
