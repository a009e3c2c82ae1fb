"""Draws how speed grows with shots and questions, as an SVG that needs nothing to be shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, GAP = 360, 220, 56, 44, 34, 40
INK, LINE, MUTED = "#1f2937", "#2563eb", "#6b7280"


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
        _panel(0, f"{by_shots[0].questions} questions, by shots", [(g.shots, g) for g in by_shots]),
        _panel(1, f"{by_questions[0].shots} shots, by questions", [(g.questions, g) for g in by_questions]),
    ]
    width, height = 2 * WIDTH + GAP, TOP + HEIGHT + BOTTOM
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12" role="img" aria-label="Requests per second by shots and by questions">'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>{"".join(panels)}</svg>\n',
        encoding="utf-8",
    )


def _with_most(found: Sequence[Grown], key: Callable[[Grown], int]) -> list[Grown]:
    """Return the points that share the commonest value of a key: one of the two curves."""
    values = [key(one) for one in found]
    common = max(set(values), key=values.count)
    return sorted(one for one in found if key(one) == common)


def _panel(number: int, title: str, points: Sequence[tuple[int, Grown]]) -> str:
    left = number * (WIDTH + GAP) + LEFT
    inner = WIDTH - LEFT - 12
    highest = 5 * math.ceil(max(g.rate for _, g in points) * 1.1 / 5)
    base = TOP + HEIGHT

    def x(index: int) -> float:
        return left + inner * index / (len(points) - 1)

    def y(rate: float) -> float:
        return base - HEIGHT * rate / highest

    parts = [f'<text x="{left}" y="{TOP - 14}" fill="{INK}" font-weight="bold">{title}</text>']
    for step in range(5):
        rate = highest * step / 4
        parts.append(
            f'<line x1="{left}" y1="{y(rate):.1f}" x2="{left + inner}" y2="{y(rate):.1f}" stroke="#e5e7eb"/>'
            f'<text x="{left - 8}" y="{y(rate) + 4:.1f}" text-anchor="end" fill="{MUTED}">{rate:g}</text>'
        )
    line = " ".join(f"{x(i):.1f},{y(g.rate):.1f}" for i, (_, g) in enumerate(points))
    parts.append(f'<polyline points="{line}" fill="none" stroke="{LINE}" stroke-width="2"/>')
    for index, (value, g) in enumerate(points):
        parts.append(
            f'<circle cx="{x(index):.1f}" cy="{y(g.rate):.1f}" r="3.5" fill="{LINE}"/>'
            f'<text x="{x(index):.1f}" y="{base + 18}" text-anchor="middle" fill="{INK}">{value:,}</text>'
            f'<text x="{x(index):.1f}" y="{base + 34}" text-anchor="middle" fill="{MUTED}">'
            f"{g.sharing:.1f} to 1</text>"
        )
    if number == 0:
        middle = TOP + HEIGHT / 2
        parts.append(
            f'<text transform="rotate(-90 14 {middle})" x="14" y="{middle}" text-anchor="middle" '
            f'fill="{MUTED}">requests per second</text>'
        )
    return "".join(parts)
