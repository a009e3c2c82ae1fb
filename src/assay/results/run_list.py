"""The list of runs in some folders, fast to update for thousands of runs, also while they grow.

Unchanged runs are not read again. A name is looked up in the list and never becomes a path; links that lead
out of a folder are not followed.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from assay.core.errors import Problem, StoreError
from assay.core.ids import digest
from assay.core.origin import Origin
from assay.core.run import RunManifest, RunStatus
from assay.core.score import Metric
from assay.results.pages.data import ScoreRow
from assay.results.pages.run_facts import build_score_rows
from assay.results.scoring_folders import find_parent_run
from assay.results.store import JOURNAL, MANIFEST, SAMPLES, SCORES, SUMMARY, read_manifest, read_summary
from assay.results.subset_families import group_by_family, select_headline_metrics

DAMAGED = "damaged"
"""The status of a run whose manifest or summary cannot be read."""
_FRESH_S = 0.5
"""A list younger than this is not rebuilt."""
_PIECE = 1 << 20
_FILES = (MANIFEST, SUMMARY, SAMPLES, SCORES, JOURNAL)


class ListedRun(msgspec.Struct, frozen=True):
    """A run as a list shows it."""

    name: str
    """The folder's name, with a number if two folders have the same name."""
    status: str
    """As in the manifest, or `damaged`."""
    changed: float
    """The time of the last write, in seconds since 1970."""
    model: str = ""
    judge: str | None = None
    datasets: tuple[str, ...] = ()
    started: str = ""
    finished: str | None = None
    seconds: float | None = None
    n_samples: int = 0
    """Samples that the run will have."""
    n_done: int = 0
    rows: tuple[ScoreRow, ...] = ()
    """The headline metrics; empty while the run is not complete."""
    fault: str | None = None
    """Why it cannot be read."""


class UnreadFolder(msgspec.Struct, frozen=True):
    """A folder of runs that cannot be read; the list does not contain its runs."""

    folder: str
    """Its name without the path, which visitors of the server must not see."""
    fault: str


class RunListing(NamedTuple):
    """A snapshot of the list."""

    revision: str
    """Changes whenever the list changes."""
    folders: dict[str, Path]
    """Each run's folder, by its name."""
    json: bytes
    """`{"revision": ..., "unread": [...], "runs": [...]}`, latest run first."""


class RunList:
    """The runs in some folders. Thread-safe."""

    def __init__(self, roots: Sequence[Path]) -> None:
        """List folders of runs, and folders that are runs themselves."""
        for root in roots:
            if not root.is_dir():
                raise StoreError(
                    Problem(
                        "STORE-005",
                        "the folder does not exist",
                        "name a folder of runs or a run; `assay run data.csv` creates both",
                        Origin(str(root)),
                    )
                )
            if not is_run_folder(root):
                next(_iter_folders(root), None)  # Raises if it cannot be read.
        self._roots = tuple(dict.fromkeys(root.resolve() for root in roots))
        self._entries: dict[str, _FolderState] = {}
        self._lock = threading.Lock()
        self._listing = RunListing("", {}, b"")
        self._looked = float("-inf")

    def list_runs(self) -> RunListing:
        """Return the list, at most half a second old; while another thread updates it, the last one."""
        if self._lock.acquire(blocking=not self._listing.revision):
            try:
                if time.monotonic() - self._looked > _FRESH_S:
                    self._listing = self._look()
                    self._looked = time.monotonic()
            finally:
                self._lock.release()
        return self._listing

    def folder(self, name: str) -> Path | None:
        """Return the folder of a run by name; None if there is none."""
        folder = self._listing.folders.get(name) or self.list_runs().folders.get(name)
        return folder if folder is not None and is_run_folder(folder) else None

    def _look(self) -> RunListing:
        entries: dict[str, _FolderState] = {}
        names: dict[str, str] = {}
        unread: list[UnreadFolder] = []
        for place in self._iter_candidates(unread):
            entry = self._entries.get(place) or _FolderState(place)
            if entry.look():
                entries[place] = entry
                names[_make_unique_name(entry.name, names)] = place
        self._entries = entries
        unread_json = msgspec.json.encode(unread)
        stamps = ((name, entries[place].stamp) for name, place in names.items())
        revision = digest([unread_json.decode(), *stamps])
        if revision == self._listing.revision:
            return self._listing
        latest = sorted(names.items(), key=lambda item: entries[item[1]].started, reverse=True)
        rows = b",".join(entries[place].row(name) for name, place in latest)
        content = b'{"revision":"%b","unread":%b,"runs":[%b]}' % (revision.encode(), unread_json, rows)
        return RunListing(revision, {name: Path(place) for name, place in names.items()}, content)

    def _iter_candidates(self, unread: list[UnreadFolder]) -> Iterator[str]:
        """Yield each folder that may be a run once; add unreadable folders of runs to `unread`.

        Yields strings and not paths for speed: there are thousands, twice a second.
        """
        seen: set[str] = set()
        for root in self._roots:
            try:
                places = [str(root)] if is_run_folder(root) else list(_iter_folders(root))
            except StoreError as error:
                unread.append(UnreadFolder(root.name, error.problems[0].what))
                continue
            for place in places:
                if place not in seen:
                    seen.add(place)
                    yield place


def is_run_folder(folder: Path) -> bool:
    """Whether a folder contains a run, and none of its files is a link out of it.

    A rescored run has links to its current scoring.
    """
    try:
        found = os.stat(folder / MANIFEST)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and not any(_is_outside_link(folder / name) for name in _FILES)


def _is_outside_link(path: Path) -> bool:
    try:
        if not stat.S_ISLNK(os.lstat(path).st_mode):
            return False
    except OSError:
        return False
    # A scoring shares the answers of its run.
    run = find_parent_run(path.parent) or path.parent.resolve()
    return not _resolve_path(path).is_relative_to(run)


def build_unreadable_error(folder: Path, error: OSError) -> StoreError:
    """Return the error of a folder that cannot be listed."""
    return StoreError(
        Problem(
            "STORE-013",
            f"the folder cannot be read: {error.strerror}",
            "check that it exists and that you may read it: `ls -l` shows its owner and permissions",
            Origin(str(folder)),
        )
    )


def _iter_folders(root: Path) -> Iterator[str]:
    """Yield the entries of a folder, without links out of it; raise StoreError if it cannot be read."""
    try:
        with os.scandir(root) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        raise build_unreadable_error(root, error) from error
    for entry in entries:
        if not entry.is_symlink() or _resolve_path(entry.path).is_relative_to(root):
            yield entry.path


def _resolve_path(path: str | Path) -> Path:
    """Resolve links in a path. `Path.resolve` would raise for links that form a loop."""
    return Path(os.path.realpath(path))


def iter_run_folders(root: Path) -> Iterator[Path]:
    """Yield the runs in a folder by name, and subfolders that cannot be accessed.

    Raise StoreError if the folder itself cannot be read.
    """
    return (
        folder
        for folder in map(Path, _iter_folders(root))
        if is_run_folder(folder) or _find_access_error(str(folder / MANIFEST)) is not None
    )


def _find_access_error(path: str) -> str | None:
    """Return the reason if access to a file is denied; None if it is not."""
    try:
        os.stat(path)
    except PermissionError as error:
        return error.strerror
    except OSError:
        return None
    return None


def _make_unique_name(name: str, taken: Container[str]) -> str:
    unique, number = name, 2
    while unique in taken:
        unique, number = f"{name}~{number}", number + 1
    return unique


_Stamp: TypeAlias = tuple[int, int, int]
_NO_FILE: _Stamp = (0, 0, 0)


class _FolderState:
    """The last known state of a folder that may be a run."""

    def __init__(self, place: str) -> None:
        self._folder = Path(place)
        # A name that is not UTF-8 cannot be part of an address.
        self.name = os.fsencode(self._folder.name).decode("utf-8", "replace")
        self.stamp: tuple[_Stamp, ...] = ()
        self.started = ""
        self._manifest, self._summary, self._samples, self._journal = (
            os.path.join(place, name) for name in (MANIFEST, SUMMARY, SAMPLES, JOURNAL)
        )
        self._head: tuple[_Stamp, ...] = ()
        self._run = ListedRun(self.name, DAMAGED, 0.0)
        self._encoded = b""
        self._count = _LineCount(self._folder / SAMPLES)

    def look(self) -> bool:
        """Update the state; return whether the folder is a run."""
        manifest = _stamp(self._manifest)
        if manifest == _NO_FILE:
            return self._is_unreadable()
        head = (manifest, _stamp(self._summary))
        if head == self._head and (*head, *self._read_growth()) == self.stamp:
            return True
        if not is_run_folder(self._folder):
            self._head = ()
            return False
        if head != self._head:
            self._head = head
            self._run = self._read()
            self.started = self._run.started
        self.stamp = (*head, *self._read_growth())
        is_complete = self._run.status in (RunStatus.COMPLETE, RunStatus.UNSCORED)
        self._run = msgspec.structs.replace(
            self._run,
            changed=max(one[0] for one in self.stamp) / 1e9,
            n_done=self._run.n_samples if is_complete else self._count.now(self.started),
        )
        self._encoded = b""
        return True

    def _is_unreadable(self) -> bool:
        """Whether access to the folder is denied: it may be a run, so the list shows it as damaged."""
        why = _find_access_error(self._manifest)
        self._head = ()
        if why is None:
            return False
        self._run = self._build_damaged_run(f"the folder cannot be read: {why}")
        self.stamp, self.started, self._encoded = (_NO_FILE,), "", b""
        return True

    def _read_growth(self) -> tuple[_Stamp, ...]:
        """Return stamps of the growing files of a run in progress; a finished run changes only its head."""
        is_running = self._run.status == RunStatus.RUNNING
        return (_stamp(self._samples), _stamp(self._journal)) if is_running else ()

    def row(self, name: str) -> bytes:
        """Return the run as JSON."""
        if name != self._run.name or not self._encoded:
            self._run = msgspec.structs.replace(self._run, name=name)
            self._encoded = msgspec.json.encode(self._run)
        return self._encoded

    def _read(self) -> ListedRun:
        try:
            manifest = read_manifest(self._folder)
            metrics = read_summary(self._folder)
        except StoreError as error:
            # The message without the path, which visitors of the server must not see.
            return self._build_damaged_run(error.problems[0].what)
        except OSError as error:
            return self._build_damaged_run(f"the files cannot be read: {error.strerror}")
        if manifest is None:
            return self._build_damaged_run(f"{MANIFEST} is missing")
        return _build_listed_run(self.name, manifest, metrics)

    def _build_damaged_run(self, fault: str) -> ListedRun:
        return ListedRun(self.name, DAMAGED, 0.0, fault=fault)


def _build_listed_run(name: str, manifest: RunManifest, metrics: Sequence[Metric]) -> ListedRun:
    is_complete = manifest.status.is_finished
    return ListedRun(
        name,
        str(manifest.status),
        0.0,
        model=manifest.title,
        judge=None if manifest.judge is None else manifest.judge.title,
        datasets=tuple(family.name for family in group_by_family(manifest.tasks)),
        started=manifest.started,
        finished=manifest.finished,
        seconds=manifest.seconds,
        n_samples=sum(task.n_samples for task in manifest.tasks),
        rows=build_score_rows(select_headline_metrics(metrics, manifest), manifest) if is_complete else (),
    )


class _LineCount:
    """Counts the lines of a growing file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._begun = ""
        self._place = 0
        self._n = 0

    def now(self, begun: str) -> int:
        """Return the number of complete lines; start over if the run was restarted."""
        try:
            with open(self._path, "rb") as file:
                if begun != self._begun or os.fstat(file.fileno()).st_size < self._place:
                    self._begun, self._place, self._n = begun, 0, 0
                file.seek(self._place)
                while piece := file.read(_PIECE):
                    self._place += len(piece)
                    self._n += piece.count(b"\n")
        except OSError:
            # Not written yet, or not accessible: the page of the run reports which.
            return 0
        return self._n


def _stamp(path: str) -> _Stamp:
    """Return a stamp that changes with the file or its link target; _NO_FILE if it is inaccessible."""
    try:
        found = os.stat(path)
    except OSError:
        return _NO_FILE
    return (found.st_mtime_ns, found.st_size, found.st_ino)
