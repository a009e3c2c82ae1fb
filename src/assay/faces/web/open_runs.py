"""A cache of the viewed runs: their data and response bodies.

Thread-safe. A run that was deleted or cannot be read is removed from the cache.
"""

from __future__ import annotations

import itertools
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from assay.app.viewed_runs import ViewedRuns, open_view
from assay.core.errors import StoreError
from assay.faces.web.answers import ResponseBody
from assay.faces.web.error_responses import not_found_error
from assay.results.run_view import RunView

_MOST_RUNS = 32
_MOST_ROWS = 500_000
"""Maximum samples of all cached runs; the current run stays, regardless of its size."""

_encode = msgspec.json.Encoder().encode


class _OpenRun:
    """One cached run, used by one thread at a time."""

    def __init__(self, view: RunView) -> None:
        self.view = view
        self.lock = threading.Lock()
        self.tag = ""
        self.bodies: dict[str, ResponseBody] = {}


class RunCache:
    """The runs of a list by name, as response bodies."""

    def __init__(self, runs: ViewedRuns) -> None:
        self.runs = runs
        self._open_runs: OrderedDict[Path, _OpenRun] = OrderedDict()
        self._lock = threading.Lock()
        # Tags of an earlier process or of an evicted view are not valid here.
        self._process = secrets.token_hex(4)
        self._changes = itertools.count()

    def list_runs(self) -> ResponseBody:
        """Return the list of runs."""
        listing = self.runs.list_runs()
        return ResponseBody(listing.json, listing.revision)

    def page(self, name: str) -> ResponseBody:
        """Return a run without its samples."""
        with self._lock_run(name) as run:
            return _get_cached_body(
                run, "page", lambda: _encode(msgspec.structs.replace(run.view.page(), name=name))
            )

    def table(self, name: str, first: int, had: tuple[str, int] | None = None) -> ResponseBody:
        """Return a run's samples as columns, starting at a place.

        `had` is the revision and the number of changes that the client has; if a sample changed since, the
        result starts there.
        """
        with self._lock_run(name) as run:
            first = min(first, run.view.n_rows) if had is None else run.view.find_first_changed(first, *had)
            if first == 0:
                return _get_cached_body(run, "table", lambda: _encode(run.view.table()))
            return ResponseBody(_encode(run.view.table(first)), f"{run.tag}.{first}")

    def detail(self, name: str, place: int) -> ResponseBody:
        """Return a complete sample."""
        with self._lock_run(name) as run:
            if not 0 <= place < run.view.n_rows:
                raise not_found_error("sample")
            with run.view.details() as details:
                return ResponseBody(details.json(place), f"{run.tag}.at.{place}")

    def folder(self, name: str) -> Path:
        """Return a run's folder."""
        folder = self.runs.find_folder(name)
        if folder is None:
            raise not_found_error("run")
        return folder

    @contextmanager
    def _lock_run(self, name: str) -> Iterator[_OpenRun]:
        """Yield a refreshed run, locked."""
        folder = self.folder(name)
        try:
            run = self._open(folder)
            with run.lock:
                if run.view.refresh() or not run.tag:
                    run.tag = f"{self._process}.{next(self._changes)}"
                    run.bodies.clear()
                yield run
        except (FileNotFoundError, StoreError):
            if self.runs.find_folder(name) is not None:
                raise
            with self._lock:
                self._open_runs.pop(folder, None)
            raise not_found_error("run") from None

    def _open(self, folder: Path) -> _OpenRun:
        with self._lock:
            run = self._open_runs.get(folder)
            if run is None:
                run = self._open_runs[folder] = _OpenRun(
                    open_view(folder, f"{self._process}.{next(self._changes)}")
                )
            self._open_runs.move_to_end(folder)
            self._evict_oldest()
            return run

    def _evict_oldest(self) -> None:
        """Evict the least recently used runs if there are too many."""
        n_rows = sum(run.view.n_rows for run in self._open_runs.values())
        while len(self._open_runs) > 1 and (len(self._open_runs) > _MOST_RUNS or n_rows > _MOST_ROWS):
            _, oldest = self._open_runs.popitem(last=False)
            n_rows -= oldest.view.n_rows


def _get_cached_body(run: _OpenRun, part: str, make: Callable[[], bytes]) -> ResponseBody:
    body = run.bodies.get(part)
    if body is None:
        body = run.bodies[part] = ResponseBody(make(), f"{run.tag}.{part}")
    return body
