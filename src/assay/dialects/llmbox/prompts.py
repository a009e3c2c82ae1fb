"""Join examples, question and answer into a prompt.

A base model reads one text: examples end in an empty line, and one space separates two pieces unless there is
white space already. A chat model reads messages: examples are pairs of a user and an assistant turn.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from assay.core.prompt import Message, Prompt
from assay.dialects.shared.conversation import build_chat_messages

AFTER_EXAMPLE = "\n\n"


class Shot(NamedTuple):
    """A solved example."""

    source: str
    target: str


class PromptExamples(NamedTuple):
    """The examples of one prompt."""

    shots: tuple[Shot, ...] = ()
    preface: str = ""
    """Examples that the author wrote as one text."""
    n_left_out: int = 0

    def at_most(self, n: int | None, *, drops_last: bool) -> PromptExamples:
        """Return at most `n` whole examples. A preface is kept or dropped as a whole."""
        if n is None:
            return self
        preface = self.preface if n else ""
        excess = max(0, len(self.shots) - n)
        if not excess:
            return PromptExamples(self.shots, preface, self.n_left_out)
        shots = self.shots[:-excess] if drops_last else self.shots[excess:]
        return PromptExamples(shots, preface, self.n_left_out + excess)


class PromptOpening(NamedTuple):
    """A prompt up to the answer."""

    before: tuple[Message, ...] | str
    """Messages with the question last, or one text."""

    @property
    def question_prompt(self) -> Prompt:
        """The prompt for generating a letter or a text, without white space at its end."""
        if not isinstance(self.before, str):
            return self.before
        return self.before.rstrip() or self.before

    def followed_by(self, target: str) -> tuple[Prompt, int]:
        """Return the prompt with an answer, and the start of the answer in its final text."""
        if not isinstance(self.before, str):
            return (*self.before, Message("assistant", target)), 0
        # Same as the original at the end of a prompt, so that trailing blanks of an option are not scored.
        target = target.rstrip() or target
        return self.before + gap(self.before, target) + target, len(self.before)


def build_opening(
    examples: PromptExamples, source: str, *, is_chat: bool, system: str | None = None, lead: str = ""
) -> PromptOpening:
    """Put examples before a question, and the system prompt and lead before them."""
    if not is_chat:
        first = "".join(f"{text}{AFTER_EXAMPLE}" for text in (system, lead) if text)
        return PromptOpening(first + render_examples(examples) + source)
    return PromptOpening(
        build_chat_messages(examples.shots, f"{examples.preface}{source}", system=system, lead=lead)
    )


@lru_cache(maxsize=256)
def render_examples(examples: PromptExamples) -> str:
    """Return the examples as a base model reads them. Cached, because most rows share them."""
    return examples.preface + "".join(render_example(shot) + AFTER_EXAMPLE for shot in examples.shots)


def render_example(shot: Shot) -> str:
    """Return one example as a base model reads it."""
    return f"{shot.source}{gap(shot.source, shot.target)}{shot.target}"


def gap(left: str, right: str) -> str:
    """Return the space between two pieces, if they need one."""
    return " " if left and right and not left[-1].isspace() and not right[0].isspace() else ""
