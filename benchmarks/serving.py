"""Whether `assay bench` says what a server really did, and what load one client process can make.

    python benchmarks/serving.py                  # all cases, about two minutes
    python benchmarks/serving.py --quick --json   # fewer requests, one JSON line
    python benchmarks/serving.py --only 64,rate   # some of 1, 64, 512, flood, rate
    python benchmarks/serving.py --aisbench       # AISBench's client, too
    python benchmarks/serving.py --write          # puts the tables into RESULTS.md

The server is `token_server`, which sends tokens at drawn moments and logs when it did; the client is the
command that a person would use, in a process of its own on the same machine. Compared are the numbers of its
summary.json with those of the server's log. With `--aisbench` AISBench's client is put to the same loads and
compared in the same way; its environment takes minutes to make, the first time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from assay.results.rows import markdown_table
from benchmarks.aisbench_client import aisbench_command, aisbench_said
from benchmarks.peers import AISBENCH, peer_python
from benchmarks.record import add_output_options, hand_over, setting
from benchmarks.scale import Measured, assay_command, measure
from benchmarks.scoring import embedded_weights
from benchmarks.serving_truth import (
    METRICS,
    Compared,
    Row,
    against,
    answering,
    arrived_after,
    compare,
    noticed_after,
    rate_of,
    read_rows,
    truth_of,
)
from benchmarks.token_log import Sent, read_log

ROOT = Path(__file__).resolve().parents[1]
INPUT_TOKENS = 64
RATE_BAR = 0.02
MOST_TIMED = 512
"""With more streams the question is whether a request is lost."""
AISBENCH_STREAMS = 500
"""Its limit on concurrent requests in tests of the rate; more need a second process."""


class Case(NamedTuple):
    """A load, and the schedule of the server under it."""

    name: str
    load: tuple[str, ...]
    n_tokens: int
    schedule: str
    n_requests: int
    n_streams: int = 0
    """How many are to be at work at once; 0: that is not the question."""
    rate: float | None = None
    """Requests/s that are to arrive; None: that is not the question."""
    is_timed: bool = False
    """Whether TTFT, ITL and TPOT have to be right."""


class Ran(NamedTuple):
    """What came of a case."""

    case: Case
    rows: list[Row]
    sent: list[Sent]
    stats: dict[str, float]
    summary: dict[str, Any]
    measured: Measured


class PeerRan(NamedTuple):
    """What came of a case with AISBench's client."""

    case: Case
    n_whole: int
    """Replies that it read to their end."""
    rate: float
    """Requests/s that arrived."""
    compared: list[Compared]
    measured: Measured


def cases(*, quick: bool) -> dict[str, Case]:
    """Return all, by name. Gaps are wider where there are many streams: the server is one process, too."""

    def closed(n_streams: int, n_requests: int, schedule: str, n_tokens: int) -> Case:
        load = ("--concurrency", str(n_streams), "--requests", str(n_requests))
        drawn = f"{schedule} jitter=0.3"
        is_timed = n_streams <= MOST_TIMED
        name = str(n_streams) if is_timed else "flood"
        return Case(name, load, n_tokens, drawn, n_requests, n_streams, is_timed=is_timed)

    seconds = 3 if quick else 10
    rate = 2_000
    paced = ("--rate", str(rate), "--duration", str(seconds))
    every = (
        closed(1, 4 if quick else 20, "ttft=120 itl=20", 50),
        closed(64, 128 if quick else 640, "ttft=120 itl=20", 50),
        closed(512, 512 if quick else 2_048, "ttft=300 itl=50", 50),
        closed(2_000, 2_000 if quick else 4_000, "ttft=4000 itl=200", 20),
        Case("rate", paced, 2, "ttft=50 itl=10", rate * seconds, rate=rate),
    )
    return {case.name: case for case in every}


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer requests")
    parser.add_argument("--json", action="store_true", help="print one JSON line")
    parser.add_argument("--only", help="names of cases, by comma")
    parser.add_argument("--aisbench", action="store_true", help="AISBench's client, too")
    parser.add_argument("--aisbench-python", help="an environment that has it already")
    add_output_options(parser)
    options = parser.parse_args()
    every = cases(quick=options.quick)
    named = options.only.split(",") if options.only else list(every)
    if unknown := set(named) - every.keys():
        raise SystemExit(f"there is no case {', '.join(sorted(unknown))}; name some of {', '.join(every)}")
    with tempfile.TemporaryDirectory(prefix="assay-serving-") as name:
        ran = [run(every[one], Path(name) / one) for one in named]
        peers = []
        if options.aisbench:
            python = peer_python("aisbench", options.aisbench_python)
            peers = [run_aisbench(every[one], Path(name) / f"aisbench-{one}", python) for one in named]
    told = [judged(one) for one in ran]
    if options.json:
        print(json.dumps({"cases": told, "aisbench": [_told_of(one) for one in peers]}))
    else:
        hand_over("serving", section(ran, told, peers), options)
    sys.exit(0 if all(one["is_met"] for one in told) else 1)


def run(case: Case, folder: Path) -> Ran:
    """Put the load on a fresh server, and read what both sides wrote."""
    folder.mkdir()
    out, log = folder / "run", folder / "sent.jsonl"
    # The role is named at once: a client that takes it for a token has a TTFT of nothing.
    with token_server(log, f"{case.schedule} role=0") as url:
        command = [assay_command(), "bench", f"openai:m@{url}", *case.load]
        command += ["--input", str(INPUT_TOKENS), "--output", str(case.n_tokens), "--out", str(out)]
        print(" ".join(command), file=sys.stderr)
        measured = measure(command, folder)
        with urllib.request.urlopen(f"{url}/stats") as reply:
            stats: dict[str, float] = json.load(reply)
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    return Ran(case, read_rows(out / "requests.jsonl"), read_log(log), stats, summary, measured)


def run_aisbench(case: Case, folder: Path, python: Path) -> PeerRan:
    """Put the load on a fresh server with AISBench's client."""
    folder.mkdir()
    log = folder / "sent.jsonl"
    with token_server(log, case.schedule) as url:
        command = aisbench_command(
            python,
            folder,
            url,
            embedded_weights(),
            n_streams=case.n_streams or AISBENCH_STREAMS,
            n_requests=case.n_requests,
            n_input=INPUT_TOKENS,
            n_output=case.n_tokens,
            rate=case.rate or 0,
        )
        measured = measure(command, folder)
    sent = sorted(read_log(log))
    load = sent[len(sent) - case.n_requests :]  # What came before warmed the server up.
    whole = [one for one in load if one.is_whole]
    compared = against(truth_of(whole), aisbench_said(folder))
    return PeerRan(case, len(whole), rate_of([one.arrived for one in load]), compared, measured)


@contextmanager
def token_server(log: Path, schedule: str) -> Iterator[str]:
    """Serve from a process of its own; its log is whole afterwards."""
    command = [sys.executable, "-m", "benchmarks.token_server", "--mark"]
    command += ["--log", str(log), "--schedule", schedule]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def judged(ran: Ran) -> dict[str, Any]:
    """Return one case's numbers, and whether its bars are met."""
    case, rows = ran.case, ran.rows
    n_failed = sum(row.is_failed for row in rows)
    told: dict[str, Any] = {
        "name": case.name,
        "requests": len(rows),
        "failed": n_failed,
        "whole": sum(one.is_whole for one in ran.sent),
        "most_streams": ran.stats["most_streams"],
        "server_worst_lag_ms": ran.stats["worst_lag_ms"],
        "server_cpu_s": ran.stats["cpu_s"],
        "client_cpu_s": ran.measured.cpu_s,
        "client_peak_mib": ran.measured.peak_mib,
    }
    if ran.stats["unstamped"]:
        raise SystemExit("the kernel does not stamp what arrives; the truth about TTFT is not known here")
    is_met = n_failed == 0 and ran.stats["left"] == 0
    if case.rate is None:
        is_met = is_met and len(rows) == case.n_requests and told["most_streams"] == case.n_streams
    else:
        told["rate"] = rate_of([one.arrived for one in answering(rows, ran.sent)])
        off = max(abs(told["rate"] / case.rate - 1), abs(len(rows) / case.n_requests - 1))
        is_met = is_met and off <= RATE_BAR
    if case.is_timed:
        compared = compared_in(ran)
        told["compared"] = [one._asdict() for one in compared]
        is_met = is_met and all(one.is_met for one in compared)
    told["arrived_ms"] = _spread(arrived_after(rows, ran.sent))
    told["noticed_ms"] = _spread(noticed_after(rows, ran.sent))
    return {**told, "is_met": is_met}


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {f"p{q}": float(np.percentile(values, q)) for q in (0, 50, 99, 100)}


def compared_in(ran: Ran) -> list[Compared]:
    """Return what the summary says of the three metrics beside the truth."""
    return compare(ran.rows, ran.sent, ran.summary["summary"]["metrics"])


def section(ran: Sequence[Ran], told: Sequence[dict[str, Any]], peers: Sequence[PeerRan]) -> str:
    """Return the tables."""
    parts = [setting({"ais-bench-benchmark": AISBENCH} if peers else {})]
    timed = [(one.case, compared_in(one)) for one, of in zip(ran, told, strict=True) if "compared" in of]
    if timed:
        header = (
            "streams", "metric", "truth, mean / p50 / p99 ms", "Assay, mean / p50 / p99 ms",
            "largest difference ms", "within 2 ms or 2 %",
        )  # fmt: skip
        rows = [_metric_row(case, metric, every) for case, every in timed for metric in METRICS]
        parts += [markdown_table(header, rows)]
    columns = (
        "load", "requests", "failed", "most streams at once", "requests/s that arrived",
        "request arrived after ms, min / p50 / p99 / max",
        "token noticed after ms, min / p50 / p99 / max",
        "server late by at most ms", "server CPU s", "client CPU s", "client peak MiB", "met",
    )  # fmt: skip
    parts += [markdown_table(columns, [_load_row(one.case, of) for one, of in zip(ran, told, strict=True)])]
    if peers:
        parts += [
            "AISBench's client on the same loads, the role named with the first token.",
            _peers_table(peers),
        ]
    return "\n\n".join(parts)


def _peers_table(peers: Sequence[PeerRan]) -> str:
    header = (
        "load", "requests answered", "requests/s that arrived", "TTFT", "ITL", "TPOT", "client CPU s",
        "client peak MiB",
    )  # fmt: skip
    rows = [
        (
            f"`{' '.join(one.case.load)}`",
            f"{one.n_whole:,} of {one.case.n_requests:,}",
            f"{one.rate:,.1f}",
            *(_largest(metric, one.compared) for metric in METRICS),
            f"{one.measured.cpu_s:.1f}",
            f"{one.measured.peak_mib:,.0f}",
        )
        for one in peers
    ]
    return markdown_table(header, rows) + "\n\nOf TTFT, ITL and TPOT, the largest difference from the truth."


def _largest(metric: str, every: Sequence[Compared]) -> str:
    largest = max((one for one in every if one.metric == metric), key=lambda one: abs(one.difference))
    return f"{largest.difference:+.1f} ms ({largest.stat} {largest.said:.1f}, truth {largest.truth:.1f})"


def _told_of(one: PeerRan) -> dict[str, Any]:
    return {
        "name": one.case.name,
        "whole": one.n_whole,
        "rate": one.rate,
        "compared": [number._asdict() for number in one.compared],
        "client_cpu_s": one.measured.cpu_s,
        "client_peak_mib": one.measured.peak_mib,
    }


def _metric_row(case: Case, metric: str, every: Sequence[Compared]) -> tuple[str, ...]:
    own = [one for one in every if one.metric == metric]
    truth = " / ".join(f"{one.truth:.2f}" for one in own)
    said = " / ".join(f"{one.said:.2f}" for one in own)
    largest = max((one.difference for one in own), key=abs)
    met = "yes" if all(one.is_met for one in own) else "no"
    return case.name, metric.upper(), truth, said, f"{largest:+.2f}", met


def _load_row(case: Case, told: dict[str, Any]) -> tuple[str, ...]:
    return (
        f"`{' '.join(case.load)}`",
        f"{told['requests']:,}",
        str(told["failed"]),
        f"{told['most_streams']:,}",
        f"{told['rate']:,.1f}" if "rate" in told else "-",
        " / ".join(f"{value:.2f}" for value in told["arrived_ms"].values()),
        " / ".join(f"{value:.2f}" for value in told["noticed_ms"].values()),
        f"{told['server_worst_lag_ms']:.2f}",
        f"{told['server_cpu_s']:.1f}",
        f"{told['client_cpu_s']:.1f}",
        f"{told['client_peak_mib']:.0f}",
        "yes" if told["is_met"] else "no",
    )


if __name__ == "__main__":
    main()
