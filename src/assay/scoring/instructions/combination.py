"""Instructions about the response as a whole: two answers, the request repeated before the answer."""

from __future__ import annotations

from typing import ClassVar

from assay.scoring.instructions.instruction import Instruction, Text


class TwoResponses(Instruction, frozen=True):
    """Give two different answers, parted by six stars."""

    id: ClassVar[str] = "combination:two_responses"

    def is_followed(self, response: str) -> bool:
        """Whether there are two answers that differ. Stars may also stand around both."""
        first, *others = (part.strip() for part in response.split("******"))
        if not others:
            return False
        *inner, last = others
        answers = [answer for answer in (first, *inner, last) if answer]
        return all(inner) and len(answers) == 2 and answers[0] != answers[1]


class RepeatPrompt(Instruction, frozen=True):
    """Repeat the request word for word, in any case, and then answer it."""

    id: ClassVar[str] = "combination:repeat_prompt"
    prompt_to_repeat: Text

    def is_followed(self, response: str) -> bool:
        """Whether the response begins with the request. That an answer follows is not asked."""
        return response.strip().lower().startswith(self.prompt_to_repeat.strip().lower())
