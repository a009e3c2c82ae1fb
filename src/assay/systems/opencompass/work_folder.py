"""The work folder of an OpenCompass or AISBench command.

WORK_DIR/YYYYmmdd_HHMMSS/
    configs/ predictions/ results/ summary/     as the originals write them
    performances/                               as AISBench writes them
    runs/MODEL/RUN/                             Assay's own runs, one folder for each model
    bench/MODEL/LOAD/                           Assay's own benchmarks, as `assay bench` stores them
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from pprint import pformat
from typing import Any

from assay.bench.folder import MANIFEST as BENCH_MANIFEST
from assay.bench.folder import SUMMARY
from assay.core.errors import Problem, StoreError, listing, suggest_name
from assay.core.origin import Origin
from assay.dialects.openicl.config.symbol import Symbol
from assay.results.output_folder import require_writable
from assay.results.read import StoredRun, list_readable_runs
from assay.results.store import MANIFEST
from assay.systems.opencompass.result_files import to_relative_path

LATEST = "latest"
RUNS = "runs"
BENCHES = "bench"
_STAMP = "%Y%m%d_%H%M%S"
_SECRETS = ("key", "api_key", "keys", "token")


class WorkFolder:
    """One work folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stamp = path.name

    @classmethod
    def create(cls, work_dir: Path) -> WorkFolder:
        """Create a folder for a new command; commands of the same second get different ones."""
        require_writable(work_dir, "--work-dir")
        stamp = time.strftime(_STAMP)
        number = 0
        while True:
            path = work_dir / (stamp if not number else f"{stamp}_{number}")
            try:
                path.mkdir(parents=True)
            except FileExistsError:
                number += 1
                continue
            return cls(path)

    @classmethod
    def earlier(cls, work_dir: Path, stamp: str, *, is_timed: bool = False) -> WorkFolder:
        """Return a folder by its time, or the latest one with a run or, if `is_timed`, a benchmark."""
        there = sorted(path.name for path in work_dir.iterdir() if path.is_dir()) if work_dir.is_dir() else []
        if stamp == LATEST and there:
            # A command that failed immediately left a folder without a run.
            pattern = f"{BENCHES}/*/**/{SUMMARY}" if is_timed else f"{RUNS}/*/*/{MANIFEST}"
            begun = [name for name in there if any((work_dir / name).glob(pattern))]
            return cls(work_dir / (begun or there)[-1])
        if stamp in there:
            return cls(work_dir / stamp)
        existing = f"there are {listing(there[-6:])}" if there else "there are no runs"
        what = f"there is no earlier run {stamp!r}{suggest_name(stamp, there)}; {existing}"
        fix = "name an existing run, or remove --reuse"
        raise StoreError(Problem("STORE-005", what, fix, Origin(str(work_dir))))

    def get_runs_folder(self, model: str) -> Path:
        """Return the folder of a model's runs."""
        return self.path / RUNS / to_relative_path(model.replace("/", "_"))

    def get_bench_folder(self, model: str, load: str) -> Path:
        """Return the folder of a model's benchmark with one load."""
        return self.path / BENCHES / to_relative_path(model.replace("/", "_")) / to_relative_path(load)

    def benches(self) -> list[Path]:
        """Return all benchmarks in this folder."""
        return sorted(path.parent for path in (self.path / BENCHES).glob(f"*/**/{BENCH_MANIFEST}"))

    def last_run(self, model: str, *, is_complete: bool = False) -> StoredRun | None:
        """Return the latest run of a model, or the latest finished one."""
        runs, problems = list_readable_runs(self.get_runs_folder(model))
        for run in reversed(runs):
            if not is_complete or run.manifest.status.is_finished:
                return run
        if problems:
            raise StoreError(problems)
        return None

    def models(self) -> list[str]:
        """Return the models that have runs in this folder."""
        root = self.path / RUNS
        return sorted(path.name for path in root.iterdir() if path.is_dir()) if root.is_dir() else []

    def write_config(self, values: Mapping[str, Any]) -> None:
        """Write the config of the command, without secret keys."""
        folder = self.path / "configs"
        folder.mkdir(exist_ok=True)
        text = "\n".join(
            f"{name} = {pformat(_to_literal(value), width=110)}" for name, value in values.items()
        )
        (folder / f"{time.strftime(_STAMP)}.py").write_text(text + "\n", encoding="utf-8")


def _to_literal(value: Any) -> Any:
    """Return a config value that can be read back: code by its dotted name."""
    if isinstance(value, Mapping):
        return {
            key: "(hidden)" if key in _SECRETS and one not in ("", "ENV", None) else _to_literal(one)
            for key, one in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_to_literal(one) for one in value]
    if isinstance(value, Symbol) or not isinstance(value, str | int | float | bool | None):
        return repr(value) if isinstance(value, Symbol) else getattr(value, "__qualname__", repr(value))
    return value
