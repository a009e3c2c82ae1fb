"""Rows of questions with options, multiplied: one for each order of the options. Knows rows as mappings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, Literal

CircularPattern = Literal["circular", "all_possible"]
MoveAnswer = Callable[[dict[str, Any], tuple[str, ...]], Mapping[str, Any]]
"""An author's function that moves the answer of a turned row: it is given the row and where options went."""

QUESTION_COLUMN = "qid"
"""The column that says which rows are one question."""
ORDER_COLUMN = "circular_pattern"
"""The column that says where options went: the key of each one's new place, in the order of the keys."""


def build_circular_rows(
    rows: Iterable[Mapping[str, Any]],
    option_keys: Sequence[str],
    answer_key: str | None,
    pattern: CircularPattern = "circular",
    *,
    move_answer: MoveAnswer | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield each row once for every order of its options: K rotations, or all K! orders.

    In each the texts of the options move to other keys, and the answer moves with its text. The first order
    of a row is the original one. ValueError, with the number of the row, when the answer is no key of an
    option: it could not move with its text. `move_answer` is for answers that are no such keys.
    """
    keys = tuple(option_keys)
    if len(keys) < 2 or len(set(keys)) < len(keys):
        raise ValueError(f"the options are {list(keys)!r}; expected at least two, each once")
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
