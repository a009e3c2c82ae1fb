"""The conversation a judge sees: user turns, one side's answers, and reference answers if known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Conversation(NamedTuple):
    """The user's turns, with one answer each."""

    questions: tuple[str, ...]
    answers: tuple[str, ...]
    references: tuple[str | None, ...] = ()
    """Reference answers to the turns, None for an unknown one; empty if there are none."""

    @property
    def has_reference(self) -> bool:
        """Whether any turn has a reference answer."""
        return any(reference is not None for reference in self.references)

    def until(self, turn: int) -> Conversation:
        """Return the first `turn` turns."""
        return Conversation(self.questions[:turn], self.answers[:turn], self.references[:turn])


def transcript(questions: Sequence[str], answers: Sequence[str | None], speaker: str) -> str:
    """Return turns as one text; a turn without an answer is omitted."""
    return "\n\n".join(
        f"### User\n{question}\n\n### {speaker}\n{answer}"
        for question, answer in zip(questions, answers, strict=True)
        if answer is not None
    )
