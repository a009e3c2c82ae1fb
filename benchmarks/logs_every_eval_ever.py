"""Runs as every_eval_ever records: its own validator, and every score after reading them back.

    python -m benchmarks.logs_every_eval_ever --python PYTHON              # prints the table
    python -m benchmarks.logs_every_eval_ever --python PYTHON --write      # puts it into RESULTS.md

PYTHON (3.12 or later) has `every-eval-ever`. Exported are runs of Assay by each method, with failed requests,
groups, repeats and perplexities, and with `--logs DIR` also the runs that Assay imports from the logs there,
which `benchmarks.logs_inspect --keep DIR` writes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import assay
from assay.app.export_run import export_run
from assay.app.import_log import import_log
from assay.results.read import StoredRun
from assay.results.rows import markdown_table
from benchmarks.record import add_output_options, hand_over, setting

_EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
_CHECKED = "import importlib.metadata as m; print(m.version('every-eval-ever'))"


class Exported(NamedTuple):
    """One run with what the validator says, and what is not equal after reading it back."""

    kind: str
    n_files: int
    n_rows: int
    n_errors: int
    n_warnings: int
    n_scores: int
    n_metrics: int
    n_different: int


def main() -> None:
    """Export, validate and read back; print or write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", required=True, help="python of an environment with every-eval-ever")
    parser.add_argument("--logs", type=Path, metavar="DIR", help="also the inspect_ai logs of this folder")
    add_output_options(parser)
    options = parser.parse_args()
    asked = subprocess.run([options.python, "-c", _CHECKED], check=True, capture_output=True, text=True)
    with tempfile.TemporaryDirectory() as made:
        runs = [*make_runs(Path(made)), *(import_runs(options.logs, Path(made)) if options.logs else ())]
        found = [
            check_run(kind, run, Path(made) / f"record-{number}", options.python)
            for number, (kind, run) in enumerate(runs)
        ]
    section = f"{setting({'every-eval-ever': asked.stdout.strip()})}\n\n{build_table(found)}"
    hand_over("logs_every_eval_ever", section, options)


def make_runs(folder: Path) -> Iterator[tuple[str, StoredRun]]:
    """Yield runs of Assay of each kind."""
    texts = folder / "texts.jsonl"
    texts.write_text("".join(json.dumps({"text": f"Text {n} about it."}) + "\n" for n in range(20)))
    arithmetic = _EXAMPLES / "arithmetic.csv"
    kinds: dict[str, tuple[Path, dict[str, Any]]] = {
        "option likelihoods": (arithmetic, {"method": "ppl"}),
        "label probabilities": (arithmetic, {"method": "prob"}),
        "generation": (arithmetic, {"method": "gen"}),
        "three methods, failed requests": (
            arithmetic,
            {"method": ("ppl", "prob", "gen"), "model_args": {"fail_every": "9"}},
        ),
        "repeats": (arithmetic, {"method": "gen", "samples": 3, "temperature": 0.7}),
        "perplexity": (texts, {}),
    }
    for number, (kind, (path, settings)) in enumerate(kinds.items()):
        out = folder / f"run-{number}"
        yield kind, StoredRun(assay.run(path, model="mock", out=str(out), cache=False, **settings).folder)


def import_runs(logs: Path, folder: Path) -> Iterator[tuple[str, StoredRun]]:
    """Yield the runs that Assay imports from logs of inspect_ai."""
    for path in sorted((*logs.glob("*.eval"), *logs.glob("*/*.eval"))):
        run = import_log(path, format_name="inspect", out=None, runs_dir=folder / "imported").run
        yield "imported from inspect_ai", run


def check_run(kind: str, run: StoredRun, folder: Path, python: str) -> Exported:
    """Export a run, validate the record, and compare what Assay reads in it."""
    files = export_run(run, "every-eval-ever", folder)[1]
    names = [str(path.relative_to(folder)) for path in files]
    done = subprocess.run(
        [python, "-m", "every_eval_ever", "validate", "--format", "json", *names],
        cwd=folder,
        stdout=subprocess.PIPE,
        check=False,
    )
    reports = json.loads(done.stdout)
    again = import_log(folder, format_name=None, out=None, runs_dir=folder / "runs").run
    scores = {(one.task, one.sample_id, one.track): one for one in run.scores()}
    read = {(one.task, one.sample_id, one.track): one for one in again.scores()}
    different = sum(read.get(key) != score for key, score in scores.items())
    different += sum(one not in again.metrics() for one in run.metrics())
    return Exported(
        kind,
        len(files),
        sum(one["line_count"] for one in reports),
        sum(len(one["errors"]) for one in reports),
        sum(len(one["warnings"]) for one in reports),
        len(scores),
        len(run.metrics()),
        different,
    )


def build_table(found: Sequence[Exported]) -> str:
    """Return the table: one row per kind of run."""
    headings = [
        "kind of run",
        "runs",
        "files",
        "lines",
        "errors",
        "warnings",
        "scores",
        "metrics",
        "differences",
    ]
    rows = []
    for kind in dict.fromkeys(one.kind for one in found):
        mine = [one for one in found if one.kind == kind]
        counts = [sum(numbers) for numbers in zip(*(one[1:] for one in mine), strict=True)]
        rows.append([kind, str(len(mine)), *map(str, counts)])
    totals = [str(sum(int(row[at]) for row in rows)) for at in range(1, len(headings))]
    return markdown_table(headings, [*rows, ["**all**", *totals]])


if __name__ == "__main__":
    main()
