"""How large a request is before anything is made into tokens."""

from __future__ import annotations

from assay.core.request import Ask


def n_chars(ask: Ask) -> int:
    """Return the characters of an ask's prompt, media in base64 included."""
    prompt = ask.prompt
    if isinstance(prompt, str):
        return len(prompt)
    return sum(len(m.text) + sum(len(part.data) for part in m.media) for m in prompt)
