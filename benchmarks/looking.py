"""How quick it is to look: the page of a large run, and the team server while it evaluates.

    python benchmarks/looking.py                    # both, about three minutes
    python benchmarks/looking.py --only report      # or: --only server
    python benchmarks/looking.py --write            # puts the tables into RESULTS.md

The page: 20,000 samples of four options by the mock model. Writing is timed as the function that every run
ends with, in a process of its own. Opening and filtering are timed by Chromium's own clock: from the
beginning of navigation until the table's rows are painted, and from a click until the frame that shows its
effect.

The server: `assay serve` with one worker that evaluates while another process reads, each request at its own
moment of a schedule (an open loop: a slow answer delays no later request), so that waiting is counted too.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.bench.words import words_of
from assay.results.rows import markdown_table
from benchmarks.record import add_output_options, hand_over, setting
from benchmarks.scale import assay_command, measure

ROWS = 20_000
WRITE_BAR_S, OPEN_BAR_S, SIZE_BAR_MB = 5.0, 1.0, 30.0
CASES = {
    "ppl, no shots": ("--method", "ppl", "--ppl-target", "text"),
    "gen, 5 shots": ("--method", "gen", "--shots", "5"),
    "ppl,prob,gen, 5 shots": ("--method", "ppl,prob,gen", "--ppl-target", "text", "--shots", "5"),
}
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

PAINTED = """() => new Promise((resolve) => {
  const look = () => document.querySelector("a.row")
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
    "a sample": "document.querySelector('a.row').click()",
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
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("question", "A", "B", "C", "D", "answer", "category"))
        for number in range(n):
            words = words_of(0, "looking", number)
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


def main() -> int:
    """Measure and hand over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--only", choices=("report", "server"))
    add_output_options(parser)
    options = parser.parse_args()
    parts = []
    with tempfile.TemporaryDirectory() as name:
        if options.only != "server":
            parts.append(report_section(Path(name), options.rows))
    hand_over("looking", "\n\n".join((*parts, setting())), options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
