"""Messages of a prompt, as an author's `construct_examples` builds and returns them.

Handles roles and their order. A formatter, which is passed in, turns messages into text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pprint import pformat
from typing import Any, Literal, Protocol, TypeAlias, overload

Message: TypeAlias = dict[str, str]
"""`{"role": "system" | "user" | "assistant", "content": text}`."""
Segment: TypeAlias = Literal["system", "examples", "source", "target"]
Method: TypeAlias = Literal["get_ppl", "get_prob", "generation"]


class PromptFormatter(Protocol):
    """Turns conversations into model prompts."""

    def to_model_prompts(
        self,
        conversations: Sequence[Conversation],
        split: bool,
        model_evaluation_method: Method,
        max_turns: int = 1,
    ) -> Sequence[Any]:
        """Return one prompt per conversation: a text, or a tuple of segments and counts."""


class Conversation:
    """Messages in order: an optional system message, shots as user and assistant pairs, then the question.

    The answer can follow the question: the scored text of a likelihood, or the model's reply.
    """

    def __init__(
        self,
        messages: Iterable[Message] | None = None,
        num_turns: int = 1,
        num_shots: int = 0,
        num_options: int = 1,
        multi_turn_users: Iterable[str] | None = None,
        formatter: PromptFormatter | None = None,
        model_evaluation_method: Method | None = None,
        split: bool | None = None,
        is_normalized: bool = False,
    ) -> None:
        self.messages = list(messages or ())
        self.num_turns = num_turns
        """Number of user turns after the shots."""
        self.num_shots = num_shots
        """Number of message pairs that are examples."""
        self.num_options = num_options
        self.mt_users = list(multi_turn_users or ())
        """The user's following turns."""
        self.formatter = formatter
        self.model_evaluation_method = model_evaluation_method
        self.split = split
        """Whether a prompt is passed as segments instead of one text."""
        self.is_normalized = is_normalized
        """Whether this is the context-free copy whose likelihood normalises another."""

    @classmethod
    def from_chat(cls, *, user: str | None = None, assistant: str | None = None) -> Conversation:
        """Return a conversation of one turn; an empty text adds no message."""
        return cls(_messages(user, assistant))

    @classmethod
    def from_conversations(cls, conversations: Iterable[Conversation]) -> Conversation:
        """Return the messages of several conversations as one; the message dicts are shared."""
        return cls(message for conversation in conversations for message in conversation.messages)

    def set_num_shots(self, num_shots: int | None) -> None:
        """Set the number of message pairs that are examples."""
        self.num_shots = num_shots or 0

    def set_num_options(self, num_options: int | None) -> None:
        """Set the number of options of the question."""
        self.num_options = num_options or 0

    def set_formatter(
        self,
        formatter: PromptFormatter,
        model_evaluation_method: Method | None = None,
        split: bool | None = None,
    ) -> None:
        """Set how `to_model_prompt` writes prompts. A conversation with one segment is never split."""
        self.formatter = formatter
        self.model_evaluation_method = model_evaluation_method
        self.split = bool(split) and self.get_segs_num() > 1

    def add(
        self,
        other: Conversation | None = None,
        user: str | None = None,
        assistant: str | None = None,
        inplace: bool = False,
    ) -> Conversation:
        """Return a new conversation: copies of these messages, then those of another or of one turn.

        The counts of shots, turns and options are reset.
        """
        if inplace:
            return self.add_(other, user, assistant)
        added = _messages(user, assistant) if other is None else other.messages
        return type(self)(dict(message) for message in (*self.messages, *added))

    def add_(
        self,
        other: Conversation | None = None,
        user: str | None = None,
        assistant: str | None = None,
    ) -> Conversation:
        """Append the messages of another conversation, or of one turn, and return this one.

        The message dicts of the other are shared, not copied.
        """
        self.messages.extend(_messages(user, assistant) if other is None else other.messages)
        return self

    def add_multi_turn(self, *, users: Sequence[str] | None = None, assistant: str | None = None) -> None:
        """Start a conversation with several user turns, or add a reply and the next of these turns."""
        if (users is None) == (assistant is None):
            raise ValueError("add_multi_turn takes either users or assistant")
        if users is not None:
            if len(users) < 2:
                raise ValueError(
                    f"a conversation of several turns needs at least two user texts, not {users!r}"
                )
            self.num_turns = len(users)
            self.mt_users = list(users)
        elif assistant is not None:
            self.messages.append({"role": "assistant", "content": assistant})
        if self.mt_users:
            self.messages.append({"role": "user", "content": self.mt_users.pop(0)})

    def get_segs_num(self) -> int:
        """Return how many of the segments system, examples, source and target contain messages."""
        if len(self.messages) < 2:
            return len(self.messages)
        single = 1 + (self.messages[0]["role"] == "system") + (self.messages[-1]["role"] == "assistant")
        return single + (len(self.messages) > single)

    @overload
    def get_segs(self, seg: None = None) -> dict[Segment, list[Message]]: ...
    @overload
    def get_segs(self, seg: Segment) -> list[Message]: ...
    def get_segs(self, seg: Segment | None = None) -> dict[Segment, list[Message]] | list[Message]:
        """Return the messages by segment, or of one segment. Answered turns count as examples."""
        has_system = bool(self.messages) and self.messages[0]["role"] == "system"
        has_target = bool(self.messages) and self.messages[-1]["role"] == "assistant"
        n_answered = max(self.num_turns - len(self.mt_users) - 1, 0) if self.messages else 0
        begin, end = int(has_system), len(self.messages) - has_target
        question = begin + 2 * (self.num_shots + n_answered)
        segments: dict[Segment, list[Message]] = {
            "system": self.messages[:begin],
            "examples": self.messages[begin:question],
            "source": self.messages[question:end],
            "target": self.messages[len(self.messages) - has_target :],
        }
        roles = [message["role"] for message in segments["examples"]]
        if roles != ["user", "assistant"] * (len(roles) // 2):
            raise ValueError(
                f"the {self.num_shots} examples must alternate user and assistant messages, found {roles}"
            )
        if len(segments["source"]) > 1:
            raise ValueError(
                f"one question must follow the {self.num_shots} examples, found {len(segments['source'])}"
                " messages; call set_num_shots with the number of example pairs"
            )
        return segments if seg is None else segments[seg]

    def get_generation_results(self) -> str | tuple[str, ...]:
        """Return the assistant's reply: a text, or one per turn if there are several."""
        if self.num_turns == 1:
            if not self.messages or self.messages[-1]["role"] != "assistant":
                raise ValueError("the conversation does not end with a reply")
            return self.messages[-1]["content"]
        begin = int(self.messages[0]["role"] == "system") + 2 * self.num_shots if self.messages else 0
        replies = tuple(
            message["content"] for message in self.messages[begin:] if message["role"] == "assistant"
        )
        if len(replies) != self.num_turns:
            raise ValueError(f"{self.num_turns} turns have {len(replies)} replies")
        return replies

    def to_model_prompt(self, max_turns: int = 1) -> Any:
        """Return the prompt as written by the formatter; None after the last turn."""
        if self.num_turns < max_turns:
            return None
        if self.formatter is None or self.model_evaluation_method is None:
            raise ValueError("call set_formatter before to_model_prompt")
        return self.formatter.to_model_prompts(
            [self], bool(self.split), self.model_evaluation_method, max_turns=max_turns
        )[0]

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def __getitem__(self, item: int) -> Message:
        return self.messages[item]

    def __setitem__(self, key: int, value: Message) -> None:
        self.messages[key] = value

    def __len__(self) -> int:
        return len(self.messages)

    def __repr__(self) -> str:
        return f"Conversation(\n{pformat(self.messages)})"


def _messages(user: str | None, assistant: str | None) -> list[Message]:
    texts = (("user", user), ("assistant", assistant))
    return [{"role": role, "content": text} for role, text in texts if text]
