"""When the token server owes each token of a reply: the plan, without clocks and sockets.

    ttft=120 itl=20 n=50 jitter=0.2 seed=7 role=0

The same words stand on the server's command line, in the field `schedule` of a request's body, or anywhere in
its prompt; the prompt wins over the body, the body over the command line.
"""

from __future__ import annotations

import random
import re
from itertools import accumulate
from typing import Any, NamedTuple

DEFAULT_TOKENS = 16
"""Length of a reply to a request that names none, as in OpenAI's first protocol."""
_WORD = re.compile(r"\b(ttft|itl|n|jitter|seed|role)=(-?\d+(?:\.\d+)?)")


class Schedule(NamedTuple):
    """How a reply is spread over time; times are in milliseconds from the request's arrival."""

    ttft: float = 100.0
    """Until the first token that holds text."""
    itl: float = 20.0
    """Between two tokens."""
    n: int | None = None
    """Tokens of the reply. None: as many as the request allows."""
    jitter: float = 0.0
    """Each gap is drawn between `1 - jitter` and `1 + jitter` times `itl`, and the first wait likewise."""
    seed: int = 0
    role: float | None = None
    """Until the first event, which names the role and holds no text. None: just before the first token, as
    vLLM does."""

    def offsets(self, n_tokens: int, number: int) -> list[float]:
        """Return when each token is due, in seconds from the arrival of the request of that number."""
        waits = [self.ttft] + [self.itl] * (n_tokens - 1)
        if self.jitter:
            draw = random.Random(f"{self.seed}:{number}").random
            low, width = 1 - self.jitter, 2 * self.jitter
            waits = [wait * (low + width * draw()) for wait in waits]
        return [wait / 1000 for wait in accumulate(waits)]

    def role_offset(self, first: float) -> float:
        """Return when the role is named, given when the first token is due, in seconds."""
        return first if self.role is None else min(first, self.role / 1000)

    def changed(self, text: str) -> Schedule:
        """Return the schedule with what a text says of it."""
        found = dict(_WORD.findall(text))
        read: dict[str, Any] = {
            name: int(value) if name in ("n", "seed") else float(value) for name, value in found.items()
        }
        return checked(self._replace(**read)) if read else self


def checked(schedule: Schedule) -> Schedule:
    """Return the schedule, or raise ValueError when time would run backwards."""
    if min(schedule.ttft, schedule.itl, schedule.role or 0) < 0:
        raise ValueError("a wait is below zero")
    if not 0 <= schedule.jitter <= 1:
        raise ValueError("jitter is a share, from 0 to 1")
    if schedule.n is not None and schedule.n < 1:
        raise ValueError("a reply has at least one token")
    return schedule


def schedule_of(body: dict[str, Any], default: Schedule) -> Schedule:
    """Return how the reply to a request is spread, or raise ValueError."""
    schedule = default.changed(str(body["schedule"])) if "schedule" in body else default
    prompt = prompt_of(body)
    return schedule.changed(prompt) if "=" in prompt else schedule


def prompt_of(body: dict[str, Any]) -> str:
    """Return the text that the reply answers; empty for one that is given as token ids or parts."""
    messages = body.get("messages")
    text = messages[-1].get("content") if messages else body.get("prompt")
    return text if isinstance(text, str) else ""


def n_tokens_of(body: dict[str, Any], schedule: Schedule) -> int:
    """Return how many tokens the reply has: the schedule's number, else the most that the request allows."""
    allowed = body.get("max_completion_tokens") or body.get("max_tokens") or DEFAULT_TOKENS
    return schedule.n or int(allowed)
