"""The formats of logs that Assay reads and writes: one entry per format, found by content or by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from assay.core.errors import Problem, StoreError, UsageError, listing, suggest_name
from assay.core.origin import Origin
from assay.results.exchange.imported import ImportedRun
from assay.results.read import StoredRun
from assay.results.store import MANIFEST

_MODULES = {
    "lm-eval": "assay.results.exchange.lm_eval",
    "inspect": "assay.results.exchange.inspect_ai",
    "every-eval-ever": "assay.results.exchange.every_eval_ever",
    "opencompass": "assay.results.exchange.opencompass",
    "aisbench": "assay.results.exchange.aisbench",
    "hf-eval-results": "assay.results.exchange.hf_eval_results",
    "parquet": "assay.results.exchange.parquet_table",
    "csv": "assay.results.exchange.csv_table",
}
"""The modules that define a `FORMAT`, in the order in which they look at a log: strict formats first."""


class LogFormat(NamedTuple):
    """One format of logs."""

    name: str
    """As in `--from` and `--to`."""
    title: str
    """The program and its files, for people."""
    find_mismatch: Callable[[Path], str | None] | None = None
    """Return why a path is not such a log, in a few words; None if it is one. Reads little and never raises
    for content. None: the format cannot be imported."""
    read: Callable[[Path], ImportedRun] | None = None
    """Read a log of this format; raise a StoreError with a LOG code if it is damaged or has several runs."""
    write: Callable[[StoredRun, Path], Sequence[Path]] | None = None
    """Write a run to a path and return the files; None: the format cannot be exported."""
    suffix: str = ""
    """The end of the file name that `write` is given by default; empty: it writes a folder."""


def list_formats() -> list[LogFormat]:
    """Return all formats, in the order in which they are tried."""
    return [_load(name) for name in _MODULES]


def find_format(name: str, *, to_write: bool = False) -> LogFormat:
    """Return a format by name; raise if there is none, or if it only works the other way."""
    able = [one for one in list_formats() if (one.write if to_write else one.read) is not None]
    for one in able:
        if one.name == name:
            return one
    flag = "--to" if to_write else "--from"
    names = [one.name for one in able]
    what = f"{flag} {name!r} is not a format that Assay {'writes' if to_write else 'reads'}"
    raise UsageError(Problem("LOG-007", f"{what}{suggest_name(name, names)}", f"use one of {listing(names)}"))


def detect_format(path: Path) -> LogFormat:
    """Return the format of a log by its content; raise an error that lists what was tried."""
    if not path.exists():
        raise StoreError(
            Problem("LOG-001", "there is no such file or folder", "check the path", Origin(str(path)))
        )
    if (path / MANIFEST).is_file():
        raise StoreError(
            Problem(
                "LOG-002",
                "this is already a run folder of Assay",
                f"use it without importing it: assay report {path}",
                Origin(str(path)),
            )
        )
    tried: list[str] = []
    for one in list_formats():
        if one.find_mismatch is None:
            continue
        if (why := one.find_mismatch(path)) is None:
            return one
        tried.append(f"{one.name} ({why})")
    raise StoreError(
        Problem(
            "LOG-002",
            f"this is not a log that Assay can read; tried {'; '.join(tried)}",
            "name the file or the folder that the other program wrote, or its format with --from",
            Origin(str(path)),
        )
    )


def _load(name: str) -> LogFormat:
    found: LogFormat = import_module(_MODULES[name]).FORMAT
    return found
