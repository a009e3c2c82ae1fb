"""Speculative decoding by the counters of a server: how many draft tokens it accepted.

The counters are those of vLLM at /metrics, in Prometheus text format. The value for a load
is the difference between two readings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

import msgspec

_PREFIX = "spec_decode_num_"
_LINE = re.compile(r"(?P<name>[A-Za-z_:][\w:]*)(?:\{(?P<labels>.*)\})?\s+(?P<value>[^\s]+)(?:\s+-?\d+)?")
_POSITION = re.compile(r'(?:^|,)\s*position="(?P<position>\d+)"')

Counters: TypeAlias = Mapping[tuple[str, int | None], float]
"""By name (`drafts`, `draft_tokens`, ...) and position in a draft, if there is one."""


class SpecDecode(msgspec.Struct, frozen=True):
    """Acceptance of draft tokens."""

    n_drafts: int
    n_draft_tokens: int
    n_accepted_tokens: int
    acceptance_rate: float
    """Percentage of draft tokens that were accepted."""
    acceptance_length: float
    """Tokens per step of the large model: its own one plus the mean number of accepted ones."""
    per_position: tuple[float, ...]
    """For each position in a draft, the percentage of drafts whose token was accepted."""


def read_counters(text: str) -> Counters:
    """Return the counters of speculative decoding among a server's metrics; several engines are added up."""
    found: dict[tuple[str, int | None], float] = {}
    for line in text.splitlines():
        read = _LINE.fullmatch(line.strip())
        if read is None or _PREFIX not in read["name"]:
            continue
        name = read["name"].partition(_PREFIX)[2].removesuffix("_total")
        position = _POSITION.search(read["labels"] or "")
        try:
            value = float(read["value"])
        except ValueError:
            continue
        key = (name, int(position["position"]) if position else None)
        found[key] = found.get(key, 0.0) + value
    return found


def compute_spec_decode(before: Counters, after: Counters) -> SpecDecode | None:
    """Return the difference between two readings; None if nothing was drafted."""

    def subtract(name: str, position: int | None = None) -> float:
        return after.get((name, position), 0.0) - before.get((name, position), 0.0)

    drafts, tokens = subtract("drafts"), subtract("draft_tokens")
    accepted = subtract("accepted_tokens")
    if drafts <= 0 or tokens <= 0:
        return None
    of_positions = "accepted_tokens_per_pos"
    positions = sorted(at for name, at in after if name == of_positions and at is not None)
    return SpecDecode(
        int(drafts),
        int(tokens),
        int(accepted),
        100 * accepted / tokens,
        1 + accepted / drafts,
        tuple(100 * subtract(of_positions, at) / drafts for at in positions),
    )
