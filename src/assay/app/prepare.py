"""Prepare data with a dataset folder's own script: run `make_dataset.py` and report the result.

A script is the person's own program: it runs unchanged in its own process, and only `assay prepare` runs it.
Assay does not care what it reads and how it writes rows; it only looks at the traceback and the files in
`data` afterwards.
"""

from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from assay.app.dataset_state import DatasetState
from assay.app.offline.seal import SealError, seal_thread
from assay.core.errors import OfflineError, Problem, UsageError, suggest_name
from assay.core.origin import Origin

SCRIPT = "make_dataset.py"
_DATASETS = "datasets"
_DATA = "data"
_RAW = "RawData"
_LINES_SHOWN = 5
_MISSING = re.compile(r"^FileNotFoundError: \[Errno 2\] [^:]*: (?P<path>(['\"]).*\2)$")


class Change(StrEnum):
    """What a script did to one file."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "as before"


class DataFile(NamedTuple):
    """A file that a script wrote."""

    path: Path
    n_rows: int
    change: Change


class PreparedDataset(NamedTuple):
    """One dataset folder, and the result of its script."""

    folder: Path
    state: DatasetState
    files: tuple[DataFile, ...] = ()
    n_raw_rows: int | None = None
    """Rows of the only raw file, if each of them yields at most one row of data."""
    problem: Problem | None = None
    """The data it needs, or what is wrong."""

    @property
    def n_rows(self) -> int:
        """Return the number of rows in all written files."""
        return sum(file.n_rows for file in self.files)

    @property
    def n_left_out(self) -> int:
        """Return the number of raw rows that the script omitted silently, as far as is known."""
        return 0 if self.n_raw_rows is None else max(0, self.n_raw_rows - self.n_rows)


def find_script_folders(names: Sequence[str]) -> list[Path]:
    """Return the folders with a script that these names mean: dataset folders, or all of a checkout."""
    return [folder for name in names for folder in _find_folders(Path(name))]


def _find_folders(folder: Path) -> list[Path]:
    if (folder / SCRIPT).is_file():
        return [folder]
    for pattern in (f"{_DATASETS}/*/{SCRIPT}", f"*/{SCRIPT}"):
        if scripts := sorted(folder.glob(pattern)):
            return [script.parent for script in scripts]
    if not folder.is_dir():
        beside = [path.name for path in folder.parent.glob("*") if path.is_dir()]
        what = f"the folder {str(folder)!r} does not exist{suggest_name(folder.name, beside)}"
        raise UsageError(Problem("PREPARE-001", what, "check the path"))
    what = f"there is no {SCRIPT} in {str(folder)!r} or in the folders below it"
    fix = "name a dataset folder that contains one, a `datasets` folder, or a whole checkout"
    raise UsageError(Problem("PREPARE-001", what, fix))


def disable_network() -> None:
    """Permanently remove the network from this thread and from the scripts that it starts."""
    try:
        seal_thread()
    except SealError as why:
        what = f"scripts run as separate programs, which this system cannot keep offline: {why}"
        raise OfflineError(Problem("OFFLINE-002", what, "prepare the data without --offline")) from None


def prepare(folders: Sequence[Path]) -> Iterator[PreparedDataset]:
    """Run the script of each folder and yield its result."""
    for folder in folders:
        yield _prepare_folder(folder)


class _ScriptExit(NamedTuple):
    """The exit status and output of a script."""

    status: int
    output: str


class _Stamp(NamedTuple):
    """Shows whether a file was written, and whether its content changed."""

    written_ns: int
    content: bytes


def _prepare_folder(folder: Path) -> PreparedDataset:
    script = folder / SCRIPT
    before = _stamps(folder / _DATA)
    elsewhere = _find_hyphenated_path(folder)
    elsewhere_before = _stamps(elsewhere) if elsewhere else {}
    ended = _run(script)
    files = tuple(_find_written_files(folder / _DATA, before))
    if elsewhere is not None and (
        _missing_file(ended, elsewhere) is not None or _stamps(elsewhere) != elsewhere_before
    ):
        return PreparedDataset(
            folder, DatasetState.ERROR, files, problem=_build_wrong_folder_problem(folder, elsewhere)
        )
    if ended.status != 0:
        return _explain_failure(folder, ended, files)
    if not any(file.n_rows for file in files):
        return PreparedDataset(
            folder, DatasetState.NEEDS_DATA, files, problem=_build_no_rows_problem(folder, files)
        )
    return PreparedDataset(
        folder, DatasetState.OK, files, n_raw_rows=_raw_rows(script) if len(files) == 1 else None
    )


def _run(script: Path) -> _ScriptExit:
    script = script.resolve()
    datasets = script.parents[1]
    is_in_checkout = datasets.name == _DATASETS
    # A fixed hash seed keeps the order of sets that a script writes; files opened without encoding are UTF-8.
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=datasets.parent if is_in_checkout else script.parent,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return _ScriptExit(done.returncode, done.stdout.decode("utf-8", errors="replace"))


def _stamps(data: Path) -> dict[Path, _Stamp]:
    return {path: _stamp(path) for path in sorted(data.rglob("*")) if path.is_file()}


def _stamp(path: Path) -> _Stamp:
    content = blake2b(digest_size=16)
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            content.update(part)
    return _Stamp(path.stat().st_mtime_ns, content.digest())


def _find_written_files(data: Path, before: dict[Path, _Stamp]) -> Iterator[DataFile]:
    for path, stamp in _stamps(data).items():
        earlier = before.get(path)
        if stamp != earlier:
            is_same = earlier is not None and stamp.content == earlier.content
            change = Change.SAME if is_same else Change.NEW if earlier is None else Change.CHANGED
            yield DataFile(path, _count_rows(path), change)


def _count_rows(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for line in file if line.strip())


def _explain_failure(folder: Path, ended: _ScriptExit, files: tuple[DataFile, ...]) -> PreparedDataset:
    missing = _missing_file(ended)
    if missing is None or missing.is_relative_to((folder / _DATA).resolve()):
        return PreparedDataset(
            folder, DatasetState.ERROR, files, problem=_build_script_problem(folder, ended, files)
        )
    what = f"{SCRIPT} reads {_format_path(missing)!r}, which does not exist"
    place = Origin(str(folder / SCRIPT), line=_failing_line(folder, ended))
    problem = Problem("PREPARE-002", what, _suggest_raw_files(folder, missing), where=place)
    return PreparedDataset(folder, DatasetState.NEEDS_DATA, files, problem=problem)


def _missing_file(ended: _ScriptExit, inside: Path | None = None) -> Path | None:
    """Return the file whose absence stopped a script, if that is the cause and it belongs in `inside`."""
    if ended.status == 0 or not (lines := ended.output.strip().splitlines()):
        return None
    if (match := _MISSING.match(lines[-1])) is None:
        return None
    path = Path(os.path.normpath(ast.literal_eval(match["path"])))
    return path if inside is None or path.parent == inside else None


def _build_script_problem(folder: Path, ended: _ScriptExit, files: tuple[DataFile, ...]) -> Problem:
    how = (
        f"exit status {ended.status}" if ended.status > 0 else f"signal {signal.Signals(-ended.status).name}"
    )
    lines = [line for line in ended.output.splitlines() if line.strip()][-_LINES_SHOWN:]
    last_lines = "".join(f"\n    {line}" for line in lines) if lines else "\n    (no output)"
    incomplete = (
        f"; these files may be incomplete: {', '.join(_format_path(file.path) for file in files)}"
        if files
        else ""
    )
    return Problem(
        "PREPARE-003",
        f"{SCRIPT} failed with {how}{incomplete}; its last lines:{last_lines}",
        f"fix the script or the raw files it reads; `python {folder / SCRIPT}` shows its whole output",
        where=Origin(str(folder / SCRIPT), line=_failing_line(folder, ended)),
    )


def _failing_line(folder: Path, ended: _ScriptExit) -> int | None:
    """Return the line of the script at which its traceback ends."""
    script = re.escape(str((folder / SCRIPT).resolve()))
    lines = re.findall(rf'^  File "{script}", line (\d+)', ended.output, re.MULTILINE)
    return int(lines[-1]) if lines else None


def _build_no_rows_problem(folder: Path, files: Sequence[DataFile]) -> Problem:
    emptied = [_format_path(file.path) for file in files if file.change is Change.CHANGED]
    lost = f"; it emptied {', '.join(emptied)}" if emptied else ""
    what = f"{SCRIPT} succeeded but wrote no rows; it probably found no raw files"
    return Problem(
        "PREPARE-004", what + lost, _suggest_raw_files(folder, None), where=Origin(str(folder / SCRIPT))
    )


def _suggest_raw_files(folder: Path, missing: Path | None) -> str:
    if missing is not None:
        return f"put the raw files there and run `assay prepare {folder}` again"
    named = set(_raw_paths(folder / SCRIPT))
    raw = _format_path(min(named)) if named else f"{_RAW}/{folder.resolve().name}"
    return f"put the raw files under {raw} and run `assay prepare {folder}` again"


def _find_hyphenated_path(folder: Path) -> Path | None:
    """Return where a script writes that replaces every _ in its output's whole path, if that differs."""
    data = str((folder / _DATA).resolve())
    hyphenated = data.replace("_", "-")
    return Path(hyphenated) if hyphenated != data else None


def _build_wrong_folder_problem(folder: Path, elsewhere: Path) -> Problem:
    data = (folder / _DATA).resolve()
    what = (
        f"{SCRIPT} writes to {str(elsewhere)!r} instead of {str(data)!r}: it replaces every '_' in the "
        "whole path by '-'"
    )
    fix = "move the checkout to a folder whose path has no '_' and prepare it there"
    return Problem("PREPARE-005", what, fix, where=Origin(str(folder / SCRIPT)))


def _raw_paths(script: Path) -> Iterator[Path]:
    """Yield the raw files and folders that a script's code names."""
    try:
        tree = ast.parse(script.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and f"{_RAW}/" in node.value:
            yield Path(os.path.normpath(script.parent.resolve() / node.value))


def _raw_rows(script: Path) -> int | None:
    """Return the rows of the only raw file a script names, if it has one JSON object per line."""
    named = list(_raw_paths(script))
    if len(named) != 1 or not named[0].is_file():
        return None
    with named[0].open("rb") as file:
        first = file.readline().strip()
    return _count_rows(named[0]) if first.startswith(b"{") and first.endswith(b"}") else None


def _format_path(path: Path) -> str:
    """Return a path relative to the working folder, if it is below it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
