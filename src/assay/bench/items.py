"""The item of a load: one conversation of a client with the server."""

from __future__ import annotations

import msgspec

from assay.core.prompt import Prompt


class LoadItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """One prompt, or the first of several turns."""

    id: str
    prompt: Prompt
    max_tokens: int | None = None
    """Maximum response length. None: that of the run."""
    turns: tuple[str, ...] = ()
    """The user's further messages, each sent after the response to the previous one."""
    at_s: float | None = None
    """Its time in the trace, in seconds from the start of the trace."""
    n_prompt_tokens: int | None = None
    """Tokens of the prompt, if known from its generation; otherwise the server counts them."""
