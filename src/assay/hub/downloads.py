"""Downloads from the hub into its cache: checks sizes first, loads several files at a time, can resume.

Files are stored where the hub's own client expects them: `blobs/CONTENT`, with a link under
`snapshots/COMMIT`. That client discards a partial file when it is interrupted. Here the part is kept as
`blobs/CONTENT.incomplete`, and the next download continues it. Every file is compared with the hash that the
hub lists.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, Literal

from assay.core.download import Download, format_folder
from assay.core.download_listeners import report_download
from assay.core.sizes import format_size
from assay.hub.client import hub_client, quiet_client
from assay.hub.errors import HubTrouble, TroubleKind, find_trouble
from assay.hub.repository import Repository, RepositoryFile

_FILES_AT_ONCE = 4
_CHUNK = 1 << 18
_REPORT_EVERY_S = 0.25
_RETRY_WAITS_S = (1.0, 2.0, 4.0, 8.0)
"""Waits before the next attempts for a file without progress."""
_LONGEST_WAIT_S = 20
"""A longer wait requested by the server is reported as an error."""
_STOP_WITHIN_S = 3.0


def find_missing_files(
    repository: Repository, commit: str, files: Sequence[RepositoryFile]
) -> list[RepositoryFile]:
    """Return the files that the cache does not have."""
    folder = repository.snapshot_folder(commit)
    return [file for file in files if not (folder / file.path).exists()]


def check_disk_space(repository: Repository, files: Sequence[RepositoryFile]) -> None:
    """Raise if the disk does not have enough space for the files."""
    place = repository.folder
    while not place.exists() and place != place.parent:
        place = place.parent
    needed = sum(file.size - _count_downloaded_bytes(repository, file) for file in files)
    free = shutil.disk_usage(place).free
    if needed > free:
        what = (
            f"{repository.name} needs {format_size(needed)} in {format_folder(repository.folder.parent)}, "
            f"but the disk has only {format_size(free)} left"
        )
        raise HubTrouble(TroubleKind.DISK_FULL, what)


def download_files(
    repository: Repository,
    commit: str,
    files: Sequence[RepositoryFile],
    *,
    what: str = "",
    later: int = 0,
) -> Path:
    """Download the files that are not in the cache; return the folder of the commit.

    Reports nothing if all files are cached. Ctrl-C keeps what has arrived. `what`, `later`: see `Download`.
    """
    folder = repository.snapshot_folder(commit)
    for file in find_missing_files(repository, commit, files):
        # Another commit has the same content.
        if (blob := _blob(repository, file)) is not None and blob.exists():
            _link(blob, folder / file.path)
    absent = find_missing_files(repository, commit, files)
    if absent:
        check_disk_space(repository, absent)
        _Transfer(repository, commit, absent, what, later).run()
    return folder


class _DownloadStopped(Exception):
    """The download ends before it is complete."""


class _Transfer:
    """One download: its threads, and the bytes that have arrived."""

    def __init__(
        self, repository: Repository, commit: str, files: Sequence[RepositoryFile], what: str, later: int
    ) -> None:
        self._repository = repository
        self._commit = commit
        self._files = files
        self._what, self._later = what, later
        # Largest file last in the list, so it is taken first: it decides when the download ends.
        self._waiting = sorted(files, key=lambda file: file.size)
        self._lock = Lock()
        self._n_done = 0
        self._n_kept = 0
        self._began = time.monotonic()
        self._stop = Event()
        self._errors: list[BaseException] = []

    def run(self) -> None:
        """Download all files; raise the first error after the threads have stopped."""
        self._n_done = self._n_kept = sum(
            _count_downloaded_bytes(self._repository, file) for file in self._files
        )
        self._report("begun")
        n = min(_FILES_AT_ONCE, len(self._files))
        # Daemon threads: a connection that does not answer must not keep an interrupted command alive.
        threads = [Thread(target=self._work, name=f"assay download {i}", daemon=True) for i in range(n)]
        state: Literal["finished", "stopped"] = "stopped"
        with quiet_client():
            try:
                for thread in threads:
                    thread.start()
                for thread in threads:
                    while thread.is_alive():
                        thread.join(_REPORT_EVERY_S)
                        self._report("running")
                state = "stopped" if self._errors else "finished"
            finally:
                self._stop.set()
                deadline = time.monotonic() + _STOP_WITHIN_S
                for thread in threads:
                    if thread.ident is not None:
                        thread.join(max(0.0, deadline - time.monotonic()))
                self._report(state)
        if self._errors:
            raise self._find_error(self._errors[0])

    def _find_error(self, error: BaseException) -> BaseException:
        trouble = error if isinstance(error, HubTrouble) else find_trouble(error)
        if trouble is None:
            return error
        trouble.__cause__ = None if trouble is error else error
        return trouble

    def _report(self, state: Literal["begun", "running", "finished", "stopped"]) -> None:
        seconds = time.monotonic() - self._began
        n_new = self._n_done - self._n_kept
        report = Download(
            self._repository.name,
            self._commit,
            str(self._repository.folder),
            len(self._files),
            sum(file.size for file in self._files),
            self._n_done,
            round(seconds, 3),
            n_new / seconds if n_new and seconds else None,
            state,
            self._what,
            self._later,
        )
        report_download(report)

    def _work(self) -> None:
        while not self._stop.is_set():
            with self._lock:
                if not self._waiting:
                    return
                file = self._waiting.pop()
            try:
                self._fetch(file)
            except _DownloadStopped:
                return
            except BaseException as error:  # noqa: BLE001 - raised again on the thread that waits
                self._errors.append(error)
                self._stop.set()
                return

    def _fetch(self, file: RepositoryFile) -> None:
        client = hub_client()
        place = self._repository.snapshot_folder(self._commit) / file.path
        blob = _blob(self._repository, file)
        if blob is None or file.size > client.constants.MAX_HTTP_DOWNLOAD_SIZE:
            # No content id for resuming, or too large for plain HTTP: use the client's own download.
            client.hf_hub_download(
                self._repository.name, file.path, repo_type=self._repository.kind, revision=self._commit
            )
            self._count_bytes(file.size)
            return
        locks = self._repository.folder.parent / ".locks" / self._repository.folder.name
        for folder in (locks, blob.parent):
            folder.mkdir(parents=True, exist_ok=True)
        with client.utils.WeakFileLock(locks / f"{blob.name}.lock"):
            if not blob.exists():
                self._stream(client, file, _part(blob))
                _check_content(file, _part(blob))
                os.replace(_part(blob), blob)
            _link(blob, place)

    def _stream(self, client: Any, file: RepositoryFile, part: Path) -> None:
        """Append to a partial file until it is complete."""
        waits = iter(_RETRY_WAITS_S)
        while (have := part.stat().st_size if part.exists() else 0) < file.size:
            try:
                self._stream_once(client, file, part, have)
            except client.errors.HTTPError as error:
                if part.exists() and part.stat().st_size > have:
                    waits = iter(_RETRY_WAITS_S)
                wait_s = _retry_wait_s(error, waits)
                if wait_s is None:
                    raise
                if self._stop.wait(wait_s):
                    raise _DownloadStopped from None
        if not file.size:
            part.touch()

    def _stream_once(self, client: Any, file: RepositoryFile, part: Path, have: int) -> None:
        url = client.hf_hub_url(
            self._repository.name, file.path, repo_type=self._repository.kind, revision=self._commit
        )
        headers = {**client.utils.build_hf_headers(), "Accept-Encoding": "identity"}
        if have:
            headers["Range"] = f"bytes={have}-"
        limit_s = client.constants.HF_HUB_DOWNLOAD_TIMEOUT
        with client.get_session().stream("GET", url, headers=headers, timeout=limit_s) as answer:
            client.utils.hf_raise_for_status(answer)
            continues = answer.status_code == 206
            if have and not continues:
                self._count_bytes(-have)
            with part.open("ab" if continues else "wb", buffering=0) as target:
                for chunk in answer.iter_bytes(_CHUNK):
                    target.write(chunk)
                    self._count_bytes(len(chunk))

    def _count_bytes(self, n: int) -> None:
        with self._lock:
            self._n_done += n
        if self._stop.is_set():
            raise _DownloadStopped


def _retry_wait_s(error: BaseException, waits: Iterator[float]) -> float | None:
    """Return how long to wait before the next attempt; None if another attempt is useless."""
    trouble = find_trouble(error)
    if trouble is None or not trouble.may_pass:
        return None
    own = next(waits, None)
    if own is None or (trouble.wait_s or 0) > _LONGEST_WAIT_S:
        return None
    return max(own, trouble.wait_s or 0)


def _blob(repository: Repository, file: RepositoryFile) -> Path | None:
    return None if file.blob is None else repository.folder / "blobs" / file.blob


def _part(blob: Path) -> Path:
    return blob.with_name(f"{blob.name}.incomplete")


def _count_downloaded_bytes(repository: Repository, file: RepositoryFile) -> int:
    """Return how many bytes of a file an interrupted download left, or another commit has."""
    blob = _blob(repository, file)
    if blob is None:
        return 0
    if blob.exists():
        return file.size
    return min(_part(blob).stat().st_size, file.size) if _part(blob).exists() else 0


def _check_content(file: RepositoryFile, part: Path) -> None:
    """Compare a file with the hash that the hub lists; remove it if it differs."""
    size = part.stat().st_size
    digest = hashlib.sha256() if file.is_large else hashlib.sha1(b"blob %d\0" % size)
    with part.open("rb") as content:
        while block := content.read(_CHUNK):
            digest.update(block)
    if size == file.size and digest.hexdigest() == file.blob:
        return
    with suppress(OSError):
        part.unlink()
    what = f"{file.path} is damaged: {size:,} of {file.size:,} bytes arrived, or their hash differs"
    raise HubTrouble(TroubleKind.DAMAGED, what)


def _link(blob: Path, place: Path) -> None:
    """Link a path of the snapshot to its content; if links are not possible, move the content there."""
    if place.exists():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        place.unlink(missing_ok=True)
        place.symlink_to(os.path.relpath(blob, place.parent))
    except OSError:
        shutil.move(str(blob), str(place))
