"""Join instruction, examples and question: plain texts one after the other, as documented.

An example is a row's input and output with nothing between them, followed by an empty line. The transform
defines the spacing.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.prompt import Message, Prompt
from assay.dialects.shared.conversation import build_chat_messages
from assay.dialects.ultraeval.transformed_rows import PromptParts

_BREAK = "\n\n"


class Prompts:
    """The form of a task's prompts."""

    def __init__(self, description: str, *, is_chat: bool, keeps_spaces: bool) -> None:
        """Take the instruction; `keeps_spaces`: a prompt can end in spaces, as the transform wrote it."""
        self._description = description
        self._is_chat = is_chat
        self._keeps_spaces = keeps_spaces

    def text(self, parts: PromptParts) -> str:
        """Return a prompt as one text."""
        lead = f"{self._description}{_BREAK}" if self._description else ""
        # The original ends the list of examples with an empty line even if the list is empty.
        shots = _BREAK if parts.is_emptied else ""
        shots += "".join(f"{shot.input}{shot.output}{_BREAK}" for shot in parts.shots)
        return f"{lead}{shots}{parts.transformed.input}"

    def build_prompt(self, parts: PromptParts, begun: str = "") -> Prompt:
        """Return the prompt that the model continues; `begun`: the beginning of its answer."""
        if self._is_chat:
            history = self._history(parts)
            return (*history, Message("assistant", begun)) if begun.strip() else history
        text = self.text(parts) + begun
        # Tokenizers put the space before a word into its token, so a trailing space would take it away.
        return text if self._keeps_spaces else text.rstrip(" ") or text

    def render_answers(self, parts: PromptParts, answers: Sequence[str]) -> list[tuple[Prompt, int]]:
        """Return the prompt with each answer, and the start of the answer in its final text."""
        if self._is_chat:
            history = self._history(parts)
            return [((*history, Message("assistant", answer.strip())), 0) for answer in answers]
        text = self.text(parts)
        # Spaces before an answer belong to it, as in tokenizers.
        start = len(text.rstrip(" "))
        return [(text + answer, start) for answer in answers]

    def _history(self, parts: PromptParts) -> tuple[Message, ...]:
        shots = ((shot.input.rstrip(), shot.output.strip()) for shot in parts.shots)
        return build_chat_messages(shots, parts.transformed.input.rstrip(), lead=self._description.rstrip())
