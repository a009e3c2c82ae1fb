"""The folder of a benchmark: its settings, the record of every call, and the results.

    bench.json              settings, model, start time and versions; written first
    requests.jsonl          one line per call, in the order in which they ended
    summary.json            the results; written when the load has ended
    trials/01-8/...         the calls of each level of a sweep or a search

The name `bench.json` distinguishes the folder from those of evaluations, which have a `manifest.json`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from assay.bench.limits import LoadLimits
from assay.bench.load import Load
from assay.bench.load_result import LoadResult
from assay.bench.records import CallRecord
from assay.bench.summary import BenchSummary
from assay.bench.sweep import SweepResult
from assay.core.errors import Problem, StoreError
from assay.core.origin import Origin
from assay.core.run import Setting

MANIFEST = "bench.json"
REQUESTS = "requests.jsonl"
SUMMARY = "summary.json"
TRIALS = "trials"
SCHEMA_VERSION = 1

_encoder = msgspec.json.Encoder()


class BenchManifest(msgspec.Struct, frozen=True):
    """The settings of a benchmark: `bench.json`."""

    id: str
    model: str
    """As given on the command line, without secrets."""
    items: dict[str, Any]
    """Where the items come from and how they are generated."""
    load: Load
    """For a sweep or a search: what all levels have in common."""
    limits: LoadLimits
    n_warm_up: int
    seed: int
    settings: dict[str, Setting]
    versions: dict[str, str]
    started: str
    """UTC, ISO 8601."""
    schema_version: int = SCHEMA_VERSION


class BenchResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The results of a benchmark: `summary.json`."""

    driven: LoadResult | None = None
    """What was sent, and how well the client followed the schedule; each trial of a sweep has its own."""
    summary: BenchSummary | None = None
    """The metrics of the whole load."""
    steady: BenchSummary | None = None
    """The metrics of the steady window."""
    not_steady: str = ""
    """Why there is no steady window."""
    swept: SweepResult | None = None
    """The trials of a sweep or a search."""
    is_partial: bool = False
    """Whether it was interrupted."""
    finished: str
    """UTC, ISO 8601."""
    notes: tuple[str, ...] = ()


class BenchFolder:
    """A new folder, or an empty one."""

    def __init__(self, path: Path) -> None:
        if path.is_dir() and any(file.name != _format_draft_name(MANIFEST) for file in path.iterdir()):
            raise StoreError(
                Problem(
                    "STORE-002",
                    "the folder is not empty, and benchmarks cannot be resumed",
                    "choose another --out, or omit it: each benchmark then gets its own folder",
                    Origin(str(path)),
                )
            )
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _build_unwritable_error(path, error) from None
        self.path = path

    def write_manifest(self, manifest: BenchManifest) -> None:
        """Write `bench.json`; raise StoreError if the folder is not writable."""
        try:
            self._replace(MANIFEST, manifest)
        except OSError as error:
            raise _build_unwritable_error(self.path, error) from None

    def write_result(self, result: BenchResult) -> None:
        """Write `summary.json` atomically."""
        self._replace(SUMMARY, result)

    def requests(self, trial: str | None = None) -> Path:
        """Return the file for the calls of the load, or of one trial."""
        if trial is None:
            return self.path / REQUESTS
        folder = self.path / TRIALS / trial
        folder.mkdir(parents=True)
        return folder / REQUESTS

    def _replace(self, name: str, content: object) -> None:
        draft = self.path / _format_draft_name(name)
        # A killed process may have left a draft; do not write through a link of that name.
        draft.unlink(missing_ok=True)
        with open(draft, "xb") as file:
            file.write(msgspec.json.format(_encoder.encode(content), indent=1) + b"\n")
        draft.replace(self.path / name)


def _format_draft_name(name: str) -> str:
    """Return the temporary name of a file while it is written."""
    return f".{name}.new"


def _build_unwritable_error(path: Path, error: OSError) -> StoreError:
    what = f"cannot create the folder or write to it: {error.strerror}"
    return StoreError(Problem("STORE-011", what, "choose another --out", Origin(str(path))))


class RecordWriter:
    """Writes calls as they end. What is flushed survives the process."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "xb")  # noqa: SIM115 (closed by __exit__)

    def write(self, record: CallRecord) -> None:
        """Append one call."""
        self._file.write(_encoder.encode(record) + b"\n")

    def flush(self) -> None:
        """Pass what was written so far to the operating system."""
        self._file.flush()

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def get_records_path(folder: Path) -> Path:
    """Return the file with the calls of a load or a trial."""
    return folder / REQUESTS


def read_records(path: Path) -> Iterator[CallRecord]:
    """Yield the calls of a file, without an incomplete last line."""
    decoder = msgspec.json.Decoder(CallRecord)
    with open(path, "rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                yield decoder.decode(line)
