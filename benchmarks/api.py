"""What a client of a chat server costs: Assay, two peers and a bare loop, against nginx with a fixed reply.

    python benchmarks/api.py                  # all clients, and Assay's memory on 100,000 rows
    python benchmarks/api.py --quick --json   # fewer rows, one JSON line
    python benchmarks/api.py --only assay,roof
    python benchmarks/api.py --write          # puts the tables into RESULTS.md

All put the same generated questions with four options over 64 connections, one client after the other, each
by its whole command in a process of its own. Timed are the command from start to exit, the time until nginx
had answered the first question, and, as start-up is paid once, the time for each further sample: what the
larger number of rows takes longer than the smaller, for each row. Assay keeps its journal, as always, and no
cache. Every run is checked: nginx has counted the requests, and every client must have found a quarter of the
answers right.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.results.rows import markdown_table
from benchmarks.api_clients import CONNECTIONS, Client, clients
from benchmarks.fixed_reply import FixedReply
from benchmarks.peers import INSPECT, LM_EVAL
from benchmarks.record import add_output_options, hand_over, setting
from benchmarks.scale import measure, write_csv

SIZES = (2_000, 5_000)
QUICK_SIZES = (400, 1_000)
MEMORY_SIZES = (20_000, 100_000)
QUICK_MEMORY_SIZES = (2_000, 10_000)
MEMORY_BAR_MIB = 400.0
RIGHT = 0.25
"""The server always says A, and every fourth row is right with that."""


class Asked(NamedTuple):
    """One command."""

    seconds: float
    first_s: float
    """From the start of the command to the first answer of the server."""
    cpu_s: float
    peak_mib: float


class Found(NamedTuple):
    """One client over all its runs; medians."""

    key: str
    name: str
    seconds: float
    """Of the larger number of rows."""
    first_s: float
    further_us: float
    """For each further sample."""
    cpu_us: float
    """Processor time of the client for each further sample."""
    peak_mib: float
    ratio: float | None = None
    """Times as long as Assay for a further sample; None without Assay."""
    bar: float | None = None


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rows, once")
    parser.add_argument("--json", action="store_true", help="print one JSON line")
    parser.add_argument("--only", help="some of assay, lm-eval, inspect, roof, memory, by comma")
    parser.add_argument("--repeats", type=int, default=3, help="of every command; medians are taken")
    parser.add_argument("--lm-eval-python", help="an environment that has lm-eval[api] already")
    parser.add_argument("--inspect-python", help="an environment that has inspect-ai and openai already")
    add_output_options(parser)
    options = parser.parse_args()
    every = clients(options.lm_eval_python, options.inspect_python)
    named = options.only.split(",") if options.only else [*every, "memory"]
    if unknown := set(named) - every.keys() - {"memory"}:
        raise SystemExit(f"there is no {', '.join(sorted(unknown))}; name some of {', '.join(every)}, memory")
    sizes = QUICK_SIZES if options.quick else SIZES
    memory_sizes = QUICK_MEMORY_SIZES if options.quick else MEMORY_SIZES
    with tempfile.TemporaryDirectory(prefix="assay-api-") as name:
        folder = Path(name)
        chosen = {key: every[key] for key in every if key in named}
        found = compare(chosen, sizes, 1 if options.quick else options.repeats, folder)
        grown = {n: ask(every["assay"], n, folder) for n in memory_sizes if "memory" in named}
    if options.json:
        memory = {n: one._asdict() for n, one in grown.items()}
        print(json.dumps({"clients": [one._asdict() for one in found], "memory": memory}))
    else:
        hand_over("api", section(found, grown, sizes), options)
    is_met = all(one.ratio is None or one.bar is None or one.ratio >= one.bar for one in found)
    sys.exit(0 if is_met and all(one.peak_mib < MEMORY_BAR_MIB for one in grown.values()) else 1)


def compare(chosen: dict[str, Client], sizes: Sequence[int], repeats: int, folder: Path) -> list[Found]:
    """Run all clients in turn, as often as asked, and return what they cost."""
    runs: dict[tuple[str, int], list[Asked]] = {(key, n): [] for key in chosen for n in sizes}
    for _ in range(repeats):
        for key, n in runs:
            runs[key, n].append(ask(chosen[key], n, folder))
    found = [summed_up(key, one, [runs[key, n] for n in sizes], sizes) for key, one in chosen.items()]
    base = next((one.further_us for one in found if one.key == "assay"), None)
    if base is None:
        return found
    return [one._replace(ratio=one.further_us / base) for one in found]


def summed_up(key: str, client: Client, runs: Sequence[Sequence[Asked]], sizes: Sequence[int]) -> Found:
    """Return the medians of a client's runs at the smaller and the larger number of rows."""
    small, large = ([statistics.median(column) for column in zip(*some, strict=True)] for some in runs)
    few, many = Asked(*small), Asked(*large)
    step = 1e6 / (sizes[1] - sizes[0])
    return Found(
        key,
        client.name,
        many.seconds,
        many.first_s,
        (many.seconds - few.seconds) * step,
        (many.cpu_s - few.cpu_s) * step,
        many.peak_mib,
        bar=client.bar,
    )


def ask(client: Client, n: int, folder: Path) -> Asked:
    """Let a client ask so many questions, and check that it did."""
    table = folder / f"questions-{n}.csv"
    if not table.exists():
        write_csv(table, n)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        own = Path(name)
        with FixedReply(own / "nginx") as server:
            command = client.command(table, server.url, own)
            began = time.time()
            measured = measure(command, own)
        moments = server.moments
        said = (own / "output.txt").read_text(encoding="utf-8", errors="replace")
        accuracy = client.accuracy(said, own)
    if len(moments) != n or abs(accuracy - RIGHT) > 1e-9:
        raise SystemExit(
            f"{client.name} sent {len(moments)} requests for {n} rows and found {accuracy} of them right; "
            f"expected: {n} and {RIGHT}.\n{said[-2000:]}"
        )
    one = Asked(measured.seconds, min(moments) - began, measured.cpu_s, measured.peak_mib)
    print(f"{client.name}, {n:,} rows: {one}", file=sys.stderr)
    return one


def section(found: Sequence[Found], grown: dict[int, Asked], sizes: Sequence[int]) -> str:
    """Return the tables."""
    parts = [setting({"lm-eval": LM_EVAL, "inspect-ai": INSPECT})]
    if found:
        rows = [
            (
                one.name,
                f"{one.further_us:,.0f}",
                "-" if one.ratio is None else f"**{one.ratio:.1f}**",
                "-" if one.bar is None else f"{one.bar:g}",
                f"{1e6 / one.further_us:,.0f}",
                f"{one.cpu_us:,.0f}",
                f"{one.first_s:.2f}",
                f"{one.seconds:.1f}",
                f"{one.peak_mib:,.0f}",
            )
            for one in found
        ]
        header = (
            "client", "µs per further sample", "times Assay's", "bar", "samples/s",
            "CPU µs per further sample", "first answer s", "whole command s", "peak RSS MiB",
        )  # fmt: skip
        parts += [
            f"{sizes[1]:,} questions with four options, {CONNECTIONS} connections; a further sample is one "
            f"from {sizes[0]:,} to {sizes[1]:,}.",
            markdown_table(header, rows),
        ]
    if grown:
        memory = [(f"{n:,}", f"{one.seconds:.1f}", f"{one.peak_mib:.0f}") for n, one in grown.items()]
        parts += [
            f"Assay's memory by the number of rows; the bar is {MEMORY_BAR_MIB:.0f} MiB.",
            markdown_table(("rows", "whole command s", "peak RSS MiB"), memory),
        ]
    return "\n\n".join(parts)


if __name__ == "__main__":
    main()
