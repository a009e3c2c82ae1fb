"""The budget of one rendering of a template: steps, characters and time.

A literal, a call or an operator of the template pays from the budget; at zero the rendering ends.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from jinja2.runtime import str_join
from jinja2.utils import Namespace

MAX_STEPS = 250_000
"""Loop iterations, calls, filters and operators of one rendering."""
MAX_CHARACTERS = 100_000_000
"""Characters created by one rendering, including intermediate values."""
MAX_SECONDS = 20.0
"""Processor time. A last resort: the other limits end a rendering much earlier."""
ITEM = 16
"""The cost of a list item in characters: about its share of memory."""
CALL = 5
"""The cost of a call or a filter in loop iterations: about the time it takes."""
_CLOCK_EVERY = 64
_UNWATCHED_SECONDS = 0.1
"""Elapsed time before processor time is measured."""

TEXTS = (str, bytes, bytearray)
_COLLECTIONS = (list, tuple, dict, set, frozenset)
_OTHERS = (int, *TEXTS, *_COLLECTIONS, Mapping, Namespace)
_CONTAINERS = (*_COLLECTIONS, Mapping, Namespace)
MULTIPLIED = (str, bytes, list, tuple)
_WEIGHTLESS = frozenset((bool, float, type(None)))
_PLAIN = frozenset((int, *_WEIGHTLESS))
ALL_TEXTS = frozenset((str,))


class JinjaLimit(Exception):
    """A template exceeded a limit of one rendering."""


class Budget:
    """The remaining budget of one rendering."""

    # Class attributes, because one is created for every prompt and must be cheap.
    steps = MAX_STEPS
    characters = MAX_CHARACTERS
    depth = 0
    clock_at = MAX_STEPS - _CLOCK_EVERY
    """The clock is checked when this many steps are left."""
    watch_from = 0.0
    deadline = 0.0

    def step(self, n: int = 1) -> None:
        """Use steps; raise if none are left."""
        self.steps -= n
        if self.steps < self.clock_at:
            self.look_at_clock()

    def look_at_clock(self) -> None:
        """Raise if no steps or no time are left."""
        if self.steps < 0:
            raise JinjaLimit(f"it takes more than {MAX_STEPS:,} steps (loop iterations, calls and operators)")
        self.clock_at = self.steps - _CLOCK_EVERY
        # Reading processor time takes microseconds. It is never more than the elapsed time.
        now = time.monotonic()
        if not self.watch_from:
            self.watch_from = now + _UNWATCHED_SECONDS
        elif now > self.watch_from:
            used = time.thread_time()
            self.deadline = self.deadline or used + MAX_SECONDS
            if used > self.deadline:
                raise JinjaLimit(f"it takes longer than {MAX_SECONDS:g} s of processor time")

    def spend(self, characters: int) -> None:
        """Use characters; raise if none are left."""
        self.characters -= characters
        if self.characters < 0:
            raise JinjaLimit(f"it creates more than {MAX_CHARACTERS:,} characters")

    # The compiled template calls the next four methods.

    def add(self, *parts: Any) -> Any:
        """Return the sum of values, added from left to right."""
        self.steps -= len(parts)
        if self.steps < self.clock_at:
            self.look_at_clock()
        if ALL_TEXTS.issuperset(map(type, parts)):
            self.spend(sum(map(len, parts)))
            return "".join(parts)
        total = parts[0]
        for part in parts[1:]:
            total = total + part
            if isinstance(total, MULTIPLIED):
                self.spend(len(total))
        return total

    def join(self, *parts: Any) -> str:
        """Return the texts of values, concatenated."""
        self.pay(parts)
        return "".join(parts) if ALL_TEXTS.issuperset(map(type, parts)) else str_join(parts)

    def weigh(self, value: Any) -> Any:
        """Pay for a list, tuple or dict literal of a template, and return it."""
        self.pay(value)
        return value

    def text(self, value: Any) -> str:
        """Return a value as output text. Texts are paid for when they are joined."""
        kind = type(value)
        if kind is str:
            return value  # type: ignore[no-any-return]
        if kind not in _PLAIN and isinstance(value, _CONTAINERS):
            self.pay(value)
        return str(value)

    def pay(self, value: Any) -> None:
        """Spend the cost of writing out a value. Each item examined is a step."""
        kind = type(value)
        if kind is str:
            self.spend(len(value))
            return
        # Each item is a step, so do not examine a list that is too long.
        if (
            (kind is tuple or kind is list)
            and len(value) < self.steps
            and ALL_TEXTS.issuperset(map(type, value))
        ):
            self.steps -= len(value) + 1
            if self.steps < self.clock_at:
                self.look_at_clock()
            self.spend(sum(map(len, value)) + ITEM * (len(value) + 1))
            return
        todo = [value]
        n_items = n_characters = 0
        while todo:
            item = todo.pop()
            kind = type(item)
            if kind is str:
                n_characters += len(item)
            elif kind is list or kind is tuple:
                todo += item
            elif kind is dict:
                todo += item.keys()
                todo += item.values()
            elif kind not in _WEIGHTLESS and isinstance(item, _OTHERS):
                self._open(item, todo)
            n_items += 1
            if n_items == _CLOCK_EVERY:
                self.spend(n_characters + ITEM * n_items)
                self.step(n_items)
                n_items = n_characters = 0
        self.spend(n_characters + ITEM * n_items)
        self.step(n_items)

    def _open(self, value: Any, todo: list[Any]) -> None:
        if isinstance(value, int):
            self.spend(value.bit_length() >> 2)
        elif isinstance(value, TEXTS):
            self.spend(len(value))
        elif isinstance(value, Mapping):
            todo += [*value.keys(), *value.values()]
        elif isinstance(value, Namespace):
            todo.append(object.__getattribute__(value, "_Namespace__attrs"))
        else:
            todo += value

    def pay_result(self, result: Any) -> None:
        """Spend the cost of a result whose items were already paid for."""
        kind = type(result)
        if kind is str:
            self.characters -= len(result)
            if self.characters < 0:
                self.spend(0)
        elif kind in _PLAIN:
            pass
        elif isinstance(result, TEXTS):
            self.spend(len(result))
        elif isinstance(result, _COLLECTIONS):
            self.spend(ITEM * len(result))


running_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)
current_budget = running_budget.get
"""Return the budget of the rendering in this thread, if there is one."""
