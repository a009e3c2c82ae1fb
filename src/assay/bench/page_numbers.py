"""Format numbers for people: fitting units, three significant digits, thousands separators."""

from __future__ import annotations

import math

from assay.core.rounding import format_decimal

NOT_KNOWN = "–"

_UNITS = ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_LEASTS = (7200.0, 180.0, 1.0, 1e-3, 0.0)
"""The least number of seconds for each unit: 90 s is not shown in minutes."""


def format_number(value: float | None) -> str:
    """Return a number with at least three significant digits: `0.123`, `12.3`, `1,234`."""
    if value is None or math.isnan(value):
        return NOT_KNOWN
    if value == 0:
        return "0"
    # Round before counting digits: 0.9999 is 1.00, not 1.000.
    digits = max(2 - math.floor(math.log10(abs(float(f"{value:.3g}")))), 0)
    return f"{value:,.{min(digits, 6)}f}"


def format_short(value: float) -> str:
    """Return a round number of an axis in few characters: `0.5`, `1500`, `20k`, `1.5M`."""
    for least, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= least:
            scale = 1e3 if letter == "k" else least
            return f"{value / scale:.10g}{letter}"
    return f"{value:.10g}"


def format_count(n: int | None) -> str:
    """Return an integer with thousands separators."""
    return NOT_KNOWN if n is None else f"{n:,}"


def format_count_of(n: int, noun: str) -> str:
    """Return a number with its noun: `1 request`, `2,000 requests`."""
    return f"{format_count(n)} {noun}" if n == 1 else f"{format_count(n)} {noun}s"


def choose_time_unit(greatest: float) -> tuple[float, str]:
    """Return the unit for times up to this many seconds: its length in seconds and its symbol."""
    for least, unit in zip(_LEASTS, _UNITS, strict=True):
        if greatest >= least:
            return unit
    return _UNITS[-1]


def format_seconds(value: float | None) -> str:
    """Return a time with the unit that fits it: `12.3 ms`."""
    if value is None or math.isnan(value):
        return NOT_KNOWN
    if value == 0:
        return "0 s"
    unit, sign = choose_time_unit(abs(value))
    return f"{format_number(value / unit)} {sign}"


def format_round_time(value: float) -> str:
    """Return a round time in the largest unit in which it stays round: `500 ms`, `100 s`, `2 min`."""
    for unit, sign in _UNITS:
        amount = value / unit
        # With a tolerance: 0.1 * 10 is a second, not 1,000 ms.
        if amount >= 1 - 1e-9 and abs(amount - round(amount, 2)) < 1e-6:
            return f"{format_short(round(amount, 2))} {sign}"
    return f"{format_short(round(value / 1e-6, 3))} µs" if value else "0 s"


def format_percent(share: float) -> str:
    """Return a fraction in percent; only 0 and 1 themselves become 0 % and 100 %."""
    if share in (0, 1):
        return f"{share:.0%}".replace("%", " %")
    places = 2 if min(share, 1 - share) < 0.001 else 1
    least = 10.0**-places
    return f"{format_decimal(min(max(share * 100, least), 100 - least), places)} %"
