"""Joining instruction, examples and question: plain texts one after the other, as the document says.

An example is a row's input and output with nothing between them; an empty line ends it. Spacing is the
transform's to write.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.prompt import Message, Prompt
from assay.dialects.shared.conversation import build_chat_messages
from assay.dialects.ultraeval.transformed_rows import PromptParts

_BREAK = "\n\n"


class Prompts:
    """How the prompts of a task look."""

    def __init__(self, description: str, *, is_chat: bool, keeps_spaces: bool) -> None:
        """Take the instruction; `keeps_spaces`: a prompt may end in spaces, as the transform wrote it."""
        self._description = description
        self._is_chat = is_chat
        self._keeps_spaces = keeps_spaces

    def text(self, parts: PromptParts) -> str:
        """Return a prompt as one text."""
        lead = f"{self._description}{_BREAK}" if self._description else ""
        # The original ends the list of examples with an empty line also where the list came out empty.
        shots = _BREAK if parts.is_emptied else ""
        shots += "".join(f"{shot.input}{shot.output}{_BREAK}" for shot in parts.shots)
        return f"{lead}{shots}{parts.asked.input}"

    def asked(self, parts: PromptParts, begun: str = "") -> Prompt:
        """Return the prompt that the model goes on from; `begun`: the beginning of its answer."""
        if self._is_chat:
            history = self._history(parts)
            return (*history, Message("assistant", begun)) if begun.strip() else history
        text = self.text(parts) + begun
        # A tokenizer puts the space before a word into its token: a space at the end would take it away.
        return text if self._keeps_spaces else text.rstrip(" ") or text

    def answered(self, parts: PromptParts, answers: Sequence[str]) -> list[tuple[Prompt, int]]:
        """Return the prompt with each answer, and where in its final text the answer begins."""
        if self._is_chat:
            history = self._history(parts)
            return [((*history, Message("assistant", answer.strip())), 0) for answer in answers]
        text = self.text(parts)
        # Spaces before an answer belong to it, where tokenizers put them.
        start = len(text.rstrip(" "))
        return [(text + answer, start) for answer in answers]

    def _history(self, parts: PromptParts) -> tuple[Message, ...]:
        shots = ((shot.input.rstrip(), shot.output.strip()) for shot in parts.shots)
        return build_chat_messages(shots, parts.asked.input.rstrip(), lead=self._description.rstrip())
