"""What Assay itself costs: speed and memory on many rows, and the time until something happens.

    python -m benchmarks.scale                      # prints the tables
    python -m benchmarks.scale --write              # puts them into RESULTS.md
    python -m benchmarks.scale --rows 10000 100000

The mock model answers at once, so what is measured is everything around a model: reading and checking the
csv, prompts, journal, scores, the report. Each run is the whole command in a process of its own: wall clock
from start to exit, and its processor time and the peak of its resident memory as the kernel counted them.
Wall clock depends on who else is at work on the machine, processor time hardly. Start-up is the median of
alternating runs, against a bare interpreter in the same minutes, so that the ratio holds on a busy machine.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.results.rows import markdown_table
from benchmarks.record import add_output_options, hand_over, setting

REQUESTS = {"gen": 1, "ppl,prob": 5, "ppl,prob,gen": 6}
"""Requests per row of four options: ppl scores each option, prob and gen send one request."""
REPEATS = 15

FIRST_REQUEST = """
import os, sys, time
from assay.backends.mock import MockBackend
def first(self, requests):
    next(iter(requests))
    print(time.time(), flush=True)
    os._exit(0)
MockBackend.run = first
from assay.faces.cli.main import main
sys.argv = ["assay", *sys.argv[1:]]
main()
"""


class Measured(NamedTuple):
    """One command."""

    seconds: float
    cpu_s: float
    peak_mib: float


def assay_command() -> str:
    """Return the command of the environment that runs this."""
    return str(Path(sys.executable).with_name("assay"))


def measure(command: Sequence[str], folder: Path) -> Measured:
    """Run a command to its end; stop if it fails."""
    with open(folder / "output.txt", "w+b") as output:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            raise SystemExit(f"{' '.join(command)} failed:\n{output.read().decode()[-2000:]}")
    return Measured(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def write_csv(path: Path, n: int) -> Path:
    """Write generated questions with four options, no two alike."""
    numbers = random.Random("0:scale")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("question", "A", "B", "C", "D", "answer"))
        for i in range(n):
            one, two = numbers.randrange(1000), numbers.randrange(1000)
            options = [one + two + offset for offset in (0, 1, 10, 100)]
            right = i % 4
            options[0], options[right] = options[right], options[0]
            question = f"Shelf {i} of the store holds {one} boxes, and {two} more arrive. How many are there?"
            writer.writerow((question, *options, "ABCD"[right]))
    return path


def scale(sizes: Mapping[str, Sequence[int]], folder: Path) -> str:
    """Return the table of speed and memory."""
    lines = []
    for method, numbers in sizes.items():
        for n in numbers:
            print(f"{method}: {n:,} rows", file=sys.stderr)
            table = write_csv(folder / f"rows-{n}.csv", n)
            out = folder / "run"
            command = [assay_command(), "run", str(table), "--model", "mock", "--method", method]
            found = measure([*command, "--no-cache", "--out", str(out)], folder)
            journal = (out / "responses.jsonl").stat().st_size
            shutil.rmtree(out)
            lines.append(
                (
                    method,
                    f"{n:,}",
                    f"{n * REQUESTS[method]:,}",
                    f"{found.seconds:.1f}",
                    f"{n / found.seconds:,.0f}",
                    f"{n * REQUESTS[method] / found.seconds:,.0f}",
                    f"{found.cpu_s:.1f}",
                    f"{n / found.cpu_s:,.0f}",
                    f"{found.peak_mib:.0f}",
                    f"{journal / 2**20:,.0f}",
                )
            )
    headings = (
        "methods", "rows", "requests", "seconds", "rows/s", "requests/s", "CPU seconds",
        "rows per CPU second", "peak RSS MiB", "journal MiB",
    )  # fmt: skip
    return markdown_table(headings, lines)


def start_up(folder: Path) -> str:
    """Return the table of start-up times."""
    small = write_csv(folder / "small.csv", 20)
    commands = {
        'python -c "import json"': [sys.executable, "-c", "import json"],
        "assay --help": [assay_command(), "--help"],
        "assay --version": [assay_command(), "--version"],
        "assay run 20-rows.csv --model mock": [assay_command(), "run", str(small), "--model", "mock"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    cpu: dict[str, list[float]] = {name: [] for name in commands}
    first = "from the command to the first request, 20-row csv, mock"
    times[first] = []
    for repeat in range(REPEATS):
        for name, command in commands.items():
            more = ["--out", str(folder / f"small-{repeat}")] if "run" in command else []
            found = measure([*command, *more], folder)
            times[name].append(found.seconds)
            cpu[name].append(found.cpu_s)
        began = time.time()
        said = subprocess.run(
            [sys.executable, "-c", FIRST_REQUEST, "run", str(small), "--model", "mock", "--out",
             str(folder / f"first-{repeat}")],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        times[first].append(float(said.stdout.split()[-1]) - began)
    bare = statistics.median(times['python -c "import json"'])
    return markdown_table(
        ("command", "median s", "fastest s", "slowest s", "times the bare interpreter", "median CPU s"),
        [
            (
                name,
                f"{statistics.median(values):.3f}",
                f"{min(values):.3f}",
                f"{max(values):.3f}",
                f"{statistics.median(values) / bare:.1f}",
                f"{statistics.median(cpu[name]):.3f}" if name in cpu else "-",
            )
            for name, values in times.items()
        ],
    )


def main() -> int:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000, 100_000, 300_000], help="for gen")
    parser.add_argument(
        "--rows-of-all", type=int, nargs="*", default=[10_000, 30_000, 100_000], help="for ppl,prob,gen"
    )
    add_output_options(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-scale-") as name:
        folder = Path(name)
        started = start_up(folder)
        scaled = scale({"gen": options.rows, "ppl,prob,gen": options.rows_of_all}, folder)
    text = "\n\n".join(
        (
            setting(),
            "Mock model, journal on, no cache; the whole command in its own process.",
            scaled,
            f"Start-up, {REPEATS} alternating runs each.",
            started,
        )
    )
    hand_over("scale", text, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
