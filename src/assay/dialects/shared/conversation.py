"""Chat messages for solved examples and a question: pairs of user and assistant turns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.core.prompt import Message

AFTER_LEAD = "\n\n"


def build_chat_messages(
    examples: Iterable[tuple[str, str]], question: str, *, system: str | None = None, lead: str = ""
) -> tuple[Message, ...]:
    """Return the messages up to the answer; `lead` begins the first user message."""
    messages = [Message("system", system)] if system else []
    for asked, answered in examples:
        messages += [Message("user", asked), Message("assistant", answered)]
    if question:
        messages.append(Message("user", question))
    return _prepend_lead(messages, lead) if lead else tuple(messages)


def _prepend_lead(messages: Sequence[Message], lead: str) -> tuple[Message, ...]:
    """Add a text to the start of the first user message, because not every template has a system turn."""
    first = next((at for at, message in enumerate(messages) if message.role == "user"), None)
    if first is None:
        return (*messages, Message("user", lead))
    said = Message("user", f"{lead}{AFTER_LEAD}{messages[first].text}")
    return (*messages[:first], said, *messages[first + 1 :])
