"""Reading run folders."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from assay.core.errors import Problem, StoreError, listing, suggest_name
from assay.core.origin import Origin
from assay.core.response import Response
from assay.core.run import RunManifest
from assay.core.score import Metric, Score
from assay.results.damaged_files import make_line_reader, make_skipping_reader
from assay.results.growing_file import Tail
from assay.results.records import SampleRecord
from assay.results.response_index import ResponseIndex
from assay.results.store import JOURNAL, MANIFEST, SAMPLES, SCORES, read_manifest, read_summary

T = TypeVar("T")


class StoredRun:
    """A stored run, read lazily."""

    def __init__(self, path: Path) -> None:
        self.path = path
        manifest = read_manifest(path)
        if manifest is None:
            raise StoreError(
                Problem("STORE-005", f"the folder has no {MANIFEST}", "name a run folder", Origin(str(path)))
            )
        self.manifest: RunManifest = manifest

    def metrics(self) -> list[Metric]:
        """Return the metrics; empty while the run is not complete."""
        return read_summary(self.path)

    def scores(self) -> Iterator[Score]:
        """Yield the scores in the dataset's order."""
        return _lines(self.path / SCORES, Score)

    def samples(self) -> Iterator[SampleRecord]:
        """Yield the samples in the dataset's order."""
        return _lines(self.path / SAMPLES, SampleRecord)

    def responses(self) -> Iterator[Response]:
        """Yield the responses in order of arrival; unreadable ones are skipped."""
        read = make_skipping_reader(Response)
        responses = (read(line) for _, line in Tail(self.path / JOURNAL).lines())
        return (response for response in responses if response is not None)

    def response_index(self) -> ResponseIndex:
        """Return the responses by request, for use in a `with` block."""
        return ResponseIndex(self.path / JOURNAL)

    def find_sample(self, wanted: str) -> SampleRecord:
        """Return a sample by its id, a prefix of its id, or its row number (`row:17`)."""
        row = int(wanted[4:]) if wanted.startswith("row:") and wanted[4:].isdecimal() else None
        near: SampleRecord | None = None
        n_near = 0
        ids: list[str] = []
        for record in self.samples():
            sample = record.sample
            if sample.id == wanted or (row is not None and sample.origin.row == row):
                return record
            if sample.id.startswith(wanted):
                near = near or record
                n_near += 1
            if len(ids) < 2_000:
                ids.append(sample.id)
        if near is not None and n_near == 1:
            return near
        found = (
            f"{n_near:,} samples have ids that begin with {wanted!r}"
            if n_near
            else f"the run has no sample {wanted!r}{suggest_name(wanted, ids)}"
        )
        raise StoreError(
            Problem(
                "STORE-006",
                f"{found}; the first ids are {listing(ids[:5])}",
                "give a sample id from scores.jsonl, or a row number such as row:17",
                Origin(str(self.path)),
            )
        )


def list_run_folders(root: Path) -> list[Path]:
    """Return the run folders under a root, oldest first."""
    if not root.is_dir():
        return []
    found: list[tuple[float, Path]] = []
    for folder in root.iterdir():
        try:
            manifest = (folder / MANIFEST).stat()
        except PermissionError:
            # It may contain a run: reading its manifest will report the error.
            found.append((0.0, folder))
        except OSError:
            continue
        else:
            if stat.S_ISREG(manifest.st_mode):
                found.append((manifest.st_mtime, folder))
    return [folder for _, folder in sorted(found)]


def list_readable_runs(root: Path) -> tuple[list[StoredRun], list[Problem]]:
    """Return the runs under a root, oldest first, and the problems of unreadable ones."""
    runs: list[StoredRun] = []
    problems: list[Problem] = []
    for folder in list_run_folders(root):
        try:
            runs.append(StoredRun(folder))
        except StoreError as error:
            # A damaged run must not hide the others.
            problems += error.problems
    return runs, problems


def _lines(path: Path, kind: type[T]) -> Iterator[T]:
    if not path.is_file():
        return
    read = make_line_reader(path, kind)
    # A run that is in progress or was killed may end in an incomplete line, which Tail omits.
    for place, line in Tail(path).lines():
        yield read(place, line)
