"""Plots with a constant text size at any width: SVG whose lines stretch and whose texts do not.

A plot is one SVG of the available width. Lines are in an inner SVG that stretches with it; texts and
dots are placed by percent. This module is independent of what is drawn.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from assay.bench.page_axes import Axis
from assay.core.markup import Markup, join_markup, tag

_WIDTH, _HEIGHT = 4000, 1000
"""Steps of the inner picture's grid: finer than any screen, in few characters."""
_LABEL_SHARE = 0.24
"""How much of the width a mark's label may need: some 70 of a telephone's 300 pixels."""


class Tooltip(NamedTuple):
    """A point of a plot with a tooltip."""

    x: float
    """From 0 to 1, from the left."""
    y: float | None
    """From 0 to 1, from the bottom; None: any height."""
    text: str


class Panel:
    """Builds one plot; what is added last is on top."""

    def __init__(self, x: Axis, y: Axis, height: int, says: str) -> None:
        """Create an empty plot; `says` is its description for screen readers."""
        self._x, self._y, self._height, self._says = x, y, height, says
        self._under: list[Markup] = []
        self._drawn: list[Markup] = []
        self._over: list[Markup] = []
        self._marks: list[tuple[float, str]] = []
        self._stops: list[Tooltip] = []

    def line(self, xs: Sequence[float], ys: Sequence[float], class_: str) -> None:
        """Draw a line from point to point."""
        self._path("M" + "L".join(self._point(x, y) for x, y in zip(xs, ys, strict=True)), f"line {class_}")

    def steps(
        self, edges: Sequence[float], ys: Sequence[float], class_: str, *, is_filled: bool = True
    ) -> None:
        """Draw a level from each edge to the next, with the area below it; one more edge than levels."""
        if not ys:
            return
        outline = f"M{self._across(edges[0])} {self._up(ys[0])}"
        for place, y in enumerate(ys):
            outline += f"V{self._up(y)}" * (place > 0) + f"H{self._across(edges[place + 1])}"
        if is_filled:
            self._path(f"{outline}V{_HEIGHT}H{self._across(edges[0])}Z", f"area {class_}")
        self._path(outline, f"line {class_}")

    def bars(self, edges: Sequence[float], ys: Sequence[float], class_: str) -> None:
        """Draw a bar between each two edges."""
        outline = ""
        for left, right, y in zip(edges, edges[1:], ys, strict=False):
            if y > 0:
                # A bar with a value is visible, however low.
                top = min(self._up(y), _HEIGHT - 8)
                outline += f"M{self._across(left)} {_HEIGHT}V{top}H{self._across(right)}V{_HEIGHT}"
        self._path(outline, f"bar {class_}")

    def spans(self, spans: Iterable[tuple[float, float, float]], class_: str, thickness: float) -> None:
        """Draw a stroke from x to x at each y: (x, x, y)."""
        outline = "".join(f"M{self._across(x0)} {self._up(y)}H{self._across(x1)}" for x0, x1, y in spans)
        self._path(outline, f"span {class_}", stroke_width=thickness)

    def band(self, start: float, end: float, label: str) -> None:
        """Shade an interval of the x axis, behind everything else."""
        left, right = self._x.at(start), self._x.at(end)
        self._under.append(
            tag("rect", x=_share(left), y=0, width=_share(right - left), height="100%", class_="band")
        )
        self._over.append(self._text(left, 1.0, label, "bandname", dx=6, dy=14))

    def level(self, y: float, label: str, class_: str) -> None:
        """Draw a line across at one height, with its name above its left end."""
        height = _share(1 - self._y.at(y))
        self._over.append(tag("line", x1=0, x2="100%", y1=height, y2=height, class_=f"level {class_}"))
        self._over.append(self._text(0.0, self._y.at(y), label, "name", dx=6, dy=-6))

    def mark(self, x: float, label: str) -> None:
        """Draw a line upwards at one place, with its name above the plot."""
        self._marks.append((self._x.at(x), label))

    def dots(self, points: Iterable[tuple[float, float]], class_: str) -> None:
        """Draw a dot at each point."""
        self._over += [
            tag("circle", cx=_share(self._x.at(x)), cy=_share(1 - self._y.at(y)), r=4, class_=f"dot {class_}")
            for x, y in points
        ]

    def label(self, x: float, y: float, text: str, class_: str = "name", dy: float = -9) -> None:
        """Write a label next to a point."""
        self._over.append(self._text(self._x.at(x), self._y.at(y), text, class_, dy=dy))

    def distance(self, one: tuple[float, float], other: tuple[float, float]) -> float:
        """Return the distance of two points, as a fraction of the plot."""
        return math.hypot(
            self._x.at(one[0]) - self._x.at(other[0]), self._y.at(one[1]) - self._y.at(other[1])
        )

    def stop(self, x: float, y: float | None, text: str) -> None:
        """Add a tooltip at a point."""
        self._stops.append(Tooltip(self._x.at(x), None if y is None else self._y.at(y), text))

    def render(self, *, has_x_labels: bool = True, x_label: str = "", y_label: str = "") -> Markup:
        """Return the finished plot."""
        stretched = tag(
            "svg",
            *self._drawn,
            viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
            preserveAspectRatio="none",
            width="100%",
            height="100%",
            class_="stretch",
        )
        rows, strip = self._strip()
        lines = [
            tag("line", x1=_share(place), x2=_share(place), y1=0, y2="100%", class_="mark")
            for place, _ in self._marks
        ]
        plot = tag(
            "svg",
            *self._under,
            *self._grid(has_x_labels),
            stretched,
            *lines,
            *self._over,
            height=self._height,
            class_="plot",
            role="img",
            aria_label=self._says,
            tabindex=0 if self._stops else None,
            data_stops=self._stops_json() if self._stops else None,
        )
        above = tag("div", y_label, class_="yname") if y_label else Markup("")
        below = tag("div", x_label, class_="xname") if x_label else Markup("")
        shape = "panel labelled" if has_x_labels else "panel"
        return tag("div", above, strip if rows else "", plot, below, class_=shape)

    def _grid(self, has_x_labels: bool) -> list[Markup]:
        parts = []
        for value, label in self._y.ticks:
            height = _share(1 - self._y.at(value))
            parts.append(tag("line", x1=0, x2="100%", y1=height, y2=height, class_="grid"))
            parts.append(tag("text", label, x=-8, y=height, dy="0.32em", class_="ytick"))
        for place, (value, label) in enumerate(self._x.ticks):
            across = self._x.at(value)
            parts.append(tag("line", x1=_share(across), x2=_share(across), y1=0, y2="100%", class_="grid"))
            if has_x_labels:
                ends = " last" if across > 0.96 else ""
                odd = " odd" if place % 2 and len(self._x.ticks) > 4 else ""
                parts.append(
                    tag("text", label, x=_share(across), y="100%", dy=17, class_=f"xtick{ends}{odd}")
                )
        return [*parts, tag("line", x1=0, x2="100%", y1="100%", y2="100%", class_="axis")]

    def _strip(self) -> tuple[int, Markup]:
        """Return the names of the marks, in as few rows as they fit in, and the number of rows."""
        ends: list[float] = []
        placed = []
        for place, label in sorted(self._marks):
            left = min(place, 1 - _LABEL_SHARE)
            row = next((row for row, end in enumerate(ends) if end <= left), len(ends))
            ends[row:] = [left + _LABEL_SHARE, *ends[row + 1 :]]
            placed.append((place, row, label))
        lines, names = [], []
        for place, row, label in placed:
            y = 12 + 15 * row
            side = {"dx": -4, "class_": "last"} if place > 1 - _LABEL_SHARE else {"dx": 4}
            lines.append(tag("line", x1=_share(place), x2=_share(place), y1=y - 10, y2="100%", class_="mark"))
            names.append(tag("text", label, x=_share(place), y=y, **side))
        return len(ends), tag(
            "svg", *lines, *names, height=4 + 15 * len(ends), class_="strip", aria_hidden="true"
        )

    def _stops_json(self) -> str:
        rows = [
            [round(stop.x * 1000), -1 if stop.y is None else round((1 - stop.y) * 1000), stop.text]
            for stop in self._stops
        ]
        return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))

    def _path(self, outline: str, class_: str, stroke_width: float | None = None) -> None:
        if outline not in ("", "M"):
            self._drawn.append(tag("path", d=outline, class_=class_, stroke_width=stroke_width))

    def _text(self, x: float, y: float, text: str, class_: str, dx: float = 0, dy: float = 0) -> Markup:
        side = " last" if x > 0.85 else " first" if x < 0.08 or dx else ""
        return tag(
            "text", text, x=_share(x), y=_share(1 - y), dx=dx or None, dy=dy or None, class_=class_ + side
        )

    def _across(self, x: float) -> int:
        return round(self._x.at(x) * _WIDTH)

    def _up(self, y: float) -> int:
        return round((1 - self._y.at(y)) * _HEIGHT)

    def _point(self, x: float, y: float) -> str:
        return f"{self._across(x)} {self._up(y)}"


def render_figure(title: str, about: str, *parts: str, class_: str = "") -> Markup:
    """Return plots under one title."""
    caption = tag("figcaption", tag("h4", title), tag("p", about) if about else Markup(""))
    return tag("figure", caption, *parts, class_=class_ or None)


def render_legend(*entries: tuple[str, str]) -> Markup:
    """Return the legend of colours: (class, words)."""
    return tag(
        "p",
        join_markup([tag("span", tag("i", class_=class_), words) for class_, words in entries]),
        class_="legend",
    )


def _share(part: float) -> str:
    return f"{round(part * 100, 2):g}%"
