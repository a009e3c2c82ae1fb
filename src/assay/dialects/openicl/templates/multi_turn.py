"""Multi-turn templates: one round, rendered for each element of the list columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from assay.dialects.openicl.templates.dialogue_turns import DialogueLine
from assay.dialects.openicl.templates.layouts import TemplateItem
from assay.dialects.openicl.templates.text import Row
from assay.dialects.shared.template import TemplateFailure

_ORIGINAL_COLUMNS = ("question", "answer")
"""The original fills only these two columns, whatever columns the reader names."""


class Exchange(NamedTuple):
    """One turn."""

    user: str
    reference: str | None
    """The dataset's answer, or None."""


class MultiTurnLayout:
    """One round of a dialogue, rendered for every turn of a row."""

    format: ClassVar[str] = "multi-turn"

    def __init__(self, items: Sequence[TemplateItem], *, is_faithful: bool) -> None:
        self.items = tuple(items)
        self._is_faithful = is_faithful
        round_ = [item for item in items if item.section == "round"]
        self._prompt_items = [item for item in round_ if item.role != "BOT"]
        self._answered = [item for item in round_ if item.role == "BOT"]

    def exchanges(self, row: Row) -> list[Exchange]:
        """Return the turns of a row."""
        found: list[Exchange] = []
        for values, is_answered in self._turns(row):
            user = "\n".join(item.text.fill(values) for item in self._prompt_items)
            reference = "\n".join(item.text.fill(values) for item in self._answered) if is_answered else None
            found.append(Exchange(user, reference))
        return found

    def lines(self, row: Row, turn: int) -> list[DialogueLine]:
        """Return the lines up to a turn; earlier turns have the dataset's answers."""
        lines: list[DialogueLine] = []
        turns = self._turns(row)
        outside = {} if self._is_faithful else row
        for section in ("begin", "round", "end"):
            for at, item in enumerate(self.items):
                if item.section != section or section == "round":
                    continue
                lines.append(
                    DialogueLine(item.role, item.text.fill(outside), item.fallback, item.section, item=at)
                )
            if section == "round":
                for number, (values, _) in enumerate(turns[: turn + 1]):
                    items = [*self._prompt_items, *(self._answered if number < turn else ())]
                    lines += [
                        DialogueLine(one.role, one.text.fill(values), one.fallback, "round") for one in items
                    ]
        return lines

    def _turns(self, row: Row) -> list[tuple[Row, bool]]:
        """Return the values of every turn, and whether the dataset has its answer."""
        asked, answered = (self._lists(row, items) for items in (self._prompt_items, self._answered))
        if self._is_faithful:
            both = {**asked, **answered}
            n = min(map(len, both.values()), default=0)
            return [({name: value[at] for name, value in both.items()}, True) for at in range(n)]
        lengths = {name: len(value) for name, value in asked.items()}
        if not lengths:
            raise TemplateFailure("no column of the round is a list with one element per turn")
        n = max(lengths.values())
        short = {**lengths, **{name: len(value) for name, value in answered.items() if value}}
        if min(short.values()) != n:
            raise TemplateFailure(f"the columns of the round are lists of different lengths: {short}")
        every = {**asked, **{name: value or [""] * n for name, value in answered.items()}}
        is_answered = bool(answered) and any(answered.values())
        return [
            ({**row, **{name: value[at] for name, value in every.items()}}, is_answered) for at in range(n)
        ]

    def _lists(self, row: Row, items: Sequence[TemplateItem]) -> dict[str, Sequence[Any]]:
        columns = dict.fromkeys(column for item in items for column in item.text.columns)
        if self._is_faithful:
            columns = {column: None for column in columns if column in _ORIGINAL_COLUMNS}
        return {column: row[column] for column in columns if isinstance(row.get(column), list | tuple)}
