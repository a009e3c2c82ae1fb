"""Parsed dataset templates: a text, or a dialogue of `begin`, `round` and `end`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from assay.dialects.openicl.templates.dialogue_turns import DialogueLine, Section
from assay.dialects.openicl.templates.text import Row, TemplateMarks, TemplateText, fill_repeatedly


class Examples(NamedTuple):
    """Solved examples, rendered for a prompt."""

    text: str = ""
    """As a text."""
    lines: tuple[DialogueLine, ...] = ()
    """As lines of a dialogue; the text is then empty."""


class TemplateItem(NamedTuple):
    """One item of a template."""

    role: str | None
    """None for a bare text."""
    fallback: str | None
    text: TemplateText
    section: Section = "round"
    parts: tuple[TemplateText | None, ...] = ()
    """The parts of a bare text that contains examples; None marks the examples."""

    def is_like(self, other: TemplateItem) -> bool:
        """Whether both are equal."""
        return (self.role, self.fallback, self.text.raw) == (other.role, other.fallback, other.text.raw)


class StringLayout:
    """A template of one text."""

    format: ClassVar[str] = "string format"

    def __init__(self, raw: str, marks: TemplateMarks) -> None:
        self.text = TemplateText(raw, marks)
        self.items = (TemplateItem(None, None, self.text),)

    def say(self, row: Row, examples: Examples) -> str:
        """Return the text of a row, with the examples inserted."""
        return self.text.fill(row, examples.text)

    def example(self, row: Row) -> str:
        """Return the text of an example row."""
        return self.text.fill(row)


class DialogueLayout:
    """A template of turns and bare texts, in three sections."""

    format: ClassVar[str] = "dialogue format"

    def __init__(self, items: Sequence[TemplateItem], marks: TemplateMarks) -> None:
        self.items = tuple(items)
        self._marks = marks

    def say(self, row: Row, examples: Examples) -> list[DialogueLine]:
        """Return the lines of a row, with the examples inserted."""
        lines: list[DialogueLine] = []
        for at, item in enumerate(self.items):
            if item.parts and examples.lines:
                self._append_parts(lines, at, row, examples)
            elif item.role is not None or item.text.raw or not examples.lines:
                # If examples are turns, the original drops empty bare texts.
                text = item.text.fill(row, examples.text)
                lines.append(DialogueLine(item.role, text, item.fallback, item.section, item=at))
        return lines

    def example(self, row: Row) -> list[DialogueLine]:
        """Return the lines of an example row: only its rounds."""
        return [
            DialogueLine(item.role, item.text.fill(row), item.fallback, "examples")
            for item in self.items
            if item.section == "round"
        ]

    def _append_parts(self, lines: list[DialogueLine], at: int, row: Row, examples: Examples) -> None:
        item = self.items[at]
        for part in item.parts:
            if part is not None:
                lines.append(DialogueLine(None, part.fill(row), None, item.section, item=at))
            elif self._marks.is_faithful:
                lines += [
                    line._replace(text=fill_repeatedly(line.text, row, self._marks))
                    for line in examples.lines
                ]
            else:
                lines += examples.lines


def build_bare_item(raw: str, marks: TemplateMarks, section: Section) -> TemplateItem:
    """Return the item for a text without a role."""
    text = TemplateText(raw, marks)
    if not text.has_examples or marks.ice_token is None:
        return TemplateItem(None, None, text, section)
    parts: list[TemplateText | None] = []
    for one in text.raw.split(marks.ice_token):
        parts += [TemplateText(one, marks), None] if one else [None]
    return TemplateItem(None, None, text, section, tuple(parts[:-1]))
