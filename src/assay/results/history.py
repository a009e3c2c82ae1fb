"""The scorings of a run: its own, and every later rescoring of the same answers, each stored completely.

    RUN/scores.jsonl, summary.json, report.md, ...   links to the files of the current scoring
    RUN/scorings/current                             a link to the current scoring; replacing it switches
    RUN/scorings/001-run/                            the run's own scoring
    RUN/scorings/002-LABEL/                          a later scoring

A scoring is itself a run folder: it has its own manifest, scores, summary and reports, and links to the
samples and answers that all scorings share. Code that reads a run also reads a scoring. A run that was never
rescored has no such folder, and its files are plain files.

Every step leaves a folder that is readable as one scoring, so a process can be killed at any time. Lock the
run's folder before changing anything here (`RunFolder.lock`).
"""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from assay.core.errors import Problem, StoreError, listing, suggest_name
from assay.core.origin import Origin
from assay.results.draft_file import replacing_file
from assay.results.scoring_folders import DRAFTS, SCORING_NAME, SCORINGS
from assay.results.store import (
    HTML_REPORT,
    JOURNAL,
    MANIFEST,
    REPORT,
    SAMPLES,
    SCORES,
    SUMMARY,
    read_manifest,
)

_CURRENT = "current"
OWN_LABEL = "run"
"""The label of the run's own scoring."""
_OUTCOME = (SCORES, SUMMARY, REPORT, HTML_REPORT, MANIFEST)
"""The files that each scoring has. The manifest becomes a link last: if it is one, all others are too."""
_SHARED = (SAMPLES, JOURNAL)


class StoredScoring(NamedTuple):
    """One scoring."""

    number: int
    label: str
    path: Path

    @property
    def name(self) -> str:
        """Return the folder's name: number and label."""
        return self.path.name


class ScoringHistory:
    """All scorings of the run in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._root = folder / SCORINGS

    def entries(self) -> list[StoredScoring]:
        """Return the stored scorings, oldest first; empty for a run that was never rescored."""
        return sorted(self._iter_stored())

    @property
    def current(self) -> StoredScoring | None:
        """The current scoring; None if that is the run's own, stored as plain files."""
        if not (self._folder / MANIFEST).is_symlink():
            return None
        link = self._root / _CURRENT
        try:
            name = os.readlink(link)
        except OSError as error:
            what = f"the link to the current scoring cannot be read: {error.strerror}"
        else:
            for one in self._iter_stored():
                if one.name == name:
                    return one
            what = f"the current scoring {name!r} does not exist"
        names = [one.name for one in self.entries()]
        target = f"one of {listing(names)}" if names else "an existing scoring"
        fix = f"make {link} a link to {target}: `ln -sfn NAME {link}`"
        raise StoreError(Problem("RESCORE-007", what, fix, Origin(str(self._folder))))

    @property
    def own_folder(self) -> Path:
        """The folder with the run's own manifest and scores."""
        own = self._own_entry()
        return self._folder if own is None or self.current is None else own.path

    def find(self, wanted: str) -> StoredScoring:
        """Return a scoring by name, number or label; the latest if several have the label."""
        every = self.entries()
        number = int(wanted) if wanted.isdecimal() else None
        for found in (
            [one for one in every if one.name == wanted],
            [one for one in every if one.number == number],
            [one for one in every if one.label == wanted],
        ):
            if found:
                return found[-1]
        names = [one.name for one in every]
        available = listing(names) or "only its own"
        what = f"the run has no scoring {wanted!r}{suggest_name(wanted, names)}; it has {available}"
        fix = "list them with `assay score RUN --list-scorings`"
        raise StoreError(Problem("RESCORE-007", what, fix, Origin(str(self._folder))))

    def adopt(self) -> StoredScoring:
        """Store the run's own results as a scoring and replace them by links; return the current scoring.

        This happens at the first rescoring, and again after the run was resumed.
        """
        if (current := self.current) is not None:
            return current
        own = self._own_entry()
        if own is None or not self._is_same(own.path):
            draft = self.draft(OWN_LABEL)
            for name in _OUTCOME:
                if (self._folder / name).exists():
                    shutil.copy2(self._folder / name, draft / name)
            own = self.keep(draft)
        _replace_with_link(self._root / _CURRENT, own.name)
        for name in _OUTCOME:
            _replace_with_link(self._folder / name, f"{SCORINGS}/{_CURRENT}/{name}")
        return own

    def draft(self, label: str) -> Path:
        """Return a new folder to score in; `keep` makes it one of the scorings."""
        drafts = self._folder / DRAFTS
        # Remove what a killed process left behind.
        shutil.rmtree(drafts, ignore_errors=True)
        number = max((one.number for one in self._iter_stored()), default=0) + 1
        draft = drafts / f"{number:03}-{label}"
        draft.mkdir(parents=True)
        for name in _SHARED:
            (draft / name).symlink_to(Path("..", "..", name))
        return draft

    def keep(self, draft: Path) -> StoredScoring:
        """Turn a complete draft into a stored scoring."""
        self._root.mkdir(exist_ok=True)
        kept = draft.rename(self._root / draft.name)
        draft.parent.rmdir()
        return next(one for one in self._iter_stored() if one.path == kept)

    def use(self, entry: StoredScoring) -> None:
        """Make a scoring the current one: all files at the top switch to it at once."""
        _replace_with_link(self._root / _CURRENT, entry.name)

    def restore_own_files(self) -> int:
        """Replace links by the run's own files before a resume; return the number of other scorings."""
        own = self._own_entry()
        if own is None:
            return 0
        if self.current is not None:
            self.use(own)
        # The manifest first: once it is a plain file, the files at the top are the run's own again. Check
        # every file: a killed process may have left links, and writing must not go through them.
        for name in reversed(_OUTCOME):
            if (self._folder / name).is_symlink():
                self._replace_link_by_file(name)
        return sum(one.label != OWN_LABEL for one in self._iter_stored())

    def _replace_link_by_file(self, name: str) -> None:
        path = self._folder / name
        if not path.exists():
            path.unlink(missing_ok=True)
            return
        with replacing_file(path) as copy, open(path, "rb") as shown:
            shutil.copyfileobj(shown, copy)

    def _iter_stored(self) -> Iterator[StoredScoring]:
        for path in self._root.iterdir() if self._root.is_dir() else ():
            match = SCORING_NAME.fullmatch(path.name)
            if match is not None and not path.is_symlink():
                yield StoredScoring(int(match["number"]), match["label"], path)

    def _own_entry(self) -> StoredScoring | None:
        """Return the run's own scoring; the latest if the run was resumed between scorings."""
        return max((one for one in self._iter_stored() if one.label == OWN_LABEL), default=None)

    def _is_same(self, stored: Path) -> bool:
        """Whether a scoring equals the files at the top, as after an interrupted `adopt`."""
        manifests = read_manifest(stored), read_manifest(self._folder)
        statuses = {None if one is None else one.status for one in manifests}
        return len(statuses) == 1 and all(
            _is_same_content(stored / name, self._folder / name) for name in (SCORES, SUMMARY)
        )


def parse_draft_number(draft: Path) -> int:
    """Return the scoring number of a draft."""
    return int(draft.name.partition("-")[0])


def _is_same_content(one: Path, other: Path) -> bool:
    if not (one.is_file() and other.is_file()):
        return one.is_file() == other.is_file()
    return filecmp.cmp(one, other, shallow=False)


def _replace_with_link(path: Path, target: str) -> None:
    """Replace a path by a link atomically."""
    draft = path.with_name(f".{path.name}.link")
    draft.unlink(missing_ok=True)
    draft.symlink_to(target)
    draft.replace(path)
