"""Peak memory of runs, measured in a process that does nothing else.

A peak must not depend on chance, so:

- The garbage collector is off during a run. Some 200 kB of a run's objects are in reference cycles. When the
  collector frees them depends on all objects that the process made before.
- A new process measures. Tracemalloc also counts what threads of other tests allocate.

    python -m peak_memory METHOD DATASET...
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from assay.app.run import run
from assay.app.settings import resolve_settings

_SMALL_BUFFERS = {
    "assay.engine.execute._MEMO_LIMIT": 100,
    "assay.results.pages.report_file.MOST_ROWS": 100,
    "assay.results.growing_file._BUFFER_BYTES": 4096,
    "assay.results.growing_file._SKIPPED_AT_ONCE": 4096,
    "assay.sources.arrow._ROWS_AT_ONCE": 100,
    "assay.sources.stored_file.KEPT_BYTES": 50_000,
    "assay.sources.mapped_rows._READ_AT_ONCE": 100,
    "assay.sources.mapped_rows._IN_MEMORY_BYTES": 100_000,
    "assay.dialects.table.columns.SAMPLE_ROWS": 100,
}
"""Limits so low that a run's buffers are full after some hundred rows, as after a million otherwise."""


class Peaks(NamedTuple):
    """The most bytes that Python's objects took at a time."""

    fresh: int
    """In a run from the beginning."""
    resumed: int
    """In one that finds all answers in its folder."""


def measure_peaks(datasets: Sequence[str], method: str) -> list[Peaks]:
    """Run each dataset of the current folder in a new process; return their peaks."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-m", "peak_memory", method, *datasets]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [Peaks(*peaks) for peaks in json.loads(done.stdout.splitlines()[-1])]


def _measure_here(datasets: Sequence[str], method: str) -> list[Peaks]:
    for name, limit in _SMALL_BUFFERS.items():
        module, _, attribute = name.rpartition(".")
        assert hasattr(import_module(module), attribute), name
        setattr(import_module(module), attribute, limit)
    for dataset in datasets:
        for _ in Peaks._fields:  # What is imported, compiled and cached once counts for no run.
            _run(dataset, method, Path(f"warm-up-{dataset}"))
    return [Peaks(*(_measure_peak(dataset, method) for _ in Peaks._fields)) for dataset in datasets]


def _measure_peak(dataset: str, method: str) -> int:
    """Run, or resume; return the peak."""
    gc.collect()
    gc.disable()
    tracemalloc.start()
    _run(dataset, method, Path(f"run-{dataset}"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    gc.enable()
    return peak


def _run(dataset: str, method: str, out: Path) -> None:
    body = {"model": "mock", "method": (method,), "out": str(out), "cache": False}
    run((dataset,), resolve_settings(body, {}, Path.cwd()))


if __name__ == "__main__":
    print(json.dumps(_measure_here(sys.argv[2:], sys.argv[1])))
