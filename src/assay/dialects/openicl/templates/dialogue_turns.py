"""From the lines of a dialogue to turns as a model's meta template has them: round by round, role by role.

In each round every role of the meta template speaks, in its order; what the dialogue says for a role stands
in the place of the role's default. A prompt to go on from ends where the model itself begins to speak.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from assay.core.errors import listing, nearest
from assay.dialects.openicl.templates.dialogue_line import NOT_OF_THE_PROMPT, Line, Section
from assay.dialects.openicl.templates.meta import MetaRole, MetaTemplate
from assay.dialects.shared.template import TemplateFailure

KEPT_EXAMPLES = 1024
"""Rows show the same examples again and again: their turns are made once."""


class Turn(NamedTuple):
    """One turn, or a text outside the turns."""

    role: MetaRole | None
    """None: a text outside the turns."""
    text: str
    is_said: bool = True
    """False: the dialogue says nothing for the role in this round, and the text is the role's default."""
    is_open: bool = False
    """Whether the model goes on from here."""
    item: int = NOT_OF_THE_PROMPT


def role_of(name: str | None, fallback: str | None, roles: Mapping[str, MetaRole]) -> MetaRole | None:
    """Return the model's role for one of a dialogue; None where it knows neither that nor its fallback."""
    for one in (name, fallback):
        if one is not None and one in roles:
            return roles[one]
    # Most models have no system role; what the system says is then the user's, as authors write it.
    return roles.get("HUMAN") if (name or "").upper() == "SYSTEM" else None


class Walk:
    """Walks dialogues for one meta template."""

    def __init__(self, meta: MetaTemplate, *, is_chat: bool, is_faithful: bool) -> None:
        """Take a meta template, and whether turns become messages of a chat."""
        self._meta = meta
        self._roles = meta.roles
        self._order = meta.order
        self._is_faithful = is_faithful
        self._is_original_chat = is_chat and is_faithful
        self._example = lru_cache(KEPT_EXAMPLES)(self._turns_of_example)

    def turns(self, lines: Sequence[Line], *, is_generation: bool) -> Iterator[Turn]:
        """Yield the turns; the last one is open when the model is to go on."""
        groups = [(key, list(group)) for key, group in groupby(lines, key=_place_in_prompt)]
        last = max((at for at, ((section, _), _) in enumerate(groups) if section == "round"), default=-1)
        for at, ((section, _), group) in enumerate(groups):
            if section in ("begin", "end"):
                yield from (self._alone(line) for line in group)
                continue
            if section == "examples":
                yield from self._example(tuple(group))
                continue
            for turn in self._rounds(group, is_generation=is_generation and at == last):
                yield turn
                if turn.is_open:
                    return

    def _turns_of_example(self, lines: tuple[Line, ...]) -> tuple[Turn, ...]:
        return tuple(self._rounds(lines, is_generation=False))

    def _rounds(self, lines: Sequence[Line], *, is_generation: bool) -> Iterator[Turn]:
        if self._is_faithful:
            yield from (self._alone(line) for line in lines if line.role is None)
            lines = [line for line in lines if line.role is not None]
        rounds = self._split(lines)
        for at, group in enumerate(rounds):
            yield from self._round(group, is_generation=is_generation and at == len(rounds) - 1)

    def _round(self, group: Sequence[_Placed], *, is_generation: bool) -> Iterator[Turn]:
        """Yield what every role says; texts and turns outside the round stay where the dialogue has them."""
        said = {one.role.role: at for at, one in enumerate(group) if one.role is not None}
        told = 0
        for role in self._meta.round:
            if isinstance(role, str):
                yield Turn(None, role)
                continue
            is_open = is_generation and role.generate
            place = said.get(role.role)
            until = len(group) if place is None and is_open else (place or 0)
            yield from (self._alone(one.line) for one in group[told:until] if one.role is None)
            told = max(told, until)
            if is_open:
                yield Turn(role, "", is_open=True)
                return
            if place is None:
                yield Turn(role, role.prompt, is_said=bool(role.prompt))
            else:
                yield Turn(role, group[place].line.text, item=group[place].line.item)
        yield from (self._alone(one.line) for one in group[told:] if one.role is None)

    def _split(self, lines: Sequence[Line]) -> list[list[_Placed]]:
        """Cut lines into rounds: a new one begins where a role does not come after the one before it."""
        rounds: list[list[_Placed]] = [[]]
        waiting: list[_Placed] = []
        previous = -1
        for at, line in enumerate(lines):
            if line.role is None or self._is_alone(lines, at):
                waiting.append(_Placed(line, None))
                continue
            place = self._place(line)
            if place <= previous:
                rounds.append([])
            rounds[-1] += [*waiting, _Placed(line, self._known(line))]
            waiting = []
            previous = place
        rounds[-1] += waiting
        return rounds

    def _place(self, line: Line) -> int:
        """Return where in a round a line is said."""
        place = self._order.get(line.role or "", self._order.get(line.fallback or ""))
        return self._order[self._known(line).role] if place is None else place

    def _is_alone(self, lines: Sequence[Line], at: int) -> bool:
        """Whether a line is a turn outside the rounds: no round has its role, or its role has a line next.

        Chats of the original make a round of it, with an empty answer, or lose it.
        """
        line = lines[at]
        if line.role in self._order:
            return False
        if self._is_original_chat and line.fallback in self._order:
            return False
        role = self._known(line)
        following = next((one for one in lines[at + 1 :] if one.role is not None), None)
        return role.role not in self._order or (following is not None and self._known(following) == role)

    def _alone(self, line: Line) -> Turn:
        return Turn(None if line.role is None else self._known(line), line.text, item=line.item)

    def _known(self, line: Line) -> MetaRole:
        role = role_of(line.role, line.fallback, self._roles)
        if role is None:
            name = line.role or ""
            raise TemplateFailure(
                f"the model's meta template has no role {name!r}{nearest(name, self._roles)}; its roles are "
                f"{listing(self._roles)}: write one of them, or name one as fallback_role"
            )
        return role


class _Placed(NamedTuple):
    """A line of a round, and the role that says it there; None: it is said outside the round."""

    line: Line
    role: MetaRole | None


def _place_in_prompt(line: Line) -> tuple[Section, int]:
    return line.section, line.example
