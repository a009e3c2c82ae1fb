"""How much a model thinks before it answers: `--thinking on`, `off`, an effort, or a number of tokens."""

from __future__ import annotations

import msgspec

EFFORTS = ("minimal", "low", "medium", "high")
"""The efforts that model APIs know by name."""
EXPECTED = "on, off, minimal, low, medium, high, or a number of tokens such as 1024"


class Thinking(msgspec.Struct, frozen=True):
    """A request to think, or not to."""

    is_on: bool
    effort: str | None = None
    """One of EFFORTS; None: the model's own."""
    budget: int | None = None
    """Maximum tokens of a thought; None: no limit besides `max_tokens`."""

    @property
    def written(self) -> str:
        """Return it as it is written on the command line."""
        if not self.is_on:
            return "off"
        return self.effort or (str(self.budget) if self.budget is not None else "on")


def read_thinking(written: str) -> Thinking:
    """Return the meaning of a value of `--thinking`; raise ValueError if it has none."""
    text = written.strip().lower()
    if text in ("on", "off"):
        return Thinking(text == "on")
    if text in EFFORTS:
        return Thinking(True, effort=text)
    if text.isascii() and text.isdecimal() and 0 < int(text) < 10**7:
        return Thinking(True, budget=int(text))
    raise ValueError(f"write {EXPECTED}")
