"""How `assay run FILE` reads tables in the field structure of well-known datasets, with no flags.

    python -m benchmarks.own_files            # prints the table
    python -m benchmarks.own_files --write    # puts it into RESULTS.md

Each table is evaluated by the whole command, twice: a model that gives the right reply to the first row must
score 1, one that gives a wrong reply must score 0, and the prompt must hold every text that the question
needs. A table that cannot be understood from its file alone must stop before the model, with commands that
settle the question. Tables: `shared/data/schemas`, and `tests/corpora/table_shapes.py`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from assay.results.rows import markdown_table
from benchmarks.record import add_output_options, hand_over, setting
from corpora.table_shapes import SHAPES

SCHEMAS = Path(__file__).resolve().parents[2] / "shared" / "data" / "schemas"
ASKED, READ = "stopped with commands", "read right"
OUTCOMES = (READ, ASKED, "stopped without commands", "nothing scored, status 0", "wrong")


class Case(NamedTuple):
    """A table and what is expected of it."""

    source: str
    path: Path
    show: tuple[str, ...]
    right: str | None
    wrong: str | None


def cases(folder: Path) -> Iterator[Case]:
    """Yield the tables; those of the tests are written to a folder."""
    if SCHEMAS.is_dir():
        for name, one in json.loads((SCHEMAS / "expected.json").read_text(encoding="utf-8")).items():
            yield Case("shared/data/schemas", SCHEMAS / name, tuple(one["show"]), one["gold"], one["bad"])
    for shape in SHAPES:
        path = folder / f"{shape.name}.jsonl"
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in shape.rows)
        path.write_text("".join(lines), encoding="utf-8")
        yield Case("tests/corpora", path, shape.show, shape.right, shape.wrong)


def outcome(case: Case, folder: Path) -> str:
    """Return what the command makes of a table."""
    right = _run(case, case.right or "", folder)
    if right.returncode == 2:
        return (
            ASKED if f"assay run {case.path} " in right.stdout + right.stderr else "stopped without commands"
        )
    score = _score(right)
    if score is None:
        return "nothing scored, status 0" if right.returncode == 0 else f"status {right.returncode}"
    wrong = _score(_run(case, case.wrong or "", folder))
    shows = all(text in _prompt(right) for text in case.show)
    return READ if case.right is not None and (score, wrong) == (1.0, 0.0) and shows else "wrong"


def _run(case: Case, reply: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "assay",
        "run",
        str(case.path),
        "-m",
        "mock",
        "--limit",
        "first:1",
        "--json",
    ]
    command += ["--model-arg", f"answer={reply}", "--runs-dir", str(folder / "runs"), "--fresh"]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def _score(run: subprocess.CompletedProcess[str]) -> float | None:
    answer: dict[str, Any] = json.loads(run.stdout or "{}")
    values = [metric["value"] for metric in answer.get("metrics", ()) if metric["is_headline"]]
    return values[0] if values else None


def _prompt(run: subprocess.CompletedProcess[str]) -> str:
    folder = Path(run.args[run.args.index("--runs-dir") + 1]) / json.loads(run.stdout)["id"]
    command = [sys.executable, "-m", "assay", "explain", str(folder), "row:1", "--no-tokens"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, env={"COLUMNS": "4000"})
    return shown.stdout


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_output_options(parser)
    options = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    unexpected = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(Path(folder)):
            found = outcome(case, Path(folder))
            counts.setdefault(case.source, Counter())[found] += 1
            if found != (ASKED if case.right is None else READ):
                unexpected.append(f"{case.path.name}: {found}")
    rows = [
        (source, str(found.total()), *(str(found[one]) for one in OUTCOMES))
        for source, found in counts.items()
    ]
    text = markdown_table(("tables", "number", *OUTCOMES), rows)
    text = f"{setting()}\n\n{text}\n\nNot as expected: {', '.join(unexpected) or 'none'}."
    hand_over("own_files", text, options)


if __name__ == "__main__":
    main()
