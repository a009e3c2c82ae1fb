"""What a load is made of: one item is one conversation that a client holds with the server."""

from __future__ import annotations

import msgspec

from assay.core.prompt import Prompt


class LoadItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """One prompt, or the first of several turns."""

    id: str
    prompt: Prompt
    max_tokens: int | None = None
    """Longest answer to the prompt. None: the run's."""
    turns: tuple[str, ...] = ()
    """What the user says afterwards, each once the model has answered what stands before it."""
    at_s: float | None = None
    """When a trace says that it was sent, in seconds from the trace's beginning."""
    n_prompt_tokens: int | None = None
    """The prompt's tokens where they are known by how it was made; else the server counts them."""
