"""A judge that replies by a script and keeps what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from assay.core.model import ModelIdentity
from assay.core.prompt import Message, Prompt
from assay.core.response import Completion, Failure, Finish, Output

Reply: TypeAlias = str | Completion | Failure


def completion(text: str, finish: Finish = Finish.END) -> Completion:
    return Completion((Output(text, finish, len(text.split())),), 1)


class ScriptedJudge:
    """Replies what a function makes of the user's message; a text is a whole reply."""

    def __init__(self, script: Callable[[str], Reply]) -> None:
        self._script = script
        self.seen: list[tuple[Message, ...]] = []
        self.n_calls = 0

    def identity(self) -> ModelIdentity:
        return ModelIdentity("script", "script")

    def ask(self, prompts: Sequence[Prompt]) -> Sequence[Completion | Failure]:
        self.n_calls += 1
        outcomes = []
        for prompt in prompts:
            assert not isinstance(prompt, str)
            self.seen.append(prompt)
            reply = self._script(prompt[-1].text)
            outcomes.append(completion(reply) if isinstance(reply, str) else reply)
        return outcomes

    @property
    def users(self) -> list[str]:
        """Return the user's message of each prompt it was asked."""
        return [prompt[-1].text for prompt in self.seen]
