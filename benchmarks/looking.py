"""How quick it is to look: the page of a large run, and the team server while it evaluates.

    python benchmarks/looking.py                    # both, about three minutes
    python benchmarks/looking.py --only report      # or: --only server
    python benchmarks/looking.py --only commands --rows 1000000
    python benchmarks/looking.py --write            # puts the tables into RESULTS.md

The page: 20,000 samples of four options by the mock model. Writing is timed as the function that every run
ends with, in a process of its own. Opening and filtering are timed by Chromium's own clock: from the
beginning of navigation until the table's rows are painted, and from a click until the frame that shows its
effect.

The commands: what `ls`, `compare`, `diff`, `leaderboard` and the opening of a page take of two equal runs of
so many samples. Only when they are asked for: at a million rows they take some ten minutes.

The server: `assay serve` with one worker that evaluates while another process reads, each request at its own
moment of a schedule (an open loop: a slow answer delays no later request), so that waiting is counted too.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.bench.texts import iter_words
from assay.results.rows import markdown_table
from benchmarks.record import add_output_options, hand_over, setting
from benchmarks.scale import assay_command, measure
from benchmarks.streaming import written as write_table

ROWS = 20_000
WRITE_BAR_S, OPEN_BAR_S, SIZE_BAR_MB = 5.0, 1.0, 30.0
CASES = {
    "ppl, no shots": ("--method", "ppl", "--ppl-target", "text"),
    "gen, 5 shots": ("--method", "gen", "--shots", "5"),
    "ppl,prob,gen, 5 shots": ("--method", "ppl,prob,gen", "--ppl-target", "text", "--shots", "5"),
}
READ_RATE, READ_BAR_S = 200, 0.1
N_RUNS = 20
EVALUATED_ROWS = 200_000
"""More than a worker gets through while it is measured."""
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip

WRITE = """
import gc, sys, time
from pathlib import Path
gc.set_threshold(50_000, 20, 50)  # as the command line has it
from assay.results.pages.report_file import write_report_page
began = time.perf_counter()
write_report_page(Path(sys.argv[1]))
print(time.perf_counter() - began)
"""

OPEN = """
import sys
from pathlib import Path
from assay.results.run_view import RunView
view = RunView(Path(sys.argv[1]))
view.refresh()
view.page()
"""

PAINTED = """() => new Promise((resolve) => {
  const look = () => document.querySelector(".sample-row")
    ? requestAnimationFrame(() => setTimeout(() => resolve(performance.now()))) : setTimeout(look, 2);
  look();
})"""

AFTER = """async (act) => {
  const began = performance.now();
  new Function(act)();
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return performance.now() - began;
}"""
SEARCH = """
const search = document.querySelector("input[type=search]");
search.value = "letter";
search.dispatchEvent(new Event("input"));
"""
IN_FULL = """async () => {
  const packed = document.getElementById("run").textContent;
  const bytes = Uint8Array.from(atob(packed), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const run = await new Response(stream).json();
  return run.in_file.blocks.reduce((sum, places) => sum + places.length, 0);
}"""
ACTS = {
    "filter": "document.querySelector('.chip.wrong').click()",
    "sort": "document.querySelector('.head .question').click()",
    "search": SEARCH,
    "a sample": "document.querySelector('.sample-row a').click()",
}


class Looked(NamedTuple):
    """What came of one page, in seconds and megabytes."""

    case: str
    write_s: float
    peak_mib: float
    size_mb: float
    n_in_full: int
    open_s: float
    acts_s: dict[str, float]


def write_rows(path: Path, n: int) -> Path:
    """Write questions of plain English with four options."""
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("question", "A", "B", "C", "D", "answer", "category"))
        for number in range(n):
            words = iter_words(0, "looking", number)
            question = "".join(islice(words, 40)).strip()
            options = ["".join(islice(words, 4)).strip() for _ in range(4)]
            writer.writerow((question, *options, "ABCD"[number % 4], f"part {number % 30}"))
    return path


def look(case: str, flags: Sequence[str], table: Path, folder: Path, n: int) -> Looked:
    """Make a run, write its page again, open it."""
    out = folder / case.replace(" ", "")
    command = [assay_command(), "run", str(table), "-m", "mock", "--no-cache", "--out", str(out), *flags]
    measure(command, folder)
    measured = measure([sys.executable, "-c", WRITE, str(out)], folder)
    write_s = float((folder / "output.txt").read_text())
    page = out / "report.html"
    open_s, acts, n_in_full = opened(page)
    return Looked(case, write_s, measured.peak_mib, page.stat().st_size / 1e6, n_in_full, open_s, acts)


def opened(page: Path) -> tuple[float, dict[str, float], int]:
    """Open a page and use it; return the seconds until it was seen and of each act, and samples in full."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=list(FLAGS))
        context = browser.new_context(bypass_csp=True)  # for the clock's own script alone
        tab = context.new_page()
        tab.goto(page.as_uri(), wait_until="commit")
        painted: float = tab.evaluate(PAINTED)
        tab.wait_for_load_state("load")
        acts = {name: float(tab.evaluate(AFTER, act)) / 1000 for name, act in ACTS.items()}
        n: int = tab.evaluate(IN_FULL)
        browser.close()
    return painted / 1000, acts, n


def report_section(folder: Path, n: int) -> str:
    """Measure the pages; return the table."""
    table = write_rows(folder / "rows.csv", n)
    rows = [look(case, flags, table, folder, n) for case, flags in CASES.items()]
    headings = [
        "run",
        "written s",
        "peak MiB",
        "MB",
        "samples in full",
        "opened s",
        *(f"{name} s" for name in ACTS),
    ]
    lines = [
        [
            one.case, f"{one.write_s:.2f}", f"{one.peak_mib:.0f}", f"{one.size_mb:.1f}", f"{one.n_in_full:,}",
            f"{one.open_s:.2f}", *(f"{seconds:.2f}" for seconds in one.acts_s.values()),
        ]
        for one in rows
    ]  # fmt: skip
    kept = all(
        one.write_s < WRITE_BAR_S
        and one.size_mb < SIZE_BAR_MB
        and max(one.open_s, *one.acts_s.values()) < OPEN_BAR_S
        for one in rows
    )
    bars = f"written in {WRITE_BAR_S:.0f} s, opened and each act in {OPEN_BAR_S:.0f} s, {SIZE_BAR_MB:.0f} MB"
    return (
        f"{n:,} samples; the bars ({bars}) are {'all kept' if kept else 'NOT all kept'}.\n\n"
        + markdown_table(headings, lines)
    )


def commands_section(folder: Path, n: int) -> str:
    """Measure the commands that read whole runs; return the table."""
    table = write_table(folder, n, "jsonl")
    runs = folder / "runs"
    sides = [str(runs / name) for name in ("one", "two")]
    run = [assay_command(), "run", str(table), "-m", "mock", "--method", "gen", "--no-cache", "--out"]
    commands = {
        "the run": [*run, sides[0]],
        "the run, another": [*run, sides[1]],
        "ls": [assay_command(), "ls", "--runs-dir", str(runs)],
        "compare": [assay_command(), "compare", *sides],
        "diff": [assay_command(), "diff", *sides],
        "leaderboard, first": [assay_command(), "leaderboard", str(runs)],
        "leaderboard, again": [assay_command(), "leaderboard", str(runs)],
        "a run opened as a page": [sys.executable, "-c", OPEN, sides[0]],
    }
    lines = []
    for name, command in commands.items():
        taken = measure(command, folder)
        lines.append([name, f"{taken.seconds:.1f}", f"{taken.cpu_s:.1f}", f"{taken.peak_mib:.0f}"])
    size = sum(file.stat().st_size for file in Path(sides[0]).iterdir()) / 1e6
    told = f"Two equal runs of {n:,} samples, {size:,.0f} MB each."
    return f"{told}\n\n{markdown_table(['command', 'seconds', 'CPU s', 'peak MiB'], lines)}"


def server_section(folder: Path, seconds: float) -> str:
    """Measure the team server; return the table."""
    rows = write_rows(folder / "small.csv", 200)
    write_rows(folder / "data" / "long.csv", EVALUATED_ROWS)
    for nth in range(N_RUNS):
        out = str(folder / "runs" / f"run-{nth:02}")
        measure([assay_command(), "run", str(rows), "-m", f"mock:m{nth}", "--no-cache", "--out", out], folder)
    command = [assay_command(), "serve", "--port", "0", "--datasets", "data", "--workers", "1"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        try:
            address, token = _said(server)
            team = _Team(address, token)
            team.ask("/models", {"name": "mock", "spec": "mock"})
            (dataset,) = (one["name"] for one in team.ask("/datasets"))
            idle = asyncio.run(_load(address, token, seconds))
            id_ = team.ask("/evaluations", {"model": "mock", "datasets": [dataset]})["evaluation"]["id"]
            while team.ask(f"/evaluations/{id_}")["state"] == "queued":
                time.sleep(0.1)
            busy = asyncio.run(_load(address, token, seconds))
            state = team.ask(f"/evaluations/{id_}")["state"]
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()
    headings = ["while", "requests", "requests/s", "failed", "p50 ms", "p90 ms", "p99 ms", "greatest ms"]
    lines = [idle.line("nothing else runs"), busy.line(f"an evaluation is {state}")]
    kept = busy.n_failed == 0 and busy.percentile(99) < READ_BAR_S and state == "running"
    bar = f"{READ_RATE} requests/s while an evaluation runs, p99 below {1000 * READ_BAR_S:.0f} ms"
    verdict = "kept" if kept else "NOT kept"
    told = f"`assay serve`, one worker, reads by another process; the bar ({bar}) is {verdict}."
    return f"{told}\n\n{markdown_table(headings, lines)}"


class _Team:
    """The server's API, for what has to be there before it is measured."""

    def __init__(self, address: str, token: str) -> None:
        self._root = f"{address}/api/v1"
        self._token = token

    def ask(self, path: str, body: object = None) -> Any:
        """Get, or post where there is a body."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._root + path, data)
        request.add_header("authorization", f"Bearer {self._token}")
        request.add_header("content-type", "application/json")
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read())


def _said(server: subprocess.Popen[str]) -> tuple[str, str]:
    """Return the address and the owner's token, which the server prints when it starts first."""
    assert server.stdout is not None
    said = ""
    for line in server.stdout:
        said += line
        address, token = re.search(r"http://[\d.]+:\d+", said), re.search(r"assay_[\w-]+", said)
        if address is not None and token is not None:
            # What it prints further is read, so that it never waits for a reader.
            threading.Thread(target=server.stdout.read, daemon=True).start()
            return address[0], token[0]
    raise SystemExit(f"the server ended:\n{said}")


class Reads(NamedTuple):
    """What came of a load of reads."""

    latencies_s: list[float]
    n_failed: int
    seconds: float

    def percentile(self, percent: float) -> float:
        """Return the latency that so many percent stay below."""
        ordered = sorted(self.latencies_s)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]

    def line(self, label: str) -> list[str]:
        """Return the line of the table."""
        times = [f"{1000 * self.percentile(one):.1f}" for one in (50, 90, 99, 100)]
        n = len(self.latencies_s)
        return [label, f"{n:,}", f"{n / self.seconds:.0f}", str(self.n_failed), *times]


async def _load(address: str, token: str, seconds: float) -> Reads:
    """Send reads at the moments of a schedule; a latency counts from the moment that was meant."""
    from aiohttp import ClientSession, TCPConnector

    paths = [
        *("/data/runs", "/", "/api/v1/evaluations", "/api/v1/datasets"),
        *(f"/data/runs/run-{nth:02}" for nth in range(N_RUNS)),
        *(f"/data/runs/run-{nth:02}/samples?first=0" for nth in range(0, N_RUNS, 4)),
        *(f"/data/runs/run-{nth:02}/samples/{nth * 7}" for nth in range(N_RUNS)),
    ]
    latencies: list[float] = []
    failed = 0
    loop = asyncio.get_running_loop()

    async def read(session: ClientSession, path: str, meant: float) -> None:
        nonlocal failed
        async with session.get(address + path) as answer:
            await answer.read()
            failed += answer.status != 200
        latencies.append(loop.time() - meant)

    headers = {"authorization": f"Bearer {token}"}
    async with ClientSession(headers=headers, connector=TCPConnector(limit=0)) as session:
        for path in paths:
            await read(session, path, loop.time())
        latencies.clear()
        began = loop.time()
        tasks = []
        for nth in range(int(READ_RATE * seconds)):
            meant = began + nth / READ_RATE
            await asyncio.sleep(max(0.0, meant - loop.time()))
            tasks.append(loop.create_task(read(session, paths[nth % len(paths)], meant)))
        await asyncio.gather(*tasks)
    return Reads(latencies, failed, loop.time() - began)


def main() -> int:
    """Measure and hand over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each load of reads")
    parser.add_argument("--only", choices=("report", "server", "commands"))
    add_output_options(parser)
    options = parser.parse_args()
    parts = []
    with tempfile.TemporaryDirectory() as name:
        if options.only == "commands":
            parts.append(commands_section(Path(name), options.rows))
        if options.only in (None, "report"):
            parts.append(report_section(Path(name), options.rows))
        if options.only in (None, "server"):
            parts.append(server_section(Path(name), options.seconds))
    hand_over("looking", "\n\n".join((*parts, setting())), options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
