"""Export a run in the format of another evaluation program: the data of `assay export`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.results.exchange.formats import LogFormat, find_format
from assay.results.exchange.log_files import build_log_error
from assay.results.exchange.stored_samples import require_exportable
from assay.results.read import StoredRun


def export_run(run: StoredRun, format_name: str, out: Path | None) -> tuple[LogFormat, Sequence[Path]]:
    """Write a run in a format; return the files.

    Without `out`, they are in the working folder and named after the run.
    """
    chosen = find_format(format_name, to_write=True)
    assert chosen.write is not None
    require_exportable(run)
    target = out or Path(f"{run.path.resolve().name}{chosen.suffix or f'-{chosen.name}'}")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise build_log_error(
            "LOG-008", "the output exists already", "choose another --out, or remove it", target
        )
    return chosen, chosen.write(run, target)
