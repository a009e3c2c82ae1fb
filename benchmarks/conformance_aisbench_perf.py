"""Whether `--profile aisbench` computes the tables that AISBench's own calculators do.

    python -m benchmarks.conformance_aisbench_perf          # prints the table
    python -m benchmarks.conformance_aisbench_perf --write  # puts it into RESULTS.md

Random loads go through both: closed ones and ones at a rate, with and without streams, one-token replies,
servers that count no tokens; the original in an environment of its own (benchmarks/peers.py). A load is equal
when both tables have the same rows in the same order, and every value is the same but for the last digit
shown, which depends on the order of a sum.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.bench.aisbench_profile import AISBenchProfile, NoResult, ProfileResult
from assay.bench.records import CallRecord
from assay.core.timing import CallTimes
from assay.results.rows import markdown_table
from benchmarks.peers import AISBENCH, peer_python
from benchmarks.record import add_output_options, hand_over, setting

SEED = 19
N_LOADS = 400
STAGES = ("total", "stable")
VERDICTS = ("equal", "no result", "different")
_WORKER = Path(__file__).with_name("aisbench_perf_worker.py")
_LAST_DIGIT = 1.01e-4


class Load(NamedTuple):
    """Calls, and how they were sent."""

    kind: str
    batch_size: int
    records: list[CallRecord]


def main() -> None:
    """Compare, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", help="python of an environment that has AISBench")
    add_output_options(parser)
    options = parser.parse_args()
    text, differences = section(
        peer_python("aisbench", options.python), list(made_loads(random.Random(SEED)))
    )
    hand_over("conformance_aisbench_perf", text, options)
    raise SystemExit("\n".join(differences[:10]) if differences else 0)


def section(python: Path, loads: Sequence[Load]) -> tuple[str, list[str]]:
    """Return the table, and where the two programs differ."""
    counts: Counter[tuple[str, str, str]] = Counter()
    differences: list[str] = []
    for stage in STAGES:
        for load, theirs in zip(loads, _originals(python, stage, loads), strict=True):
            found = _difference(_ours(load, stage), theirs)
            verdict = "different" if found else "no result" if "error" in theirs else "equal"
            counts[load.kind, stage, verdict] += 1
            if found:
                differences.append(f"{load.kind}, {stage}, batch {load.batch_size}: {found}")
    rows = [
        (kind, stage, *(f"{counts[kind, stage, verdict]:,}" for verdict in VERDICTS))
        for kind in dict.fromkeys(load.kind for load in loads)
        for stage in STAGES
    ]
    table = markdown_table(("load", "stage", "equal tables", "no result in both", "different"), rows)
    return f"{setting({'ais-bench-benchmark': AISBENCH})}\n\n{table}", differences


def made_loads(rng: random.Random) -> Iterator[Load]:
    """Yield loads of each kind."""
    for _ in range(N_LOADS):
        for kind in ("closed, streams", "closed, one token", "closed, whole replies", "at a rate, streams"):
            batch_size = rng.choice((1, 2, 3, 8, 50, 64, 100))
            yield Load(kind, batch_size, list(_calls(kind, batch_size, rng)))


def _calls(kind: str, batch_size: int, rng: random.Random) -> Iterator[CallRecord]:
    free = [1000 + rng.random() * 0.1 for _ in range(batch_size)]
    is_counted = rng.random() < 0.8
    pause_s = rng.choice((0.0002, 0.002, 0.05))
    at_rate = 1000.0
    for number in range(batch_size * rng.randint(1, 6) + rng.randint(0, 3)):
        place = min(range(batch_size), key=free.__getitem__)
        at_rate += rng.expovariate(batch_size / 0.3)
        began = at_rate if kind.startswith("at a rate") else free[place] + rng.random() * pause_s
        n_output = 1 if "one token" in kind else rng.randint(1, 6)
        event_at = [began + 0.01 + rng.random() * 0.2]
        for _ in range(n_output):
            event_at.append(event_at[-1] + 1e-6 + rng.random() * 0.05)
        free[place] = event_at[-1]
        times = CallTimes(began, event_at[-1], event_at=() if "whole" in kind else tuple(event_at))
        n_input = rng.randint(1, 900)
        yield CallRecord("x", number, times, n_input=n_input * is_counted, n_output=n_output * is_counted)


def _ours(load: Load, stage: str) -> ProfileResult | NoResult:
    whole = AISBenchProfile(load.batch_size)
    for record in load.records:
        whole.add(record)
    if stage == "total":
        return whole.result()
    if isinstance(found := whole.stable_stage(), NoResult):
        return found
    inside = AISBenchProfile(load.batch_size, stage=found)
    for record in load.records:
        inside.add(record)
    return inside.result()


def _originals(python: Path, stage: str, loads: Sequence[Load]) -> list[dict[str, Any]]:
    described = [
        {
            "stage": stage,
            "batch_size": load.batch_size,
            "requests": [
                {
                    "time_points": [one.times.began, *(one.times.event_at or (one.times.ended,))],
                    "n_input": one.n_input,
                    "n_output": one.n_output,
                }
                for one in load.records
            ],
        }
        for load in loads
    ]
    with tempfile.TemporaryDirectory() as name:
        asked, answered = Path(name, "loads.json"), Path(name, "tables.json")
        asked.write_text(json.dumps(described), encoding="utf-8")
        command = [str(python), str(_WORKER), str(asked), str(answered)]
        subprocess.run(command, check=True, capture_output=True)
        tables: list[dict[str, Any]] = json.loads(answered.read_text(encoding="utf-8"))
    return tables


def _difference(ours: ProfileResult | NoResult, theirs: dict[str, Any]) -> str:
    """Return the first difference in words; nothing where both agree."""
    if isinstance(ours, NoResult):
        return "" if "error" in theirs else f"here {ours.reason}"
    if "error" in theirs:
        return f"the original raises {theirs['error']}"
    tables = [
        *((name, values, ours.parameters.get(name, {})) for name, values in theirs["parameters"].items()),
        ("Common Metric", theirs["common"], ours.common),
    ]
    if list(ours.parameters) != list(theirs["parameters"]):
        return f"rows {list(ours.parameters)}, the original {list(theirs['parameters'])}"
    for name, original, own in tables:
        if list(original) != list(own):
            return f"{name} has {list(own)}, the original {list(original)}"
        for stat in original:
            if not _is_equal(own[stat], original[stat]):
                return f"{name} {stat} is {own[stat]}, the original {original[stat]}"
    return ""


def _is_equal(own: object, original: object) -> bool:
    mine, _, my_unit = str(own).partition(" ")
    other, _, unit = str(original).partition(" ")
    # Milliseconds are rounded as seconds: their last digit is a tenth.
    most = 1000 * _LAST_DIGIT if unit == "ms" else _LAST_DIGIT
    return my_unit == unit and math.isclose(float(mine), float(other), rel_tol=1e-12, abs_tol=most)


if __name__ == "__main__":
    main()
