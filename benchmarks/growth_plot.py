"""Draws how speed grows with shots and questions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.curves import Panel, draw


class Grown(NamedTuple):
    """One measured point."""

    shots: int
    questions: int
    rate: float
    """Requests per second."""
    sharing: float
    """Tokens asked per token computed."""


def draw_growth(found: Sequence[Grown], path: Path) -> None:
    """Draw both curves beside each other."""
    by_shots = _with_most(found, lambda g: g.questions)
    by_questions = _with_most(found, lambda g: g.shots)
    panels = [
        _panel(f"{by_shots[0].questions} questions, by shots", [(g.shots, g) for g in by_shots]),
        _panel(f"{by_questions[0].shots} shots, by questions", [(g.questions, g) for g in by_questions]),
    ]
    draw(
        [panels[0]._replace(unit="requests per second"), panels[1]],
        path,
        "Requests per second by shots and by questions",
    )


def _with_most(found: Sequence[Grown], key: Callable[[Grown], int]) -> list[Grown]:
    """Return the points that share the commonest value of a key: one of the two curves."""
    values = [key(one) for one in found]
    common = max(set(values), key=values.count)
    return sorted(one for one in found if key(one) == common)


def _panel(title: str, points: Sequence[tuple[int, Grown]]) -> Panel:
    return Panel(
        title,
        [f"{place:,}" for place, _ in points],
        {"": [g.rate for _, g in points]},
        highest=5 * math.ceil(max(g.rate for _, g in points) * 1.1 / 5),
        below=[f"{g.sharing:.1f} to 1" for _, g in points],
    )
