"""Circular evaluation: repeats each row once for every order of its options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, Literal

CircularPattern = Literal["circular", "all_possible"]
MoveAnswer = Callable[[dict[str, Any], tuple[str, ...]], Mapping[str, Any]]
"""An author's function that moves the answer of a permuted row, given the row and the new order."""

QUESTION_COLUMN = "qid"
"""The column that identifies the rows of one question."""
ORDER_COLUMN = "circular_pattern"
"""The column with the new order: the key of each option's new position, in the order of the keys."""


def build_circular_rows(
    rows: Iterable[Mapping[str, Any]],
    option_keys: Sequence[str],
    answer_key: str | None,
    pattern: CircularPattern = "circular",
    *,
    move_answer: MoveAnswer | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield each row once for every order of its options: K rotations, or all K! orders.

    In each order the option texts move to other keys, and the answer moves with its text. The first order is
    the original one. Raise ValueError with the row number if the answer is not an option key and therefore
    cannot move with its text. `move_answer` handles answers that are not option keys.
    """
    keys = tuple(option_keys)
    if len(keys) < 2 or len(set(keys)) < len(keys):
        raise ValueError(f"the options are {list(keys)!r}; expected at least two different ones")
    orders = _orders(keys, pattern)
    for number, row in enumerate(rows):
        needed = keys if answer_key is None else (*keys, answer_key)
        lacking = [key for key in needed if key not in row]
        if lacking:
            raise ValueError(f"row {number + 1} has no {lacking[0]!r}")
        if answer_key is not None and row[answer_key] not in keys:
            raise ValueError(
                f"row {number + 1}: {answer_key!r} is {row[answer_key]!r}; expected one of {list(keys)!r}"
            )
        for order in orders:
            turned = {**row, **{place: row[key] for key, place in zip(keys, order, strict=True)}}
            if answer_key is not None:
                turned[answer_key] = order[keys.index(row[answer_key])]
            elif move_answer is not None:
                turned = {**move_answer(turned, order)}
            yield {**turned, QUESTION_COLUMN: number, ORDER_COLUMN: order}


def _orders(keys: tuple[str, ...], pattern: CircularPattern) -> list[tuple[str, ...]]:
    if pattern == "circular":
        return [keys[at:] + keys[:at] for at in range(len(keys))]
    if pattern == "all_possible":
        return list(permutations(keys))
    raise ValueError(f"there is no pattern {pattern!r}; expected 'circular' or 'all_possible'")
