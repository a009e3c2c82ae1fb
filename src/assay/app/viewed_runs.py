"""Runs for a server that shows them: their list, their pages, comparisons and media."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from assay.app.compare import compare_view
from assay.results.media_store import StoredMedium, find_medium
from assay.results.pages.compare_page import CompareView
from assay.results.read import StoredRun
from assay.results.run_list import RunList, RunListing
from assay.results.run_view import RunView
from assay.results.store import JOURNAL, MANIFEST, SAMPLES, SCORES, SUMMARY

_RESULTS = (MANIFEST, SUMMARY, SAMPLES, SCORES)


class ViewedRuns:
    """The runs in some folders, by name. Threads may share it."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._list = RunList(folders)

    def list_runs(self) -> RunListing:
        """Return the list of runs."""
        return self._list.list_runs()

    def find_folder(self, name: str) -> Path | None:
        """Return a run's folder; None if there is no such run."""
        return self._list.folder(name)


def open_view(folder: Path, look: str) -> RunView:
    """Open a run for its page; `look` identifies this opening in the revisions of its samples."""
    return RunView(folder, look=look)


def compare_folders(folders: Sequence[Path], methods: Sequence[str], names: Sequence[str]) -> CompareView:
    """Compare the runs in some folders; `names`: the names by which a page requests them."""
    return compare_view([StoredRun(folder) for folder in folders], methods, names=names)


def find_run_medium(folder: Path, sha256: str) -> StoredMedium | None:
    """Return an image, audio or video stored with a run, by its hash; None if there is none."""
    return find_medium(folder, sha256)


def stamp_run(folder: Path, *, with_responses: bool = False) -> list[tuple[int, int, int]]:
    """Return a value that changes with the results of a run, or also with each of its responses."""
    return [_stamp_file(folder / name) for name in (*_RESULTS, *((JOURNAL,) if with_responses else ()))]


def _stamp_file(path: Path) -> tuple[int, int, int]:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return (0, 0, 0)
    return (found.st_mtime_ns, found.st_size, found.st_ino)
