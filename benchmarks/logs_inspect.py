"""Logs of the real inspect_ai through Assay and back: every score, and what the real program reads.

    python -m benchmarks.logs_inspect              # prints the table
    python -m benchmarks.logs_inspect --write      # puts it into RESULTS.md
    python -m benchmarks.logs_inspect --keep DIR --show

inspect_ai (in an environment of its own, see `peers.py`) writes logs of every kind of task in
`inspect_worker.py`, as `.eval` and `.json`, and says what it reads in each one. Assay imports each log,
exports the imported run, and inspect_ai reads that. Compared are metrics, the values, answers and
explanations of all samples in all epochs, replies and errors. `--keep DIR` keeps the logs and reuses those
that are there.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.app.export_run import export_run
from assay.app.import_log import import_log
from assay.core.response import Completion
from assay.results.exchange.inspect_ai.log_file import opening_log
from assay.results.exchange.inspect_ai.values import read_metrics
from assay.results.read import StoredRun
from assay.results.rows import markdown_table
from benchmarks.peers import INSPECT, peer_python
from benchmarks.record import add_output_options, hand_over, setting

_WORKER = Path(__file__).with_name("inspect_worker.py")


class Compared(NamedTuple):
    """One log with what differs."""

    name: str
    n_samples: int
    n_values: int
    n_metrics: int
    imported: Sequence[str]
    """Differences between the log and the imported run."""
    exported: Sequence[str]
    """Differences between the log and what inspect_ai reads after the round trip."""


def main() -> None:
    """Make the logs, compare them, and print or write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the logs, and reuse those that are there"
    )
    parser.add_argument("--show", action="store_true", help="print each difference")
    parser.add_argument("--python", help="python of an environment with inspect_ai")
    add_output_options(parser)
    options = parser.parse_args()
    python = peer_python("inspect-ai", options.python)
    with tempfile.TemporaryDirectory() as made:
        folder = options.keep or Path(made)
        if not (folder / "expected.json").is_file():
            folder.mkdir(exist_ok=True)
            subprocess.run([python, _WORKER, "make", folder], check=True, stdout=subprocess.DEVNULL)
        found = compare_logs(python, folder, Path(made))
    for one in found if options.show else ():
        for difference in (*one.imported, *one.exported):
            print(f"{one.name}: {difference}", file=sys.stderr)
    hand_over("logs_inspect", build_section(found), options)


def compare_logs(python: Path, folder: Path, work: Path) -> list[Compared]:
    """Import and export each log, let inspect_ai read the exports, and compare."""
    expected: dict[str, Any] = json.loads((folder / "expected.json").read_text())
    runs: dict[str, StoredRun] = {}
    exports: dict[str, str] = {}
    for name in expected:
        run = import_log(folder / name, format_name=None, out=None, runs_dir=work / "runs").run
        path = Path(name)
        out = work / "exports" / f"{path.parent}-{path.stem}{path.suffix}"
        runs[name] = run
        exports[name] = str(export_run(run, "inspect", out)[1][0])
    read = subprocess.run([python, _WORKER, "read", *exports.values()], check=True, stdout=subprocess.PIPE)
    again = json.loads(read.stdout)
    return [
        Compared(
            name,
            log["n_samples"],
            sum(len(sample["scores"]) for sample in log["samples"]),
            sum(len(metrics) for metrics in log["metrics"].values()),
            list(find_import_differences(folder / name, runs[name], log)),
            list(find_export_differences(log, again[exports[name]])),
        )
        for name, log in expected.items()
    ]


def build_section(found: Sequence[Compared]) -> str:
    """Return the table: one row per kind of task."""
    kinds: dict[str, list[Compared]] = {}
    for one in found:
        kinds.setdefault(Path(one.name).parts[0].partition(".")[0], []).append(one)
    rows = [
        [
            kind,
            str(len(logs)),
            str(sum(log.n_samples for log in logs)),
            str(sum(log.n_values for log in logs)),
            str(sum(log.n_metrics for log in logs)),
            str(sum(len(log.imported) for log in logs)),
            str(sum(len(log.exported) for log in logs)),
        ]
        for kind, logs in kinds.items()
    ]
    totals = [str(sum(int(row[column]) for row in rows)) for column in range(1, 7)]
    headings = ["kind of task", "logs", "samples", "scores", "metrics", "differences after import"]
    return "\n\n".join(
        [
            setting({"inspect-ai": INSPECT}),
            markdown_table([*headings, "differences after import and export"], [*rows, ["**all**", *totals]]),
        ]
    )


def find_import_differences(path: Path, run: StoredRun, log: Mapping[str, Any]) -> Iterator[str]:
    """Yield what an imported run has otherwise than inspect_ai reads it in the log."""
    status = run.manifest.imported.settings["status"] if run.manifest.imported else None
    if status != log["status"]:
        yield f"status {status!r}, not {log['status']!r}"
    samples: dict[str, list[Mapping[str, Any]]] = {}
    for sample in log["samples"]:
        samples.setdefault(str(sample["id"]), []).append(sample)
    scores = {score.sample_id: score for score in run.scores()}
    if set(samples) != set(scores):
        yield f"samples {sorted(set(samples) ^ set(scores))} are in one only"
    texts: dict[str, list[str]] = {}
    for response in run.responses():
        if isinstance(response.outcome, Completion):
            id_ = response.request_id.removeprefix(f"{log['task']}/").rpartition("/gen/answer/")[0]
            texts.setdefault(id_, []).append(response.outcome.outputs[0].text)
    for id_, epochs in samples.items():
        logged = [one.get("scores", {}) for one in scores[id_].details]
        wanted = [epoch["scores"] for epoch in epochs if epoch["scores"] or epoch["error"] is not None]
        if not _equal(_plain([{n: _pick(s) for n, s in one.items()} for one in logged]), wanted):
            yield f"sample {id_}: scores {logged}, not {wanted}"
        replies = [epoch["text"] for epoch in epochs if epoch["text"]]
        if [text for text in texts.get(id_, []) if text and not text.startswith('[{"name"')] != replies:
            yield f"sample {id_}: replies {texts.get(id_)}, not {replies}"
    yield from _compare_metrics(path, run, log)


def _compare_metrics(path: Path, run: StoredRun, log: Mapping[str, Any]) -> Iterator[str]:
    with opening_log(path) as opened:
        logged = read_metrics(opened.header, log["task"]).logged
    kept = {
        (one.metric, one.group): one
        for one in (run.manifest.imported.metrics if run.manifest.imported else ())
    }
    own = {(one.metric, one.group): one for one in run.metrics()}
    numbers = [value for metrics in log["metrics"].values() for value in metrics.values()]
    for one in logged:
        if one.value not in numbers or kept.get((one.metric, one.group)) != one:
            yield f"metric {one.metric} {one.group}: {one.value} is not in the log or not kept"
        mine = own.get((one.metric, one.group))
        if mine is None or mine.value is None or not math.isclose(mine.value, one.value, abs_tol=1e-9):
            yield f"metric {one.metric} {one.group}: {mine and mine.value}, not {one.value}"


def find_export_differences(log: Mapping[str, Any], again: Mapping[str, Any]) -> Iterator[str]:
    """Yield what inspect_ai reads otherwise in the export than in its own log."""
    for name in ("task", "model", "n_samples", "metrics"):
        if not _equal(log[name], again[name]):
            yield f"export: {name} {again[name]}, not {log[name]}"
    mine = {(str(one["id"]), one["epoch"]): one for one in again["samples"]}
    for sample in log["samples"]:
        other = mine.get((str(sample["id"]), sample["epoch"]))
        if other is None:
            yield f"export: sample {sample['id']} of epoch {sample['epoch']} is missing"
            continue
        for name in ("error", "text", "scores"):
            if not _equal(other[name], sample[name]):
                yield f"export: sample {sample['id']}: {name} {other[name]!r}, not {sample[name]!r}"


def _pick(score: Mapping[str, Any]) -> dict[str, Any]:
    # A run folder has no value where inspect_ai has none, and writes NaN.
    return {
        "value": score.get("value", "nan"),
        **{name: score.get(name) for name in ("answer", "explanation")},
    }


def _plain(value: Any) -> Any:
    """Return a value with numbers that JSON has no form for as text, as the worker writes them."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def _equal(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return mine.keys() == theirs.keys() and all(_equal(mine[key], theirs[key]) for key in mine)
    if isinstance(mine, list) and isinstance(theirs, list):
        return len(mine) == len(theirs) and all(_equal(*pair) for pair in zip(mine, theirs, strict=True))
    if isinstance(mine, float) and isinstance(theirs, float):
        return math.isclose(mine, theirs, abs_tol=1e-12)
    return bool(mine == theirs)


if __name__ == "__main__":
    main()
