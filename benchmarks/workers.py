"""What a run costs its own process when others answer: two workers against one, a million requests, Ray.

    python -m benchmarks.workers                    # prints the tables
    python -m benchmarks.workers --write            # puts them into RESULTS.md
    python -m benchmarks.workers --quick            # a tenth of the requests
    python -m benchmarks.workers --only speed growth

The mock model answers at once or after a given time, so what is measured is everything around a model. The
run's own processor time and the peak of its own memory are what the kernel counted for that process alone,
without its workers. Memory over time is looked up from outside, twice a second, and told at quarters of the
run: memory that grew with the requests would show there.

Bars: two workers at 10 ms for each request are at least 1.9 times as fast as one; the run's own process
takes below 150 microseconds of processor time for a request; with a million requests its memory stays
below 1.5 GB.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.results.rows import markdown_table
from benchmarks.curves import Panel, draw
from benchmarks.record import add_output_options, hand_over, setting
from benchmarks.scale import write_csv

TURNS = 3
DELAY_MS = 10
SPEED_REQUESTS = 2000
MILLION = 1_000_000
LOOK_EVERY_S = 0.5
PLOT = Path(__file__).resolve().parents[1] / "docs" / "images" / "scale.svg"

OWN_USAGE = """
import json, resource, sys
from assay.faces.cli.main import main
where, sys.argv = sys.argv[1], ["assay", *sys.argv[2:]]
status = 0
try:
    main()
except SystemExit as ended:
    status = ended.code or 0
used = resource.getrusage(resource.RUSAGE_SELF)
# Not ru_maxrss, which begins with the memory of who started this process.
with open("/proc/self/status") as lines:
    peak_kib = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
with open(where, "w") as file:
    cpu_s = used.ru_utime + used.ru_stime
    json.dump({"cpu_s": cpu_s, "peak_mib": peak_kib / 1024, "status": status}, file)
"""


class Measured(NamedTuple):
    """One run."""

    seconds: float
    """Of the run itself, as its manifest tells: without the start of Python and the reading of the file."""
    wall_s: float
    cpu_s: float
    peak_mib: float
    quarters_mib: tuple[float, ...]
    """Memory when a quarter, a half, three quarters and all of the answers were there."""


def measured(table: Path, folder: Path, *more: str, method: str = "gen", fresh: bool = True) -> Measured:
    """Run a command in a process of its own; stop if it fails. Not afresh: it goes on from what is there."""
    out, usage = folder / "run", folder / "usage.json"
    if fresh:
        # A journal of the run before would be taken for this one's.
        shutil.rmtree(out, ignore_errors=True)
    command = [
        *(
            sys.executable,
            "-c",
            OWN_USAGE,
            str(usage),
            "run",
            str(table),
            "--model",
            "mock",
            "--method",
            method,
        ),
        *("--no-cache", "--out", str(out), *(["--fresh"] if fresh else []), *more),
    ]
    with open(folder / "output.txt", "w+b") as output:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=output)
        seen = _Memory(process, out / "responses.jsonl")
        process.wait()
        wall_s = time.perf_counter() - began
        seen.join()
        output.seek(0)
        said = output.read().decode()[-2000:]
    used = json.loads(usage.read_text()) if usage.is_file() else {"status": process.returncode or 1}
    if used["status"]:
        raise SystemExit(f"{' '.join(command[3:])} failed:\n{said}")
    manifest = json.loads((out / "manifest.json").read_text())
    usage.unlink()
    return Measured(manifest["seconds"], wall_s, used["cpu_s"], used["peak_mib"], seen.quarters())


class _Memory(threading.Thread):
    """Looks at a process's memory and at the size of its journal while it runs."""

    def __init__(self, process: subprocess.Popen[bytes], journal: Path) -> None:
        super().__init__(daemon=True)
        self._process = process
        self._journal = journal
        self._seen: list[tuple[int, float]] = []
        self.start()

    def run(self) -> None:
        while self._process.poll() is None:
            try:
                lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
                rss = next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))
                size = self._journal.stat().st_size if self._journal.is_file() else 0
                self._seen.append((size, rss))
            except (FileNotFoundError, ProcessLookupError, StopIteration):
                pass  # It ended between two looks.
            time.sleep(LOOK_EVERY_S)

    def quarters(self) -> tuple[float, ...]:
        """Return the memory when each quarter of the journal was written."""
        last = max((size for size, _ in self._seen), default=0)
        found = []
        for quarter in (1, 2, 3, 4):
            reached = [rss for size, rss in self._seen if size and size >= last * quarter / 4]
            found.append(reached[0] if reached else 0.0)
        return tuple(found)


def speed(folder: Path, n: int) -> str:
    """Return the table of two workers against one, in turns."""
    table = write_csv(folder / "speed.csv", n)
    found: dict[int, list[Measured]] = {1: [], 2: []}
    for turn in range(TURNS):
        for workers in found:
            print(f"speed: turn {turn + 1}, {workers} workers", file=sys.stderr)
            more = ("--model-arg", f"delay_ms={DELAY_MS}", "--workers", str(workers))
            found[workers].append(measured(table, folder, *more))
    seconds = {
        workers: statistics.median(one.seconds for one in several) for workers, several in found.items()
    }
    lines = [
        (str(workers), f"{took:.1f}", f"{n / took:,.0f}", f"{seconds[1] / took:.2f}")
        for workers, took in seconds.items()
    ]
    said = f"{n:,} requests of {DELAY_MS} ms each, medians of {TURNS} turns. Bar: 1.9 times."
    return said + "\n\n" + markdown_table(("workers", "seconds", "requests/s", "times one worker"), lines)


HEADINGS = (
    "how", "requests", "seconds", "requests/s", "own CPU µs/request", "own MiB at quarters", "own peak MiB",
)  # fmt: skip
WAYS = {
    "one process": (),
    "2 workers": ("--workers", "2"),
    "Ray, 2 workers": ("--on", "ray", "--workers", "2"),
}


def growth(folder: Path, n: int) -> str:
    """Return the table of what the run's own process takes, at growing numbers of requests, and draw it."""
    sizes = (n // 100, n // 10, n)
    found: dict[str, list[Measured]] = {name: [] for name in WAYS}
    for size in sizes:
        table = write_csv(folder / f"{size}.csv", size)
        for name, more in WAYS.items():
            print(f"{size:,} requests, {name}", file=sys.stderr)
            found[name].append(measured(table, folder, *more))
    lines = [
        _line(name, size, one)
        for name, several in found.items()
        for size, one in zip(sizes, several, strict=True)
    ]
    if n == MILLION:
        _draw(sizes, found)
    said = "Mock without delay, one request for each row."
    bars = "Bars: 150 µs for each request; memory flat and below 1,500 MiB."
    return f"{said} {bars}\n\n" + markdown_table(HEADINGS, lines)


def _line(name: str, n: int, one: Measured) -> tuple[str, ...]:
    return (
        name,
        f"{n:,}",
        f"{one.seconds:.0f}",
        f"{n / one.seconds:,.0f}",
        f"{one.cpu_s / n * 1e6:.0f}",
        " / ".join(f"{mib:.0f}" for mib in one.quarters_mib),
        f"{one.peak_mib:.0f}",
    )


def _draw(sizes: Sequence[int], found: Mapping[str, Sequence[Measured]]) -> None:
    places = [f"{size:,}" for size in sizes]
    drawn = {
        "requests per second, by requests": {
            name: [n / one.seconds for n, one in zip(sizes, several, strict=True)]
            for name, several in found.items()
        },
        "own memory in MiB, by requests": {
            name: [one.peak_mib for one in several] for name, several in found.items()
        },
    }
    panels = []
    for title, curves in drawn.items():
        highest = max(map(max, curves.values())) * 1.5
        step = 10 ** math.floor(math.log10(highest))
        panels.append(Panel(title, places, curves, highest=step * math.ceil(highest / step)))
    draw(panels, PLOT, "Requests per second and memory of a run's own process, to a million requests")


PARTS: dict[str, tuple[Callable[[Path, int], str], int]] = {
    "speed": (speed, SPEED_REQUESTS),
    "growth": (growth, MILLION),
}


def main() -> int:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--quick", action="store_true", help="a tenth of the requests")
    add_output_options(parser)
    options = parser.parse_args()
    tables = [setting()]
    with tempfile.TemporaryDirectory(prefix="assay-workers-") as name:
        for part in options.only:
            measure, n = PARTS[part]
            tables.append(measure(Path(name), n // 10 if options.quick else n))
    hand_over("workers", "\n\n".join(tables), options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
