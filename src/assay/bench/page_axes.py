"""Axes: positions of values, and ticks at round values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from assay.bench.page_numbers import choose_time_unit, format_round_time, format_short
from assay.bench.page_shapes import WIDE, choose_round_step

_MOST_LOG_TICKS = 7


@dataclass(frozen=True)
class Axis:
    """One axis, with its ticks: values and their labels."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    is_log: bool = False

    def at(self, value: float) -> float:
        """Return the position of a value, from 0 at the low end to 1 at the high end, clipped to the axis."""
        if self.is_log:
            value = max(value, self.low)
            place = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            place = (value - self.low) / (self.high - self.low)
        return min(max(place, 0.0), 1.0)


def even_ticks(low: float, high: float, n: int) -> list[float]:
    """Return at most n + 1 round values from low to high, evenly spaced."""
    step = choose_round_step((high - low) / n)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [place * step for place in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return round values between two positive ones, a few to each power of ten or one to several."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ways: list[tuple[tuple[int, ...], int]] = [((1, 2, 5), 1), ((1, 3), 1), ((1,), 1), ((1,), 2), ((1,), 3)]
    ticks: list[float] = []
    for digits, every in ways:
        ticks = [digit * 10.0**power for power in powers if power % every == 0 for digit in digits]
        ticks = [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
        if len(ticks) <= _MOST_LOG_TICKS:
            break
    return ticks


def build_amount_axis(high: float, n: int = 4, label: Callable[[float], str] = format_short) -> Axis:
    """Return an axis from 0 to the first tick that is not below `high`."""
    step = choose_round_step((high if high > 0 else 1.0) / n)
    ticks = [place * step for place in range(n + 1) if (place - 1) * step < (high or 1.0) * (1 - 1e-9)]
    return Axis(0.0, ticks[-1], tuple((tick, label(tick)) for tick in ticks))


def build_count_axis(high: int, n: int = 4) -> Axis:
    """Return an axis from 0 for counts: its ticks are integers."""
    step = max(round(choose_round_step(max(high, 1) / n) + 0.4), 1)
    ticks = range(0, max(high, 1) + step, step)
    return Axis(0.0, float(ticks[-1]), tuple((float(tick), format_short(tick)) for tick in ticks))


def build_elapsed_axis(duration: float, n: int = 8) -> Axis:
    """Return an axis of the time since the start of a load, up to its end."""
    duration = duration or 1.0
    unit, sign = choose_time_unit(duration)
    ticks = even_ticks(0.0, duration / unit, n)
    return Axis(0.0, duration, tuple((tick * unit, f"{format_short(tick)} {sign}") for tick in ticks))


def build_latency_axis(low: float, high: float, *, is_log: bool, n: int = 5) -> Axis:
    """Return an axis of times from low to high."""
    if is_log:
        return Axis(
            low, high, tuple((tick, format_round_time(tick)) for tick in log_ticks(low, high)), is_log=True
        )
    unit, sign = choose_time_unit(high)
    ticks = even_ticks(low / unit, high / unit, n)
    return Axis(low, high, tuple((tick * unit, f"{format_short(tick)} {sign}") for tick in ticks))


def build_latency_axis_from_0(greatest: float) -> Axis:
    """Return an axis of times from 0 in one unit."""
    unit, sign = choose_time_unit(greatest)
    axis = build_amount_axis(greatest / unit, 3)
    return Axis(0.0, axis.high * unit, tuple((tick * unit, f"{label} {sign}") for tick, label in axis.ticks))


def build_point_latency_axis(values: Iterable[float]) -> Axis:
    """Return an axis for times drawn as points: from 0, or logarithmic for a wide range."""
    positive = [value for value in values if value > 0]
    if not positive or max(positive) / min(positive) <= WIDE:
        return build_latency_axis_from_0(max(positive, default=1.0))
    return build_latency_axis(min(positive) / 1.3, max(positive) * 1.3, is_log=True)
