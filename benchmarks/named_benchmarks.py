"""How many benchmarks are listed by name, how fast, and what each config needs to run.

    python -m benchmarks.named_benchmarks --outcomes FILE [--data DIR] --write

The packages lm-eval, opencompass and ais_bench_benchmark must be installed (`pip install --no-deps`). Each
config of OpenCompass and AISBench is compiled over its first rows as `assay check` does; without its data, it
must say which data it needs. Outcomes are appended to a file, so that an interrupted measurement continues.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import msgspec

from assay.app.benchmarks import BenchmarkList, list_benchmarks, resolve_benchmarks
from assay.app.check_files import check_files
from assay.app.dataset_state import DatasetState
from assay.app.settings import RunSettings, Settings, resolve_settings
from assay.results.rows import markdown_table
from benchmarks.record import add_output_options, hand_over, setting

_CHECKED = ("opencompass", "aisbench")
_PACKAGE = re.compile(r"it imports '(\w+)|needs the package '(\w+)|\w+ is required for this dataset")
_N_TIMES = 5
_N_PACKAGES = 8


class Outcome(msgspec.Struct, frozen=True):
    """What happened with one config."""

    name: str
    state: str
    what: str = ""
    code: str = ""


class _Times(NamedTuple):
    """Seconds of one command."""

    wall: float
    cpu: float


def main() -> None:
    """Measure, and hand the section over."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--outcomes", type=Path, required=True, help="file that keeps the outcomes")
    parser.add_argument("--data", help="folder of real datasets with a hub.json")
    add_output_options(parser)
    options = parser.parse_args()
    listed = list_benchmarks(None, RunSettings())
    outcomes = list(_check_all(listed, options.outcomes, options.data))
    cold, warm = _measure_list()
    hand_over("named-benchmarks", build_section(listed, outcomes, cold, warm), options)


def _check_all(listed: BenchmarkList, kept: Path, data: str | None) -> Iterator[Outcome]:
    """Yield the outcome of every config, read from the file or found now."""
    lines = kept.read_bytes().splitlines() if kept.exists() else []
    known = {one.name: one for one in (msgspec.json.decode(line, type=Outcome) for line in lines)}
    settings = resolve_settings({"data_root": data, "model": "mock"}, {}, Path())
    with kept.open("ab") as file:
        for one in listed.benchmarks:
            if one.source not in _CHECKED:
                continue
            if one.name not in known:
                known[one.name] = _check(one.name, settings)
                file.write(msgspec.json.encode(known[one.name]) + b"\n")
                file.flush()
            yield known[one.name]


def _check(name: str, settings: Settings) -> Outcome:
    (target,), values, _ = resolve_benchmarks([name], settings.values)
    (found,) = check_files([target], settings.with_values(values), with_model=False)
    problem = found.problem
    if problem is None:
        return Outcome(name, found.state)
    return Outcome(name, found.state, problem.what, problem.code)


def name_outcome(one: Outcome) -> str:
    """Return the kind of an outcome."""
    if one.state == DatasetState.OK:
        return "compiles"
    if one.state == DatasetState.NEEDS_DATA or "does not exist: " in one.what or one.code.startswith("HUB"):
        return "names the data it needs"
    if _PACKAGE.search(one.what):
        return "names the Python package it needs"
    if one.code == "OPENICL-014":
        return "needs tool calls or tree search, which Assay does not have"
    if one.code in ("OPENICL-002", "OPENICL-004", "OPENICL-009", "OPENICL-010", "OPENICL-011"):
        return "the config itself is wrong"
    return "other errors"


def build_section(
    listed: BenchmarkList, outcomes: Sequence[Outcome], cold: _Times, warm: Sequence[_Times]
) -> str:
    """Return the section for RESULTS.md."""
    counts = {
        source: Counter(name_outcome(one) for one in outcomes if one.name.startswith(f"{source}:"))
        for source in _CHECKED
    }
    kinds = sorted(
        {kind for count in counts.values() for kind in count}, key=lambda kind: _total(counts, kind)
    )
    rows = [[kind, *(f"{counts[source][kind]:,}" for source in _CHECKED)] for kind in reversed(kinds)]
    packages = Counter(
        found[1] or found[2] or "vlmeval" for one in outcomes if (found := _PACKAGE.search(one.what))
    )
    most = ", ".join(f"`{name}` {n}" for name, n in packages.most_common(_N_PACKAGES))
    sources = [[one.title, one.version or "checkout", f"{one.n_benchmarks:,}"] for one in listed.sources]
    middle = sorted(warm, key=lambda one: one.cpu)[len(warm) // 2]
    return "\n\n".join(
        [
            setting(),
            markdown_table(["source", "version", "listed"], sources),
            f"`assay ls benchmarks --all` over all of them: {cold.cpu:.1f} s of processor time with an empty "
            f"cache folder, then {middle.cpu:.2f} s ({middle.wall:.1f} s by the clock).",
            markdown_table(["each config, compiled", "OpenCompass", "AISBench"], rows),
            f"The packages that most configs need: {most}.",
        ]
    )


def _total(counts: Mapping[str, Counter[str]], kind: str) -> int:
    return sum(count[kind] for count in counts.values())


def _measure_list() -> tuple[_Times, list[_Times]]:
    """Return the times of the whole command, with an empty cache folder and then with its list."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "ASSAY_CACHE": folder}
        times = [_time_command(environment) for _ in range(_N_TIMES + 1)]
    return times[0], times[1:]


def _time_command(environment: Mapping[str, str]) -> _Times:
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "assay", "ls", "benchmarks", "--all"]
    subprocess.run(command, check=True, env=dict(environment), stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return _Times(time.monotonic() - started, cpu)


if __name__ == "__main__":
    main()
