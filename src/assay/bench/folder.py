"""The folder of a benchmark: what was asked, every call as it ended, and what the calls say.

    bench.json              what was asked, of whom, when and with which versions; written first
    requests.jsonl          one line for each call, in the order in which they ended
    summary.json            the numbers; not there while the load goes on
    trials/01-8/...         of a ladder or a search: the calls of each level

The name `bench.json` keeps the folder apart from those of evaluations, which have a `manifest.json`.
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
    """What was asked, and of whom."""

    id: str
    model: str
    """As the person named it, without secrets."""
    items: dict[str, Any]
    """Where the items come from and how they are made."""
    load: Load
    """Of a ladder or a search: what all levels have in common."""
    limits: LoadLimits
    n_warm_up: int
    seed: int
    settings: dict[str, Setting]
    versions: dict[str, str]
    started: str
    """UTC, ISO 8601."""
    schema_version: int = SCHEMA_VERSION


class BenchResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a benchmark came to: `summary.json`."""

    driven: LoadResult | None = None
    """What was sent, and how well the client kept to the load; of a sweep each trial has its own."""
    summary: BenchSummary | None = None
    """What the calls say, over the whole load."""
    steady: BenchSummary | None = None
    """What they say in the steady window."""
    not_steady: str = ""
    """Why there is no steady window."""
    swept: SweepResult | None = None
    """Of a ladder or a search: the trials."""
    is_partial: bool = False
    """Whether a person ended it."""
    finished: str
    """UTC, ISO 8601."""
    notes: tuple[str, ...] = ()


class BenchFolder:
    """A new folder, or an empty one."""

    def __init__(self, path: Path) -> None:
        if path.is_dir() and any(found.name != _format_draft_name(MANIFEST) for found in path.iterdir()):
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
        """Store what was asked; where nothing can be written, this is when it shows."""
        try:
            self._replace(MANIFEST, manifest)
        except OSError as error:
            raise _build_unwritable_error(self.path, error) from None

    def write_result(self, result: BenchResult) -> None:
        """Store the numbers; a reader sees all of them or none."""
        self._replace(SUMMARY, result)

    def requests(self, trial: str | None = None) -> Path:
        """Return where the calls of the load, or of one trial, are written."""
        if trial is None:
            return self.path / REQUESTS
        folder = self.path / TRIALS / trial
        folder.mkdir(parents=True)
        return folder / REQUESTS

    def _replace(self, name: str, content: object) -> None:
        draft = self.path / _format_draft_name(name)
        # A killed process may have left one; a link of that name must not be written through.
        draft.unlink(missing_ok=True)
        with open(draft, "xb") as file:
            file.write(msgspec.json.format(_encoder.encode(content), indent=1) + b"\n")
        draft.replace(self.path / name)


def _format_draft_name(name: str) -> str:
    """Return the name under which a file is written before it replaces the file of that name."""
    return f".{name}.new"


def _build_unwritable_error(path: Path, error: OSError) -> StoreError:
    what = f"cannot create the folder or write to it: {error.strerror}"
    return StoreError(Problem("STORE-011", what, "choose another --out", Origin(str(path))))


class RecordWriter:
    """Calls, written as they end. What is flushed survives the process."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "xb")  # noqa: SIM115 (closed by __exit__)

    def write(self, record: CallRecord) -> None:
        """Append one call."""
        self._file.write(_encoder.encode(record) + b"\n")

    def flush(self) -> None:
        """Hand over what is written so far."""
        self._file.flush()

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def get_records_path(folder: Path) -> Path:
    """Return where the calls of a load, or of a trial, are."""
    return folder / REQUESTS


def read_records(path: Path) -> Iterator[CallRecord]:
    """Yield the calls of a file; a last line that was torn when its process was killed is left out."""
    decoder = msgspec.json.Decoder(CallRecord)
    with open(path, "rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                yield decoder.decode(line)
