"""What two models in one command cost, against commands with one model each.

    python -m benchmarks.several_models            # prints the table
    python -m benchmarks.several_models --write    # puts it into RESULTS.md

Each command is a process of its own, in turns, without the cache. The one command also does the work of a
third one, `assay compare A B --html`. The starts are the same commands on one row of the file with the mock
model: Python, Assay's modules, the survey of the file, and the pages. The bound is the sum of the three
commands without the two starts that the one command does not pay.
On a machine that does other work, processor seconds say more than seconds.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.results.rows import markdown_table
from benchmarks.record import add_output_options, hand_over, setting


class Case(NamedTuple):
    """Two models and a file."""

    name: str
    n_rows: int
    models: tuple[str, str]
    args: tuple[tuple[str, ...], tuple[str, ...]]
    options: tuple[str, ...]


CASES = (
    Case("mock, 20,000 rows, gen", 20_000, ("mock", "mock"), ((), ("answer=A",)), ()),
    Case(
        "SmolLM2-135M in fp32 and in bf16, 40 rows, ppl",
        40,
        ("smollm2", "smollm2"),
        (("dtype=float32",), ("dtype=bfloat16",)),
        ("--method", "ppl"),
    ),
)


class Cost(NamedTuple):
    """What a command took."""

    seconds: float
    cpu_seconds: float


def run(folder: Path, arguments: Sequence[str]) -> Cost:
    """Run a command; return what it took."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "assay", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(done.stdout + done.stderr)
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Cost(seconds, used)


def measure(case: Case, folder: Path, n_turns: int) -> list[list[Cost]]:
    """Return what A, B, their comparison and both together take, and three commands on one row."""
    rows = "".join(f"Is {n} even?,yes,no,{'AB'[n % 2]}\n" for n in range(case.n_rows))
    (folder / "data.csv").write_text(f"question,A,B,answer\n{rows}", encoding="utf-8")
    evaluate = ["run", "data.csv", "--no-cache", "--progress", "none"]
    commands = []
    both = [*evaluate, *case.options, "--out", "both"]
    for name, model, args in zip("ab", case.models, case.args, strict=True):
        alone = [part for arg in args for part in ("--model-arg", arg)]
        commands.append([*evaluate, *case.options, "-m", model, *alone, "--out", name])
        both += [
            "-m",
            f"{name}={model}",
            *(part for arg in args for part in ("--model-arg", f"{name}.{arg}")),
        ]
    first_row = [*evaluate, "-m", "mock", "--limit", "first:1"]
    commands += [
        ["compare", "a", "b", "--html", "page.html"],
        both,
        [*first_row, "--out", "start"],
        [*first_row, "--model-arg", "answer=A", "--out", "other"],
        ["compare", "start", "other", "--html", "page.html"],
    ]
    turns = []
    for _ in range(n_turns):
        turns.append([run(folder, command) for command in commands])
        for name in ("a", "b", "both", "start", "other"):
            shutil.rmtree(folder / name)
    return turns


def main() -> None:
    """Measure and hand the table over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=3)
    add_output_options(parser)
    options = parser.parse_args()
    table = []
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            turns = measure(case, Path(folder), options.turns)
        for what, at in (("processor seconds", 1), ("seconds", 0)):
            a, b, compare, both, start, _, opening = (
                median(turn[column][at] for turn in turns) for column in range(7)
            )
            bound = a + b - start + compare - opening
            cells = (a, b, start, compare, opening, bound, both)
            table.append([case.name, what, *(f"{value:.2f}" for value in cells), f"{both / bound:.2f}"])
    headings = (
        *("case", "median", "A", "B", "start", "compare", "its start", "bound"),
        *("A and B together", "ratio"),
    )
    text = f"{setting()} Median of {options.turns} turns.\n\n{markdown_table(headings, table)}"
    hand_over("several-models", text, options)


if __name__ == "__main__":
    main()
