"""Writing a run folder, and refusing to mix two runs in one."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

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
from assay.results.records import build_sample_record

MANIFEST = "manifest.json"
JOURNAL = "responses.jsonl"
SAMPLES = "samples.jsonl"
SCORES = "scores.jsonl"
SUMMARY = "summary.json"
REPORT = "report.md"
HTML_REPORT = "report.html"

_encoder = msgspec.json.Encoder()


class RunFolder:
    """The folder of one run, held by one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    def claim(self, manifest: RunManifest, own: Path | None = None) -> RunManifest | None:
        """Take the folder for this run; return the manifest of its earlier start, if there was one.

        A folder that holds something else is left untouched. `own`: where the manifest of the run itself
        lies, if its answers were scored again since.
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
        """Rename the folder of a run, so that a fresh start loses nothing; return its new place.

        A folder without a run stays, and the result is None.
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
                        f"the folder holds another run: {_describe_difference(earlier, manifest)}",
                        "choose another --out, or leave it away: each run then has a folder of its own",
                        Origin(str(self.path)),
                    )
                )
            return earlier
        # A process that was killed, or found no room, while it wrote the first manifest left its draft.
        draft = draft_path(self.path / MANIFEST).name
        if others := sorted(found.name for found in self.path.iterdir() if found.name != draft):
            raise StoreError(
                Problem(
                    "STORE-002",
                    f"the folder is not empty and holds no run: it has {listing(others[:3])}",
                    "choose another --out, or an empty folder",
                    Origin(str(self.path)),
                )
            )
        return None

    def write_manifest(self, manifest: RunManifest) -> None:
        """Store the manifest; a reader sees the old one or the new one, never half."""
        self._replace(MANIFEST, msgspec.json.format(_encoder.encode(manifest), indent=1) + b"\n")

    def write_summary(self, metrics: Sequence[Metric]) -> None:
        """Store the numbers as a list of rows."""
        self._replace(SUMMARY, msgspec.json.format(_encoder.encode(metrics), indent=1) + b"\n")

    def write_report(self, text: str) -> None:
        """Store the report."""
        self._replace(REPORT, text.encode())

    def drop_results(self) -> None:
        """Take away what an earlier start came to, where answers are not scored now."""
        for name in (SUMMARY, REPORT, HTML_REPORT):
            (self.path / name).unlink(missing_ok=True)

    def delete(self, forget: Callable[[], object]) -> None:
        """Remove the run and all that was kept with it, unless a process is writing it.

        `forget` is called first, while the folder is held; where it raises, the run stays.
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
        """Let another process take the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def lock(self) -> None:
        """Keep other processes from writing here until `release`."""
        self._lock = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.release()
            raise StoreError(
                Problem(
                    "STORE-003",
                    "another process is writing this run",
                    "wait for it, end it, or choose another --out",
                    Origin(str(self.path)),
                )
            ) from error

    def _replace(self, name: str, content: bytes) -> None:
        with replacing_file(self.path / name) as file:
            file.write(content)


_FLUSH_EVERY_S = 1.0
"""Who looks on while a run goes on sees samples so late at most, as long as others end."""


class ScoreWriter:
    """Scores of finished samples, streamed into scores.jsonl."""

    def __init__(self, folder: Path) -> None:
        self._scores = begin_file(folder / SCORES)
        self._flushed = time.monotonic()

    def write(self, task: str, sample: Sample, requests: Sequence[Request], scores: Sequence[Score]) -> None:
        """Append the scores of one finished sample."""
        self.write_scores(scores)

    def write_scores(self, scores: Sequence[Score]) -> None:
        """Append scores of a sample that was written before, or is being written."""
        for score in scores:
            self._scores.write(_encoder.encode(score) + b"\n")
        now = time.monotonic()
        if now - self._flushed > _FLUSH_EVERY_S:
            self._flushed = now
            self.flush()

    def flush(self) -> None:
        """Show what was written to those who look on."""
        self._scores.flush()

    def close(self) -> None:
        """Write what is left."""
        self._scores.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SampleWriter(ScoreWriter):
    """Finished samples, streamed into samples.jsonl and scores.jsonl."""

    def __init__(self, folder: Path, media: MediaStore | None = None) -> None:
        """Write into a folder; without `media`, what prompts show beside text is named there and not kept."""
        super().__init__(folder)
        self._media = media
        self._samples = begin_file(folder / SAMPLES)

    def write(self, task: str, sample: Sample, requests: Sequence[Request], scores: Sequence[Score]) -> None:
        """Append one finished sample."""
        if self._media is not None:
            self._media.keep(requests)
        self._samples.write(_encoder.encode(build_sample_record(task, sample, requests)) + b"\n")
        self.write_scores(scores)

    def flush(self) -> None:
        """Show what was written to those who look on."""
        self._samples.flush()
        super().flush()

    def close(self) -> None:
        """Write what is left."""
        self._samples.close()
        super().close()


def read_manifest(folder: Path) -> RunManifest | None:
    """Return a folder's manifest, or None when it has none."""
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
                "it is damaged, or comes from another version of Assay: choose another folder, "
                "or archive this one and start over with `assay run ... --fresh`",
                Origin(str(path)),
            )
        ) from error


def read_summary(folder: Path) -> list[Metric]:
    """Return a folder's numbers; none where it has none yet."""
    path = folder / SUMMARY
    if not path.is_file():
        return []
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Metric])
    except (*DECODE_ERRORS, OSError) as error:
        raise build_damage_error(path, error) from error


def _is_same_run(earlier: RunManifest, now: RunManifest) -> bool:
    """Whether one run may go on as the other; answers that are not scored yet were given to no judge."""
    if earlier.fingerprint == now.fingerprint:
        return True
    return earlier.status is RunStatus.ANSWERED and earlier.fingerprint == run_fingerprint(
        now.tasks, now.model
    )


def _describe_difference(earlier: RunManifest, now: RunManifest) -> str:
    """Say in words what sets two runs apart."""
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
            return f"the server reported {then or 'no model'}, and reports {since or 'no model'} now"
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
            return f"its task {before.name!r} was set up in another way (methods {', '.join(before.methods)})"
    return f"it has {len(earlier.tasks)} tasks, not {len(now.tasks)}"
