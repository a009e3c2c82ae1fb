"""Writing a run folder, with a lock and a check that it never mixes two runs."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from assay.core.errors import Problem, StoreError, listing
from assay.core.origin import Origin
from assay.core.request import Request
from assay.core.run import RunManifest, RunStatus, run_fingerprint
from assay.core.sample import Sample
from assay.core.score import Metric, Score
from assay.results.damaged_files import DECODE_ERRORS, build_damage_error
from assay.results.draft_file import begin_file, draft_path, replacing_file
from assay.results.media_store import MediaStore
from assay.results.output_folder import build_not_writable_error
from assay.results.records import SampleRecord, build_sample_record

MANIFEST = "manifest.json"
JOURNAL = "responses.jsonl"
SAMPLES = "samples.jsonl"
SCORES = "scores.jsonl"
SUMMARY = "summary.json"
REPORT = "report.md"
HTML_REPORT = "report.html"
TRACE = "trace.json"

_encoder = msgspec.json.Encoder()


class RunFolder:
    """The folder of one run, locked by one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    def claim(self, manifest: RunManifest, own: Path | None = None) -> RunManifest | None:
        """Lock the folder for this run; return the manifest of its earlier start, if there was one.

        A folder with other content stays untouched. `own` is the folder of the run's own manifest, if the run
        was rescored.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise build_not_writable_error(self.path, error) from error
        self.lock()
        try:
            return self._check_earlier_run(manifest, own)
        except BaseException:
            self.release()
            raise

    def archive(self) -> Path | None:
        """Rename the folder of a run, so that a fresh start loses nothing; return its new path.

        Return None and leave the folder if it contains no run.
        """
        if not (self.path / MANIFEST).is_file():
            return None
        self.lock()
        try:
            number = 1
            while (archived := self.path.with_name(f"{self.path.name}.old-{number}")).exists():
                number += 1
            return self.path.rename(archived)
        finally:
            self.release()

    def _check_earlier_run(self, manifest: RunManifest, own: Path | None) -> RunManifest | None:
        earlier = read_manifest(own or self.path)
        if earlier is not None:
            if not _is_same_run(earlier, manifest):
                raise StoreError(
                    Problem(
                        "STORE-001",
                        f"the folder contains another run: {_describe_difference(earlier, manifest)}",
                        "choose another --out, or omit it: each run then gets its own folder",
                        Origin(str(self.path)),
                    )
                )
            return earlier
        # A process that was killed while writing the first manifest left its draft.
        draft = draft_path(self.path / MANIFEST).name
        if others := sorted(found.name for found in self.path.iterdir() if found.name != draft):
            raise StoreError(
                Problem(
                    "STORE-002",
                    f"the folder is not empty and contains no run: it has {listing(others[:3])}",
                    "choose another --out, or an empty folder",
                    Origin(str(self.path)),
                )
            )
        return None

    def write_manifest(self, manifest: RunManifest) -> None:
        """Write the manifest; a reader sees the old one or the new one, never a part."""
        self._replace(MANIFEST, msgspec.json.format(_encoder.encode(manifest), indent=1) + b"\n")

    def write_summary(self, metrics: Sequence[Metric]) -> None:
        """Write the metrics."""
        self._replace(SUMMARY, msgspec.json.format(_encoder.encode(metrics), indent=1) + b"\n")

    def write_report(self, text: str) -> None:
        """Write the report."""
        self._replace(REPORT, text.encode())

    def write_trace(self, trace: Mapping[str, Any]) -> None:
        """Write where the time went, as events for Perfetto or Chrome."""
        self._replace(TRACE, msgspec.json.encode(trace))

    def drop_results(self) -> None:
        """Remove the results of an earlier start, when the answers are not scored now."""
        for name in (SUMMARY, REPORT, HTML_REPORT):
            (self.path / name).unlink(missing_ok=True)

    def delete(self, forget: Callable[[], object]) -> None:
        """Delete the run folder, unless a process is writing it.

        `forget` is called first, while the folder is locked; if it raises, the folder stays.
        """
        if not self.path.is_dir():
            forget()
            return
        self.lock()
        try:
            forget()
            shutil.rmtree(self.path)
        finally:
            self.release()

    def release(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def lock(self) -> None:
        """Lock the folder against other processes until `release`."""
        self._lock = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.release()
            raise StoreError(
                Problem(
                    "STORE-003",
                    "another process is writing this run",
                    "wait for it, stop it, or choose another --out",
                    Origin(str(self.path)),
                )
            ) from error

    def _replace(self, name: str, content: bytes) -> None:
        with replacing_file(self.path / name) as file:
            file.write(content)


_FLUSH_EVERY_S = 1.0
"""Maximum delay until a viewer sees a finished sample, while further samples finish."""


class ScoreWriter:
    """Streams the scores of finished samples into scores.jsonl."""

    def __init__(self, folder: Path) -> None:
        self._scores = begin_file(folder / SCORES)
        self._flushed = time.monotonic()

    def write(self, task: str, sample: Sample, requests: Sequence[Request], scores: Sequence[Score]) -> None:
        """Append the scores of one finished sample."""
        self.write_scores(scores)

    def write_scores(self, scores: Sequence[Score]) -> None:
        """Append scores."""
        for score in scores:
            self._scores.write(_encoder.encode(score) + b"\n")
        now = time.monotonic()
        if now - self._flushed > _FLUSH_EVERY_S:
            self._flushed = now
            self.flush()

    def flush(self) -> None:
        """Flush the files, so that viewers see what was written."""
        self._scores.flush()

    def close(self) -> None:
        """Close the files."""
        self._scores.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SampleWriter(ScoreWriter):
    """Streams finished samples into samples.jsonl and scores.jsonl."""

    def __init__(self, folder: Path, media: MediaStore | None = None) -> None:
        """Write into a folder; without `media`, images, audio and video are named but not stored."""
        super().__init__(folder)
        self._media = media
        self._samples = begin_file(folder / SAMPLES)

    def write(self, task: str, sample: Sample, requests: Sequence[Request], scores: Sequence[Score]) -> None:
        """Append one finished sample."""
        if self._media is not None:
            self._media.keep(requests)
        self.write_record(build_sample_record(task, sample, requests), scores)

    def write_record(self, record: SampleRecord, scores: Sequence[Score]) -> None:
        """Append one finished sample in its stored form."""
        self._samples.write(_encoder.encode(record) + b"\n")
        self.write_scores(scores)

    def flush(self) -> None:
        """Flush the files, so that viewers see what was written."""
        self._samples.flush()
        super().flush()

    def close(self) -> None:
        """Close the files."""
        self._samples.close()
        super().close()


def read_manifest(folder: Path) -> RunManifest | None:
    """Return a folder's manifest, or None if it has none."""
    path = folder / MANIFEST
    try:
        if not path.is_file():
            return None
        return msgspec.json.decode(path.read_bytes(), type=RunManifest)
    except (*DECODE_ERRORS, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise StoreError(
            Problem(
                "STORE-004",
                f"the manifest cannot be read: {why}",
                "it is damaged or from another version of Assay: choose another folder, "
                "or archive this one and start over with `assay run ... --fresh`",
                Origin(str(path)),
            )
        ) from error


def read_summary(folder: Path) -> list[Metric]:
    """Return a folder's metrics; empty if it has none yet."""
    path = folder / SUMMARY
    if not path.is_file():
        return []
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Metric])
    except (*DECODE_ERRORS, OSError) as error:
        raise build_damage_error(path, error) from error


def _is_same_run(earlier: RunManifest, now: RunManifest) -> bool:
    """Whether one run may resume the other; answers that are not scored yet do not depend on the judge."""
    if earlier.fingerprint == now.fingerprint:
        return True
    return earlier.status is RunStatus.ANSWERED and earlier.fingerprint == run_fingerprint(
        now.tasks, now.model
    )


def _describe_difference(earlier: RunManifest, now: RunManifest) -> str:
    """Describe the first difference between two runs."""
    if earlier.model.deciding != now.model.deciding:
        if earlier.model.name != now.model.name:
            return f"its model is {earlier.model.name!r}, not {now.model.name!r}"
        changed = [
            name
            for name in earlier.model.__struct_fields__
            if name != "server" and getattr(earlier.model, name) != getattr(now.model, name)
        ]
        if changed == ["reported"]:
            then, since = earlier.model.reported, now.model.reported
            return f"the server reported {then or 'no model'} and now reports {since or 'no model'}"
        return f"its model {earlier.model.name!r} differs in {', '.join(changed)}"
    for before, after in zip(earlier.tasks, now.tasks, strict=False):
        if before.source != after.source and before.data_hash != after.data_hash:
            return f"its dataset is {before.source!r}, not {after.source!r}"
        if before.data_hash != after.data_hash:
            return f"the dataset {after.source!r} has changed since"
        for name in (*before.settings, *after.settings):
            if before.settings.get(name) != after.settings.get(name):
                return f"setting {name!r} was {before.settings.get(name)!r}, not {after.settings.get(name)!r}"
        if before != after:
            return f"its task {before.name!r} has another setup (methods {', '.join(before.methods)})"
    return f"it has {len(earlier.tasks)} tasks, not {len(now.tasks)}"
