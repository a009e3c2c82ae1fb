"""Prompts: description, solved examples and the question, as one text or as a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from assay.core.prompt import Message, Prompt, Role
from assay.dialects.lm_eval.config import TaskKeys
from assay.dialects.lm_eval.rendering import Document, DocumentReader, UnreadableValue


class Turn(NamedTuple):
    """A part of a prompt."""

    role: Role
    text: str
    delimiter: str = ""
    """What follows it in a plain text; a conversation omits it."""


class ChatForm(NamedTuple):
    """How a prompt is written for a chat model."""

    is_multi_turn: bool = True
    """Whether each example is a question and an answer of the conversation, or part of one message."""


class Contexts:
    """Writes the prompts of one task."""

    def __init__(
        self, keys: TaskKeys, reader: DocumentReader, *, has_several_contexts: bool, system: str | None
    ) -> None:
        """`has_several_contexts`: the options are contexts, each followed by the same text.

        `system` is the user's instruction before the task's description.
        """
        self._keys = keys
        self._reader = reader
        self._has_several_contexts = has_several_contexts
        self._system = system

    def write(
        self, doc: Document, examples: Sequence[Document], chat: ChatForm | None = None
    ) -> list[Prompt]:
        """Return the prompt of a document up to its answer: one, or one for each option that is a context."""
        before = self._write_system(doc)
        for example in examples:
            try:
                before += self._write_example(example)
            except UnreadableValue as error:
                raise UnreadableValue(f"in an example, {error}") from error
        prefix = self._reader.read_optional(doc, self._keys.gen_prefix)
        delimiter = "" if self._has_several_contexts else self._keys.target_delimiter
        return [
            _join_turns([*before, *_write_question(question, prefix, delimiter)], chat)
            for question in self._read_questions(doc)
        ]

    def _read_questions(self, doc: Document) -> list[str]:
        if self._has_several_contexts:
            return [str(choice) for choice in self._reader.read_choices(doc, self._keys.doc_to_choice)]
        return [_require_text(self._reader.read_text(doc, self._keys.doc_to_text), "doc_to_text")]

    def _write_system(self, doc: Document) -> list[Turn]:
        description = self._reader.read_optional(doc, self._keys.description) or ""
        text = join_at_seam(self._system or "", description, self._keys.fewshot.fewshot_delimiter)
        return [Turn("system", text)] if text else []

    def _write_example(self, doc: Document) -> list[Turn]:
        fewshot, reader = self._keys.fewshot, self._reader
        question = reader.read_text(doc, fewshot.doc_to_text)
        choices = None
        if fewshot.doc_to_choice is not None:
            choices = reader.read_choices(doc, fewshot.doc_to_choice)
        target = reader.read_target(doc, fewshot.doc_to_target)
        if self._has_several_contexts and choices is not None:
            question, choices = choices[question], None
        question = _require_text(question, "doc_to_text")
        prefix = reader.read_optional(doc, fewshot.gen_prefix)
        if target is None or target == "":
            return _write_question(question, prefix, fewshot.target_delimiter)
        answer = join_at_seam(prefix or "", _write_answer(target, choices), " ")
        between = fewshot.target_delimiter
        if prefix and not _needs_delimiter(question, prefix):
            between = ""
        return [Turn("user", question, between), Turn("assistant", answer, fewshot.fewshot_delimiter)]


def join_at_seam(first: str, second: str, delimiter: str) -> str:
    """Join two texts; the delimiter is omitted if there is white space at the seam or a text is empty."""
    if not first or not second:
        return first or second
    is_spaced = first[-1].isspace() or second[0].isspace()
    return first + second if is_spaced else first + delimiter + second


def _needs_delimiter(question: str, prefix: str) -> bool:
    return bool(question) and not (question[-1].isspace() or prefix[0].isspace())


def _write_question(question: str, prefix: str | None, delimiter: str) -> list[Turn]:
    """Return a question, and the beginning of its answer if there is one."""
    if not prefix:
        return [Turn("user", question)]
    between = delimiter if _needs_delimiter(question, prefix) else ""
    return [Turn("user", question, between), Turn("assistant", prefix)]


def _write_answer(target: Any, choices: Sequence[Any] | None) -> str:
    if choices and isinstance(target, int) and not isinstance(target, bool):
        return _require_text(choices[target], "doc_to_choice")
    if isinstance(target, list | tuple):
        return _require_text(target[0] if target else None, "doc_to_target")
    return _require_text(target, "doc_to_target")


def _require_text(value: Any, key: str) -> str:
    if not isinstance(value, str):
        raise UnreadableValue(f"{key} gives {type(value).__name__} ({value!r:.60}), expected a text")
    return value


def _join_turns(turns: Sequence[Turn], chat: ChatForm | None) -> Prompt:
    if chat is None:
        return "".join(turn.text + turn.delimiter for turn in turns)
    if chat.is_multi_turn:
        return tuple(Message(turn.role, turn.text) for turn in turns)
    system = [turn for turn in turns[:1] if turn.role == "system"]
    rest = list(turns[len(system) :])
    begun = [rest.pop()] if rest[-1].role == "assistant" else []
    rest[-1] = rest[-1]._replace(delimiter="")
    asked = Turn("user", "".join(turn.text + turn.delimiter for turn in rest))
    return tuple(Message(turn.role, turn.text) for turn in (*system, asked, *begun))
