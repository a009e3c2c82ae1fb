"""Conversation templates, rendered for models that read text and for chat models.

The last turn leads to the answer. It is rendered up to the answer, so that one prompt serves every
method: append and score an option, compare labels, or let the model continue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from assay.core.prompt import Message, Prompt, Role
from assay.dialects.shared.template import BraceTemplate, Template

# Placeholder for the answer while a template is rendered: a private-use character that no dataset contains.
_SLOT = "\ue0a5"
SHOT_SEPARATOR = "\n\n"


class TemplateTurn(NamedTuple):
    """One turn and its template."""

    role: Role
    template: Template


class RoleMarks(NamedTuple):
    """The role markers for a model that reads text, from its meta template."""

    begin: str
    """The start of the whole text."""
    by_role: Mapping[Role, tuple[str, str]]
    """The texts before and after a turn of each role."""
    end: str = ""
    """The text after the last turn, if the text includes the answer."""

    def text(self, turns: Sequence[tuple[Role, str]]) -> str:
        """Return turns as text, without the start and end of the whole text."""
        return "".join([f"{self._before(role)}{text}{self._after(role)}" for role, text in turns])

    def reply(self, begun: str) -> str:
        """Return the start of a reply."""
        return f"{self._before('assistant')}{begun}"

    def _before(self, role: Role) -> str:
        return self.by_role.get(role, ("", ""))[0]

    def _after(self, role: Role) -> str:
        return self.by_role.get(role, ("", ""))[1]


class DialogueOpening(NamedTuple):
    """A conversation up to the answer."""

    context: str
    """The text right before the answer, without trailing spaces; for a chat, the start of the reply."""
    joiner: str
    """The spaces before the answer. They belong to the answer, because tokenizers put them there."""
    history: tuple[Message, ...] | None
    """The messages before the reply; None if the model reads plain text."""
    generation: Prompt
    """The prompt for generating the answer."""
    verbatim: Prompt
    """The same prompt with its trailing spaces."""

    def followed_by(self, answer: str) -> tuple[Prompt, int]:
        """Return the prompt with an answer appended, and the answer's position in its final text."""
        return self._prompt(self.context + self.joiner + answer), len(self.context)

    def build_label_prompt(self) -> Prompt:
        """Return the prompt whose next token is the answer's label."""
        return self._prompt(self.context) if self.context or self.history is None else self.history

    def _prompt(self, final: str) -> Prompt:
        return final if self.history is None else (*self.history, Message("assistant", final))


class Dialogue:
    """Turns, the last of which leads to the answer."""

    def __init__(
        self,
        turns: Sequence[TemplateTurn],
        answer_field: str,
        marks: RoleMarks | None = None,
        *,
        keeps_end: bool = False,
    ) -> None:
        """Store the turns.

        `marks`: the role markers for text. `keeps_end`: whether prompts may end in white space.
        """
        self._keeps_end = keeps_end
        self.turns = tuple(turns)
        self._marks = marks
        *self._before, self._last = self.turns
        self._has_slot = answer_field in self._last.template.fields
        self.answer_field = answer_field
        every = frozenset(name for turn in turns for name in turn.template.fields)
        self.fields = every - {answer_field}
        """The fields that the templates use, except the answer."""
        self.literals = frozenset(name for turn in turns for name in turn.template.literals)
        """The names a Jinja template contains as `{field}`, which Jinja does not fill."""
        self.is_plain = all(isinstance(one, BraceTemplate) and one.is_small for _, one in turns)
        """Whether all templates are `{field}` templates, which cannot fail if their fields exist."""

    def render_opening(
        self, values: Mapping[str, Any], shots: Sequence[Mapping[str, Any]], *, chat: bool
    ) -> DialogueOpening:
        """Render up to the answer, with solved examples before the question.

        `values` and each shot contain the record's fields; a shot's answer is in the answer field.
        """
        return self.render_after(self.render_examples(shots, chat=chat), values)

    def render_examples(self, shots: Sequence[Mapping[str, Any]], *, chat: bool) -> Prompt:
        """Render solved examples, the beginning that the prompts of several questions can share."""
        if chat:
            messages: list[Message] = []
            for shot in shots:
                turns, answer = self._render_solved(shot)
                _append_turns(messages, turns)
                messages.append(Message("assistant", answer))
            return tuple(messages)
        if self._marks is None:
            return "".join([self._render_solved_text(shot) + SHOT_SEPARATOR for shot in shots])
        solved = map(self._render_solved, shots)
        texts = [self._marks.text([*turns, ("assistant", answer)]) for turns, answer in solved]
        return "".join([self._marks.begin, *texts])

    def render_after(self, examples: Prompt, values: Mapping[str, Any]) -> DialogueOpening:
        """Render up to the answer, after what `render_examples` returned."""
        if not isinstance(examples, str):
            return self._render_chat_opening(values, examples)
        if self._marks is not None:
            return self._render_marked_opening(self._marks, values, examples)
        return self._text_opening(values, examples)

    def render_turns_with_answer(self, values: Mapping[str, Any]) -> list[tuple[Role, str]]:
        """Render every turn completely; `values` contains the answer field."""
        return [(role, template.render(values)) for role, template in self.turns]

    def render_text_with_answer(self, values: Mapping[str, Any]) -> str:
        """Render the whole conversation as text."""
        turns = self.render_turns_with_answer(values)
        return _join_turns(turns) if self._marks is None else self._marks.text(turns)

    def _render_marked_opening(
        self, marks: RoleMarks, values: Mapping[str, Any], head: str
    ) -> DialogueOpening:
        turns, reply = self._render_turns(values)
        whole = "".join([head, marks.text([one for one in turns if one[1]]), marks.reply(reply or "")])
        context = whole.rstrip(" ")
        joiner = whole[len(context) :] or (_find_joiner(reply) if reply else "")
        return DialogueOpening(context, joiner, None, context, whole)

    def _text_opening(self, values: Mapping[str, Any], head: str) -> DialogueOpening:
        turns, reply = self._render_turns(values)
        body = head + _join_turns(turns)
        whole = body if reply is None else f"{body}\n{reply}"
        # A turn that consists of the answer only adds nothing to a bare question.
        verbatim = body if reply == "" and not head else whole
        context = whole.rstrip(" ")
        joiner = whole[len(context) :] or _find_joiner(whole)
        generation = context if verbatim is whole else verbatim.rstrip(" ")
        if self._keeps_end:
            generation = verbatim
        return DialogueOpening(context, joiner, None, generation, verbatim)

    def _render_solved(self, values: Mapping[str, Any]) -> tuple[list[tuple[Role, str]], str]:
        """Render the turns of an example before the reply, and the reply with the answer."""
        turns, reply = self._render_turns(values)
        begun = reply or ""
        return turns, f"{begun}{_find_joiner(begun)}{values[self.answer_field]}"

    def _render_solved_text(self, values: Mapping[str, Any]) -> str:
        turns, reply = self._render_turns(values)
        text = _join_turns(turns) if reply is None else f"{_join_turns(turns)}\n{reply}"
        return f"{text}{_find_joiner(text)}{values[self.answer_field]}"

    def _render_chat_opening(self, values: Mapping[str, Any], examples: Sequence[Message]) -> DialogueOpening:
        messages = list(examples)
        turns, reply = self._render_turns(values)
        last_turn = turns[-1][1] if turns else ""
        spaces = last_turn[len(last_turn.rstrip()) :] if last_turn.strip() else ""
        _append_turns(messages, turns)
        if self._keeps_end and messages and turns and messages[-1].role == turns[-1][0]:
            role, text = turns[-1]
            messages[-1] = Message(role, messages[-1].text + text[len(text.rstrip()) :])
        history = tuple(messages)
        context = (reply or "").rstrip(" ")
        joiner = (reply or "")[len(context) :] or _find_joiner(context)
        verbatim = history
        if spaces and history and not self._keeps_end:
            last = history[-1]
            verbatim = (*history[:-1], Message(last.role, f"{last.text}{spaces}"))
        return DialogueOpening(context, joiner, history, history, verbatim)

    def _render_turns(self, values: Mapping[str, Any]) -> tuple[list[tuple[Role, str]], str | None]:
        """Render the turns before the reply, and the reply up to the answer (None without such a turn)."""
        turns = [(role, template.render(values)) for role, template in self._before]
        role, template = self._last
        if self._has_slot:
            text = template.render({**values, self.answer_field: _SLOT}).split(_SLOT, 1)[0]
        else:
            text = template.render(values)
        if role == "assistant":
            return turns, text
        return [*turns, (role, text)], None


def _join_turns(turns: Sequence[tuple[Role, str]]) -> str:
    return "\n".join([text for _, text in turns if text])


def _find_joiner(text: str) -> str:
    """Return a space to precede an answer, or nothing if white space or no text precedes it."""
    return "" if not text or text[-1].isspace() else " "


def turns_to_messages(turns: Sequence[tuple[Role, str]]) -> tuple[Message, ...]:
    """Return turns as the messages of a chat."""
    messages: list[Message] = []
    _append_turns(messages, turns)
    return tuple(messages)


def _append_turns(messages: list[Message], turns: Sequence[tuple[Role, str]]) -> None:
    """Append turns: drop empty ones, merge adjacent ones of one role, and put system turns at the beginning.

    Examples and the question often repeat one system turn. The last row's is kept: the question's own.
    """
    system = dict.fromkeys(text.rstrip() for role, text in turns if role == "system" and text.strip())
    if system:
        first = messages[:1] if messages and messages[0].role == "system" else []
        messages[: len(first)] = [Message("system", "\n".join(system))]
    for role, text in turns:
        content = text.rstrip()
        if not content or role == "system":
            continue
        if messages and messages[-1].role == role:
            messages[-1] = Message(role, f"{messages[-1].text}\n{content}")
        else:
            messages.append(Message(role, content))
