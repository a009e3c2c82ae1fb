"""How often the gate fails without a reason, how often it catches a drop, and what it costs.

    python -m benchmarks.gate                    # prints the tables
    python -m benchmarks.gate --write            # puts them into RESULTS.md
    python -m benchmarks.gate --simulations 20   # fewer whole commands

A server on this machine answers as models with known faults. Each simulation draws anew which rows are always
answered right, which always wrong, and which at random, so that two runs of one model disagree on a known
share of the rows. `assay run` and `assay baseline` make the baseline, `assay gate` compares the same model
with it (A/A), and then a model that gets a known number of points less. The second table repeats the
statistics alone, many more times and with other shares. Bars: of 100 A/A gates on 300 rows at most 5 fail; of
100 gates with a planted drop of 10 points at least 95 fail; a gate takes less than one second longer than a
run.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from numpy.typing import NDArray

from assay.faces.cli.gate_options import GATE_FAILED
from assay.faces.cli.main import run_command
from assay.results.comparison import MetricComparison, RunComparison, Side
from assay.results.gate import GateRule, decide
from assay.results.paired import compare_shares
from assay.results.rows import markdown_table
from benchmarks.record import add_output_options, hand_over, setting

ROWS = 300
ACCURACY = 0.75
DISCORDANCE = 0.1
DROP = 0.1
LETTERS = "ABCD"
REPEATS = 9
_QUESTION = re.compile(r"Question (\d+)\?")


class Simulated(NamedTuple):
    """A model of the server, named in each request."""

    simulation: int
    version: str
    discordance: float
    drop: float

    def is_right(self, row: int) -> bool:
        """Return whether it answers a row right."""
        of_row = random.Random(f"{self.simulation} row {row}")
        of_version = random.Random(f"{self.simulation} {self.version} {row}")
        # Two runs disagree on half of the rows whose answers are random.
        if of_row.random() < 2 * self.discordance:
            right = of_version.random() < 0.5
        else:
            sure = 1 - 2 * self.discordance
            right = of_row.random() < (ACCURACY - self.discordance) / sure
        return right and of_version.random() >= self.drop / ACCURACY


def read_model(name: str) -> Simulated:
    """Return the model that a name such as `7-new-0.1-0.0` stands for."""
    simulation, version, discordance, drop = name.split("-")
    return Simulated(int(simulation), version, float(discordance), float(drop))


class Answering(BaseHTTPRequestHandler):
    """Answers chats as the simulated models do."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        """Name no models."""
        self._send(404, {"error": {"message": "not here"}})

    def do_POST(self) -> None:
        """Answer one chat."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        row = int(_QUESTION.search(body["messages"][-1]["content"])[1])  # type: ignore[index]
        answer = LETTERS[(row + (not read_model(body["model"]).is_right(row))) % len(LETTERS)]
        message = {"role": "assistant", "content": answer}
        self._send(200, {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    def _send(self, status: int, document: object) -> None:
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def log_message(self, *parts: object) -> None:
        """Print nothing."""


@contextlib.contextmanager
def answering() -> Iterator[str]:
    """Run the server; yield its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def write_dataset(path: Path, n: int) -> None:
    """Write a table whose right answers the simulated models know."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["question", *LETTERS, "answer"])
        for row in range(n):
            rows.writerow([f"Question {row}?", "one", "two", "three", "four", LETTERS[row % len(LETTERS)]])


def call(*arguments: str) -> int:
    """Run a command in this process; return its exit status."""
    before, sys.argv = sys.argv, ["assay", *arguments]
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as err:
            status = run_command()
    finally:
        sys.argv = before
    if status not in (0, GATE_FAILED):
        raise SystemExit(f"assay {' '.join(arguments)}: {err.getvalue()}")
    return status


def simulate_commands(url: str, folder: Path, n: int) -> tuple[int, int]:
    """Return how many of n A/A gates fail, and how many with a planted drop."""
    data = str(folder / "data.csv")
    write_dataset(Path(data), ROWS)
    n_aa = n_caught = 0
    for simulation in range(n):
        place = folder / str(simulation)
        baseline = str(place / "main.json")

        def model(version: str, drop: float, simulation: int = simulation) -> str:
            return f"openai:{simulation}-{version}-{DISCORDANCE}-{drop}@{url}"

        common = ("--no-cache", "--progress", "none")
        call("run", data, "-m", model("base", 0.0), "--out", str(place / "base"), *common)
        call("baseline", str(place / "base"), "-o", baseline)
        statuses = [
            call(
                "gate",
                data,
                "-m",
                model(name, drop),
                "--baseline",
                baseline,
                "--out",
                str(place / name),
                *common,
            )
            for name, drop in (("same", 0.0), ("worse", DROP))
        ]
        n_aa += statuses[0] == GATE_FAILED
        n_caught += statuses[1] == GATE_FAILED
    return n_aa, n_caught


def draw(
    generator: np.random.Generator, n: int, discordance: float, drop: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the right answers of two runs, as the simulated models give them."""
    is_random = generator.random(n) < 2 * discordance
    sure = generator.random(n) < (ACCURACY - discordance) / (1 - 2 * discordance)
    a, b = (np.where(is_random, generator.random(n) < 0.5, sure) for _ in range(2))
    b &= generator.random(n) >= drop / ACCURACY
    return a.astype(np.float64), b.astype(np.float64)


def compare_drawn(
    generator: np.random.Generator, sizes: Sequence[int], discordance: float, drop: float
) -> RunComparison:
    """Return a comparison of two drawn runs; one task for each size."""
    sides = (Side("base", "", "", "", None), Side("new", "", "", "", None))
    metrics = tuple(
        MetricComparison(
            f"task{at}",
            "gen",
            "accuracy",
            0,
            1,
            compare_shares(*draw(generator, size, discordance, drop)),
            is_headline=True,
            is_share=True,
            is_factor=False,
            higher_is_better=True,
        )
        for at, size in enumerate(sizes)
    )
    return RunComparison(sides, metrics, ())


def compute_failing_share(
    sizes: Sequence[int], discordance: float, drop: float, rule: str = "worse", n: int = 2000
) -> float:
    """Return the share of drawn comparisons that fail a gate."""
    generator = np.random.default_rng([len(sizes), sizes[0], round(1e3 * discordance), round(1e3 * drop)])
    chosen = GateRule.parse(rule)
    failed = (
        not decide(compare_drawn(generator, sizes, discordance, drop), chosen).has_passed for _ in range(n)
    )
    return sum(failed) / n


def measure_commands(folder: Path, n_rows: int) -> tuple[list[float], list[float]]:
    """Return wall and processor seconds of `assay run` and `assay gate`, medians of commands in turns."""
    data, baseline = str(folder / f"rows{n_rows}.csv"), str(folder / f"rows{n_rows}.json")
    write_dataset(Path(data), n_rows)
    call("run", data, "-m", "mock", "--out", str(folder / f"base{n_rows}"), "--progress", "none")
    call("baseline", str(folder / f"base{n_rows}"), "-o", baseline)
    times: dict[str, list[tuple[float, float]]] = {"run": [], "gate": []}
    for turn in range(REPEATS):
        for command, more in (("run", []), ("gate", ["--baseline", baseline])):
            out = str(folder / f"{command}{n_rows}-{turn}")
            before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            words = [sys.executable, "-m", "assay", command, data, "-m", "mock", *more, "--out", out]
            done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if done.returncode:
                raise SystemExit(f"{' '.join(words)}: exit status {done.returncode}")
            own = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            times[command].append((time.monotonic() - started, own))
    wall = [statistics.median(one for one, _ in times[command]) for command in times]
    processor = [statistics.median(one for _, one in times[command]) for command in times]
    return wall, processor


def build_section(n_simulations: int) -> str:
    """Measure everything and return the section for RESULTS.md."""
    os.environ.setdefault("OPENAI_API_KEY", "none")
    with tempfile.TemporaryDirectory() as name, answering() as url:
        folder = Path(name)
        n_aa, n_caught = simulate_commands(url, folder, n_simulations)
        times = [(n_rows, *measure_commands(folder, n_rows)) for n_rows in (300, 10_000)]
    commands = markdown_table(
        ("whole commands, 300 rows", "gates", "failed", "bar"),
        [
            ["same model (A/A)", str(n_simulations), str(n_aa), "at most 5 of 100"],
            ["10 points less", str(n_simulations), str(n_caught), "at least 95 of 100"],
        ],
    )
    rows = [
        [
            f"{100 * discordance:g} %",
            *(
                f"{100 * compute_failing_share([ROWS], discordance, drop):.1f} %"
                for drop in (0, 0.05, 0.1, 0.15)
            ),
            f"{100 * compute_failing_share([ROWS], discordance, 0.1, 'worse:2'):.1f} %",
            f"{100 * compute_failing_share([30] * 10, discordance, 0):.1f} %",
        ]
        for discordance in (0.0, 0.02, 0.05, 0.1, 0.2, 0.3)
    ]
    table = markdown_table(
        (
            *("runs disagree on", "A/A", "5 points less", "10 points less", "15 points less"),
            *("10 points less, `worse:2`", "A/A, 10 groups of 30"),
        ),
        rows,
    )
    cost = markdown_table(
        ("rows", "`assay run`, s", "`assay gate`, s", "more, s", "more processor time, s"),
        [
            [f"{n:,}", *(f"{one:.2f}" for one in (*wall, wall[1] - wall[0], own[1] - own[0]))]
            for n, wall, own in times
        ],
    )
    return "\n\n".join(
        (
            setting(),
            commands,
            "Share of 2,000 drawn comparisons of 300 rows that fail, by the share of rows on which two runs "
            "of the same model disagree:",
            table,
            f"Medians of {REPEATS} commands in turns, with the mock model:",
            cost,
        )
    )


def main() -> None:
    """Measure and hand over the section."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--simulations", type=int, default=100, metavar="N", help="whole commands [100]")
    add_output_options(parser)
    options = parser.parse_args()
    hand_over("gate", build_section(options.simulations), options)


if __name__ == "__main__":
    main()
