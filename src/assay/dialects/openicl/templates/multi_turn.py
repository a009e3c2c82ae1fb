"""Templates of several turns: one round, said once for each element of the columns that hold lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from assay.dialects.openicl.templates.dialogue_line import DialogueLine
from assay.dialects.openicl.templates.layouts import TemplateItem
from assay.dialects.openicl.templates.text import Row
from assay.dialects.shared.template import TemplateFailure

_ORIGINAL_COLUMNS = ("question", "answer")
"""The original fills these two columns and no others, whatever the reader names."""


class Exchange(NamedTuple):
    """What is asked in one turn."""

    user: str
    reference: str | None
    """The answer that the dataset has; None where it has none."""


class MultiTurnLayout:
    """One round of a dialogue, for every turn of a row."""

    format: ClassVar[str] = "multi-turn"

    def __init__(self, items: Sequence[TemplateItem], *, is_faithful: bool) -> None:
        self.items = tuple(items)
        self._is_faithful = is_faithful
        round_ = [item for item in items if item.section == "round"]
        self._asked = [item for item in round_ if item.role != "BOT"]
        self._answered = [item for item in round_ if item.role == "BOT"]

    def exchanges(self, row: Row) -> list[Exchange]:
        """Return what is asked turn by turn."""
        found: list[Exchange] = []
        for values, is_answered in self._turns(row):
            user = "\n".join(item.text.fill(values) for item in self._asked)
            reference = "\n".join(item.text.fill(values) for item in self._answered) if is_answered else None
            found.append(Exchange(user, reference))
        return found

    def lines(self, row: Row, turn: int) -> list[DialogueLine]:
        """Return the lines up to a turn; those before it are answered as the dataset does."""
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
                    said = [*self._asked, *(self._answered if number < turn else ())]
                    lines += [
                        DialogueLine(one.role, one.text.fill(values), one.fallback, "round") for one in said
                    ]
        return lines

    def _turns(self, row: Row) -> list[tuple[Row, bool]]:
        """Return the values of every turn, and whether the dataset has an answer to it."""
        asked, answered = (self._lists(row, items) for items in (self._asked, self._answered))
        if self._is_faithful:
            both = {**asked, **answered}
            n = min(map(len, both.values()), default=0)
            return [({name: value[at] for name, value in both.items()}, True) for at in range(n)]
        lengths = {name: len(value) for name, value in asked.items()}
        if not lengths:
            raise TemplateFailure("no column of the round holds a list, which has an element for each turn")
        n = max(lengths.values())
        short = {**lengths, **{name: len(value) for name, value in answered.items() if value}}
        if min(short.values()) != n:
            raise TemplateFailure(f"the columns of the round hold lists of different lengths: {short}")
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
