"""A table scored by a whole command against a server on the loopback."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from cli import Result, assay
from fakes.openai_server import Body, choice, prompt_of, reply, serving


class Scored(NamedTuple):
    """What a command printed, and what the model was sent."""

    result: Result
    bodies: list[Body]

    @property
    def metrics(self) -> dict[str, float | None]:
        """Return the value of every metric over the whole task, by its name."""
        answer = json.loads(self.result.out)
        return {one["metric"]: one["value"] for one in answer["metrics"] if one.get("group") is None}

    @property
    def value(self) -> float | None:
        """Return the headline."""
        answer = json.loads(self.result.out)
        (value,) = [
            one["value"] for one in answer["metrics"] if one["is_headline"] and one.get("group") is None
        ]
        return None if value is None else float(value)


def run_table(path: str, message: str | Callable[[str], str], *flags: str) -> Scored:
    """Run `assay run PATH` on a chat model that says one text, or what a function of the prompt says."""
    bodies: list[Body] = []

    def model(body: Body) -> Any:
        bodies.append(body)
        return reply(choice(body, message if isinstance(message, str) else message(prompt_of(body))))

    with serving(model) as server:
        # A port may be used again: answers of an earlier server at it must not count.
        result = assay("run", path, "-m", f"openai:tiny@{server.url}", "--json", "--fresh", *flags)
    return Scored(result, bodies)
