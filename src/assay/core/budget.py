"""What a run may spend: money, tokens and time, as `--budget 5usd,2M-tokens,30min`."""

from __future__ import annotations

import re

import msgspec

from assay.core.billing import format_usd

_PART = re.compile(r"\$?\s*(\d+(?:\.\d+)?|\.\d+)\s*([kKmMbB]?)\s*-?\s*([a-zA-Z]*)")
_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}
_SECONDS = {"s": 1, "sec": 1, "min": 60, "h": 3600, "d": 86_400}
EXPECTED = "write an amount such as 5usd, 2M-tokens or 30min, or several: 5usd,30min"


class Budget(msgspec.Struct, frozen=True, omit_defaults=True):
    """Limits of a run, over all its starts. None: no limit."""

    usd: float | None = None
    tokens: int | None = None
    """Read and written, over all requests that are sent."""
    seconds: float | None = None

    @property
    def written(self) -> str:
        """Return it in words."""
        parts = []
        if self.usd is not None:
            parts.append(format_usd(self.usd))
        if self.tokens is not None:
            parts.append(f"{self.tokens:,} tokens")
        if self.seconds is not None:
            parts.append(format_minutes(self.seconds))
        return ", ".join(parts)


class Spent(msgspec.Struct, omit_defaults=True):
    """What a run has spent."""

    usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0

    def describe(self, budget: Budget) -> str:
        """Return what was spent of each limit."""
        parts = []
        if budget.usd is not None:
            parts.append(format_usd(self.usd))
        if budget.tokens is not None:
            parts.append(f"{self.tokens:,} tokens")
        if budget.seconds is not None:
            parts.append(format_minutes(self.seconds))
        return ", ".join(parts)


def parse_budget(text: str) -> Budget:
    """Return the limits of a value of `--budget`; raise ValueError if it is wrong."""
    found: dict[str, float] = {}
    for part in text.replace("|", ",").split(","):
        name, value = _parse_part(part.strip())
        if name in found:
            raise ValueError(f"{part.strip()!r} sets the limit of {name} a second time")
        found[name] = value
    tokens = found.get("tokens")
    return Budget(found.get("usd"), None if tokens is None else int(tokens), found.get("seconds"))


def _parse_part(part: str) -> tuple[str, float]:
    match = _PART.fullmatch(part)
    if match is None:
        raise ValueError(f"{part!r} is not an amount; {EXPECTED}")
    number, factor, unit = float(match[1]), match[2].lower(), match[3].lower()
    if (factor + unit).removesuffix("s") == "min":
        factor, unit = "", "min"  # Its first letter is not the M of a million.
    if number <= 0:
        raise ValueError(f"{part!r} is not more than 0")
    if part.startswith("$") and unit in ("", "usd"):
        unit = "usd"
    elif unit not in ("usd", "token", "tokens") and (unit not in _SECONDS or factor):
        raise ValueError(f"{part!r} has no known unit; {EXPECTED}")
    number *= _FACTORS[factor]
    if unit == "usd":
        return "usd", number
    if unit in _SECONDS:
        return "seconds", number * _SECONDS[unit]
    return "tokens", number


def format_minutes(seconds: float) -> str:
    """Return a duration: `45 s`, `30 min`, `1 h 30 min`."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        left = seconds / 60
        return f"{left:.3g} min" if left < 10 else f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours:,} h" + (f" {rest} min" if rest else "")
