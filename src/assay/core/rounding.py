"""Rounding for display: half away from zero, the same in Python and in the scripts of the pages.

Formatting with `f"{x:.1f}"` rounds 81.25 to 81.2, JavaScript's `toFixed` rounds it to 81.3, and both round
28.75 down where 100 * 0.2875 is a hair below it. `results/pages/assets/numbers.js` implements the same rule.
"""

from __future__ import annotations

import math

NOT_KNOWN = "-"

_NOISE_DIGITS = 12
"""Significant digits of a computed number; differences beyond them are floating-point errors."""

_TIME_UNITS = ((7200, 3600.0, "h"), (180, 60.0, "min"), (1, 1.0, "s"), (1e-3, 1e-3, "ms"), (0, 1e-6, "µs"))
"""The least number of seconds for each unit, its length and its symbol: 90 s is not shown in minutes."""


def format_decimal(value: float, digits: int, *, is_signed: bool = False) -> str:
    """Return a number with `digits` decimals, thousands separators, and a plus if `is_signed`."""
    scaled = float(f"{abs(value) * 10**digits:.{_NOISE_DIGITS}g}")
    if not math.isfinite(scaled):
        # Nobody reads 300 digits, and their decimals do not exist.
        return f"{value:{'+' if is_signed else ''}.{_NOISE_DIGITS}g}"
    steps = math.floor(scaled + 0.5)
    sign = "-" if value < 0 and steps else "+" if is_signed else ""
    return f"{sign}{steps / 10**digits:,.{digits}f}"


def format_percent(share: float, digits: int = 1, *, is_signed: bool = False) -> str:
    """Return a share in percent, without the percent sign."""
    return format_decimal(100 * share, digits, is_signed=is_signed)


def format_seconds(seconds: float) -> str:
    """Return a time with at least three significant digits, in the unit that fits it: `12.3 ms`."""
    if seconds == 0:
        return "0 s"
    _, unit, symbol = next(one for one in _TIME_UNITS if abs(seconds) >= one[0])
    exponent = int(f"{abs(seconds / unit):.2e}".partition("e")[2])
    return f"{format_decimal(seconds / unit, min(max(2 - exponent, 0), 6))} {symbol}"


def format_number(number: float | None) -> str:
    """Return a number with four significant digits; a dash for None."""
    if number is None:
        return NOT_KNOWN
    if not math.isfinite(number) or number == 0:
        return f"{number:g}"
    size = abs(number)
    if size >= 1e6 or size < 1e-4:
        return f"{number:.3e}"
    if size >= 1000:
        return format_decimal(number, 1)
    exponent = int(f"{size:e}".partition("e")[2])
    text = format_decimal(number, 3 - exponent)
    return text.rstrip("0").rstrip(".") if "." in text else text
