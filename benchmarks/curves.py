"""Draws measured curves beside each other, as an SVG that needs nothing to be shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, GAP = 360, 220, 56, 44, 34, 40
INK, MUTED, GRID = "#1f2937", "#6b7280", "#e5e7eb"
LINES = ("#2563eb", "#b45309", "#15803d", "#7e22ce")


class Panel(NamedTuple):
    """Some curves over the same places."""

    title: str
    places: Sequence[str]
    """What stands below each point, from left to right."""
    curves: Mapping[str, Sequence[float | None]]
    """By name, a value for each place; None: not measured. One curve alone needs no name."""
    highest: float
    """The value at the top; 0 is at the bottom."""
    below: Sequence[str] = ()
    """A second line below each point."""
    unit: str = ""
    """Written beside the first panel."""


def draw(panels: Sequence[Panel], path: Path, label: str) -> None:
    """Draw panels from left to right; `label` is read out to who does not see them."""
    # Half a label stands out on the right.
    width, height = len(panels) * (WIDTH + GAP), TOP + HEIGHT + BOTTOM
    drawn = "".join(_build_view(number, panel) for number, panel in enumerate(panels))
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12" role="img" aria-label="{label}">'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>{drawn}</svg>\n',
        encoding="utf-8",
    )


def _build_view(number: int, panel: Panel) -> str:
    left = number * (WIDTH + GAP) + LEFT
    inner = WIDTH - LEFT - 12
    base = TOP + HEIGHT

    def x(index: int) -> float:
        return left + inner * index / (len(panel.places) - 1)

    def y(value: float) -> float:
        return base - HEIGHT * value / panel.highest

    parts = [f'<text x="{left}" y="{TOP - 14}" fill="{INK}" font-weight="bold">{panel.title}</text>']
    for step in range(5):
        value = panel.highest * step / 4
        parts.append(
            f'<line x1="{left}" y1="{y(value):.1f}" x2="{left + inner}" y2="{y(value):.1f}" stroke="{GRID}"/>'
            f'<text x="{left - 8}" y="{y(value) + 4:.1f}" text-anchor="end" fill="{MUTED}">{value:,g}</text>'
        )
    for nth, (name, values) in enumerate(panel.curves.items()):
        colour = LINES[nth]
        points = [(x(index), y(value)) for index, value in enumerate(values) if value is not None]
        line = " ".join(f"{across:.1f},{down:.1f}" for across, down in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3.5" fill="{colour}"/>' for across, down in points
        ]
        parts.append(f'<text x="{left + 8}" y="{TOP + 14 + 16 * nth}" fill="{colour}">{name}</text>')
    for index, place in enumerate(panel.places):
        parts.append(
            f'<text x="{x(index):.1f}" y="{base + 18}" text-anchor="middle" fill="{INK}">{place}</text>'
        )
    for index, more in enumerate(panel.below):
        parts.append(
            f'<text x="{x(index):.1f}" y="{base + 34}" text-anchor="middle" fill="{MUTED}">{more}</text>'
        )
    if panel.unit:
        middle = TOP + HEIGHT / 2
        parts.append(
            f'<text transform="rotate(-90 14 {middle})" x="14" y="{middle}" text-anchor="middle" '
            f'fill="{MUTED}">{panel.unit}</text>'
        )
    return "".join(parts)
