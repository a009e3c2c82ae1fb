"""Context length check: a request that does not fit is a failure. No backend truncates a prompt."""

from __future__ import annotations

from assay.core.response import Failure


def check_context_length(n_tokens: int, context_length: int | None) -> Failure | None:
    """Return the failure of a request that exceeds the context length; None if it fits."""
    if context_length is None or n_tokens <= context_length:
        return None
    message = f"the request needs {n_tokens:,} tokens, but the model's context length is {context_length:,}"
    return Failure("too_long", message)
