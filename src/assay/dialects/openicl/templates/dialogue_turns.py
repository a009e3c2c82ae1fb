"""Conversion of dialogue lines to turns of a model's meta template, round by round and role by role.

In each round every role of the meta template has a turn, in order; a dialogue line replaces the role's
default text. A prompt for generation ends where the model's own turn begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Literal, NamedTuple

from assay.core.errors import listing, suggest_name
from assay.dialects.openicl.templates.meta import MetaRole, MetaTemplate
from assay.dialects.shared.template import TemplateFailure

Section = Literal["begin", "examples", "round", "end"]

NO_PROMPT_ITEM = -1
"""The item number of lines that belong to an example."""


class DialogueLine(NamedTuple):
    """One line of a dialogue."""

    role: str | None
    """The role; None for a text outside the turns."""
    text: str
    fallback: str | None
    """The role to use if the model does not know `role`."""
    section: Section
    example: int = 0
    """The number of its example, if any; a round never spans two examples."""
    item: int = NO_PROMPT_ITEM
    """The number of its item in the prompt's template."""


EXAMPLE_CACHE_SIZE = 1024
"""Cache size for the turns of examples, which many rows share."""


class MetaTurn(NamedTuple):
    """One turn, or a text outside the turns."""

    role: MetaRole | None
    """None for a text outside the turns."""
    text: str
    is_said: bool = True
    """False if the dialogue has no line for the role in this round; the text is then the role's default."""
    is_open: bool = False
    """Whether the model continues from here."""
    item: int = NO_PROMPT_ITEM


def find_role(name: str | None, fallback: str | None, roles: Mapping[str, MetaRole]) -> MetaRole | None:
    """Return the model's role for a dialogue role; None if the model has neither it nor its fallback."""
    for one in (name, fallback):
        if one is not None and one in roles:
            return roles[one]
    # Most models have no system role; system texts then become user turns, as authors intend.
    return roles.get("HUMAN") if (name or "").upper() == "SYSTEM" else None


class DialogueWalker:
    """Converts dialogues to turns of one meta template."""

    def __init__(self, meta: MetaTemplate, *, is_chat: bool, is_faithful: bool) -> None:
        """Store a meta template, and whether turns become chat messages."""
        self._meta = meta
        self._roles = meta.roles
        self._order = meta.order
        self._is_faithful = is_faithful
        self._is_original_chat = is_chat and is_faithful
        self._example = lru_cache(EXAMPLE_CACHE_SIZE)(self._build_example_turns)

    def turns(self, lines: Sequence[DialogueLine], *, is_generation: bool) -> Iterator[MetaTurn]:
        """Yield the turns; for generation, the last one is open."""
        groups = [(key, list(group)) for key, group in groupby(lines, key=_build_group_key)]
        last = max((at for at, ((section, _), _) in enumerate(groups) if section == "round"), default=-1)
        for at, ((section, _), group) in enumerate(groups):
            if section in ("begin", "end"):
                yield from (self._render_alone(line) for line in group)
                continue
            if section == "examples":
                yield from self._example(tuple(group))
                continue
            for turn in self._rounds(group, is_generation=is_generation and at == last):
                yield turn
                if turn.is_open:
                    return

    def _build_example_turns(self, lines: tuple[DialogueLine, ...]) -> tuple[MetaTurn, ...]:
        return tuple(self._rounds(lines, is_generation=False))

    def _rounds(self, lines: Sequence[DialogueLine], *, is_generation: bool) -> Iterator[MetaTurn]:
        if self._is_faithful:
            yield from (self._render_alone(line) for line in lines if line.role is None)
            lines = [line for line in lines if line.role is not None]
        rounds = self._split(lines)
        for at, group in enumerate(rounds):
            yield from self._build_round(group, is_generation=is_generation and at == len(rounds) - 1)

    def _build_round(self, group: Sequence[_RoundLine], *, is_generation: bool) -> Iterator[MetaTurn]:
        """Yield the turn of every role; texts and turns outside the round keep their position."""
        places = {one.role.role: at for at, one in enumerate(group) if one.role is not None}
        n_done = 0
        for role in self._meta.round:
            if isinstance(role, str):
                yield MetaTurn(None, role)
                continue
            is_open = is_generation and role.generate
            place = places.get(role.role)
            until = len(group) if place is None and is_open else (place or 0)
            yield from (self._render_alone(one.line) for one in group[n_done:until] if one.role is None)
            n_done = max(n_done, until)
            if is_open:
                yield MetaTurn(role, "", is_open=True)
                return
            if place is None:
                yield MetaTurn(role, role.prompt, is_said=bool(role.prompt))
            else:
                yield MetaTurn(role, group[place].line.text, item=group[place].line.item)
        yield from (self._render_alone(one.line) for one in group[n_done:] if one.role is None)

    def _split(self, lines: Sequence[DialogueLine]) -> list[list[_RoundLine]]:
        """Split lines into rounds: a new one begins where a role does not follow the previous in order."""
        rounds: list[list[_RoundLine]] = [[]]
        waiting: list[_RoundLine] = []
        previous = -1
        for at, line in enumerate(lines):
            if line.role is None or self._is_outside_rounds(lines, at):
                waiting.append(_RoundLine(line, None))
                continue
            place = self._place(line)
            if place <= previous:
                rounds.append([])
            rounds[-1] += [*waiting, _RoundLine(line, self._find_role(line))]
            waiting = []
            previous = place
        rounds[-1] += waiting
        return rounds

    def _place(self, line: DialogueLine) -> int:
        """Return the position of a line in a round."""
        place = self._order.get(line.role or "", self._order.get(line.fallback or ""))
        return self._order[self._find_role(line).role] if place is None else place

    def _is_outside_rounds(self, lines: Sequence[DialogueLine], at: int) -> bool:
        """Whether a line is a turn outside the rounds: no round has its role, or the next line has it too.

        In chats, the original turns it into a round with an empty answer, or drops it.
        """
        line = lines[at]
        if line.role in self._order:
            return False
        if self._is_original_chat and line.fallback in self._order:
            return False
        role = self._find_role(line)
        following = next((one for one in lines[at + 1 :] if one.role is not None), None)
        return role.role not in self._order or (following is not None and self._find_role(following) == role)

    def _render_alone(self, line: DialogueLine) -> MetaTurn:
        return MetaTurn(None if line.role is None else self._find_role(line), line.text, item=line.item)

    def _find_role(self, line: DialogueLine) -> MetaRole:
        role = find_role(line.role, line.fallback, self._roles)
        if role is None:
            name = line.role or ""
            raise TemplateFailure(
                f"the model's meta template has no role {name!r}{suggest_name(name, self._roles)}; its roles "
                f"are {listing(self._roles)}: use one of these, or name one as fallback_role"
            )
        return role


class _RoundLine(NamedTuple):
    """A line of a round and its role; None if it is outside the round."""

    line: DialogueLine
    role: MetaRole | None


def _build_group_key(line: DialogueLine) -> tuple[Section, int]:
    return line.section, line.example
