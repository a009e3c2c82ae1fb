"""What to write if a server rejects a field that Assay sends: models differ in the fields they accept."""

from __future__ import annotations

import re

from assay.backends.openai.thinking import TEMPLATE_FIELD
from assay.core.thinking import Thinking

_REJECTED = re.compile(
    r"deprecated|not supported|n't support|not support|unsupported|may only|only the default", re.IGNORECASE
)
_BOTH = re.compile(r"cannot both be specified", re.IGNORECASE)


def suggest_fix(message: str, thinking: Thinking | None) -> str:
    """Return what to write after a server's message; "" if the message is not about a known field."""
    if thinking is not None and TEMPLATE_FIELD in message:
        if thinking.is_on:
            return "; this server does not render chat templates: use --thinking low, medium or high"
        return (
            "; this server does not render chat templates: replace --thinking off by --model-arg "
            "extra.reasoning_effort=none"
        )
    if _BOTH.search(message) and "top_p" in message:
        return "; --model-arg omit=top_p sends none"
    if not _REJECTED.search(message):
        return ""
    if "max_completion_tokens" in message:
        return "; use --model-arg max_tokens_name=max_completion_tokens"
    if thinking is not None and thinking.is_on:
        if "thinking.type.enabled" in message:
            return "; this model has no budgets: use --thinking on, or --thinking low, medium or high"
        if "adaptive" in message:
            return "; this model needs a budget, such as --thinking 4096"
    names = [name for name in ("temperature", "top_p", "seed", "stop") if re.search(rf"\b{name}\b", message)]
    return f"; --model-arg omit={names[0]} sends none" if names else ""
