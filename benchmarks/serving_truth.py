"""What a serving benchmark said beside what the token server really did, request by request.

The server is told to name the number of a request where the usage counts its prompt's tokens (`--mark`), so
each of the client's rows names its line of the server's log. TTFT is counted from the request's arrival to
the first token that holds text, ITL is every gap between two tokens, TPOT the mean gap of a request.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.token_log import Sent

METRICS = ("ttft", "itl", "tpot")
STATS = ("mean", "p50", "p99")
BAR_MS = 2.0
BAR_SHARE = 0.02


class Row(NamedTuple):
    """One request, as the client saw it."""

    number: int
    """Of the server's log; 0 when the call failed before the usage came."""
    began: float
    text_at: tuple[float, ...]
    due: float | None
    is_failed: bool


class Compared(NamedTuple):
    """One number of a metric; milliseconds."""

    metric: str
    stat: str
    truth: float
    said: float

    @property
    def difference(self) -> float:
        """Return how far from the truth it is."""
        return self.said - self.truth

    @property
    def is_met(self) -> bool:
        """Return whether it is within 2 ms or 2 % of the truth."""
        return abs(self.difference) <= max(BAR_MS, BAR_SHARE * self.truth)


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a run's `requests.jsonl`."""
    with open(path, encoding="utf-8") as lines:
        return [_row(json.loads(line)) for line in lines]


def _row(told: Mapping[str, Any]) -> Row:
    times = told["times"]
    return Row(
        told.get("n_input", 0),
        times["began"],
        tuple(times.get("text_at", ())),
        told.get("due"),
        told.get("failure") is not None,
    )


def answering(rows: Sequence[Row], sent: Sequence[Sent]) -> list[Sent]:
    """Return what the server did for each row that did not fail; calls that warmed it up have no row."""
    by_number = {one.number: one for one in sent}
    return [by_number[row.number] for row in rows if not row.is_failed]


def truth_of(sent: Sequence[Sent]) -> dict[str, list[float]]:
    """Return the values of each metric as the server knows them, in milliseconds."""
    found: dict[str, list[float]] = {name: [] for name in METRICS}
    for one in sent:
        found["ttft"].append(1000 * (one.sent[0] - one.arrived))
        found["itl"] += [1000 * (after - before) for before, after in pairwise(one.sent)]
        if len(one.sent) > 1:
            found["tpot"].append(1000 * (one.sent[-1] - one.sent[0]) / (len(one.sent) - 1))
    return found


def compare(
    rows: Sequence[Row], sent: Sequence[Sent], said: Mapping[str, Mapping[str, float]]
) -> list[Compared]:
    """Return what a run's summary says (seconds, by metric) beside the truth of the same requests."""
    return against(truth_of(answering(rows, sent)), said)


def against(truth: Mapping[str, Sequence[float]], said: Mapping[str, Mapping[str, float]]) -> list[Compared]:
    """Return every statistic that was said (seconds) beside that of the true values (milliseconds)."""
    return [
        Compared(metric, stat, _stat(truth[metric], stat), 1000 * said[metric][stat])
        for metric in METRICS
        for stat in STATS
    ]


def noticed_after(rows: Sequence[Row], sent: Sequence[Sent]) -> list[float]:
    """Return for every token how long after it was sent the client noticed it, in milliseconds.

    Both clocks are one. Raises ValueError when a client saw another number of tokens than was sent.
    """
    seen = [row.text_at for row in rows if not row.is_failed]
    return [
        1000 * (later - moment)
        for moments, noticed in zip((one.sent for one in answering(rows, sent)), seen, strict=True)
        for moment, later in zip(moments, noticed, strict=True)
    ]


def arrived_after(rows: Sequence[Row], sent: Sequence[Sent]) -> list[float]:
    """Return for every request how long after the client said that it began it arrived, in milliseconds."""
    began = [row.began for row in rows if not row.is_failed]
    return [1000 * (one.arrived - at) for one, at in zip(answering(rows, sent), began, strict=True)]


def rate_of(moments: Sequence[float]) -> float:
    """Return how many came in a second, from the first to the last."""
    return (len(moments) - 1) / (max(moments) - min(moments))


def _stat(values: Sequence[float], stat: str) -> float:
    return float(np.mean(values) if stat == "mean" else np.percentile(values, int(stat.removeprefix("p"))))
