"""The scorings of a run: its own, and every later one of the same answers, each kept whole.

    RUN/scores.jsonl, summary.json, report.md, ...   links to those of the scoring that is shown
    RUN/scorings/current                             a link to that scoring: replacing it is the whole switch
    RUN/scorings/001-run/                            the run's own
    RUN/scorings/002-LABEL/                          a later one

A scoring is a run folder by itself: it has a manifest, scores, numbers and reports of its own, and links to
the samples and the answers, which all of them share. Whatever reads a run reads a scoring. A run that was
never scored again has no such folder, and its files are plain ones.

Each step leaves a folder that reads as one scoring, so a process that is killed at any of them does no harm.
Whoever changes something here holds the run's folder (`RunFolder.hold`).
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
"""What a scoring has of its own. A manifest that is a link says that all others are: it is made one last."""
_SHARED = (SAMPLES, JOURNAL)


class StoredScoring(NamedTuple):
    """One scoring."""

    number: int
    label: str
    path: Path

    @property
    def name(self) -> str:
        """Return number and label."""
        return self.path.name


class ScoringHistory:
    """All scorings of the run in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._root = folder / SCORINGS

    def entries(self) -> list[StoredScoring]:
        """Return the scorings that are kept, the oldest first; none where there is only the run's own."""
        return sorted(self._found())

    @property
    def current(self) -> StoredScoring | None:
        """The scoring that is shown; None: the run's own, as plain files."""
        if not (self._folder / MANIFEST).is_symlink():
            return None
        shown = os.readlink(self._root / _CURRENT)
        for one in self._found():
            if one.name == shown:
                return one
        what = f"the scoring that the run shows, {shown!r}, is gone"
        fix = f"let {self._root / _CURRENT} be a link to one that is there"
        raise StoreError(Problem("RESCORE-007", what, fix, Origin(str(self._folder))))

    @property
    def own(self) -> Path:
        """Where the run's own manifest and scores lie."""
        kept = self._own_entry()
        return self._folder if kept is None or self.current is None else kept.path

    def find(self, wanted: str) -> StoredScoring:
        """Return a scoring by its name, its number or its label; of several with one label, the latest."""
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
        there = listing(names) or "its own alone"
        what = f"the run has no scoring {wanted!r}{suggest_name(wanted, names)}; it has {there}"
        fix = "`assay score RUN --list-scorings` shows them"
        raise StoreError(Problem("RESCORE-007", what, fix, Origin(str(self._folder))))

    def adopt(self) -> StoredScoring:
        """Keep what the run itself came to as a scoring, and show it by links; return what is shown.

        Done once, and again after the run went on.
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
        # What a process that was killed left behind.
        shutil.rmtree(drafts, ignore_errors=True)
        number = max((one.number for one in self._found()), default=0) + 1
        draft = drafts / f"{number:03}-{label}"
        draft.mkdir(parents=True)
        for name in _SHARED:
            (draft / name).symlink_to(Path("..", "..", name))
        return draft

    def keep(self, draft: Path) -> StoredScoring:
        """Make a draft that is complete one of the scorings."""
        self._root.mkdir(exist_ok=True)
        kept = draft.rename(self._root / draft.name)
        draft.parent.rmdir()
        return next(one for one in self._found() if one.path == kept)

    def use(self, entry: StoredScoring) -> None:
        """Show a scoring: from one moment to the next, all files at the top are its."""
        _replace_with_link(self._root / _CURRENT, entry.name)

    def restore_own_files(self) -> int:
        """Put the run's own files back in the place of links, for a run that goes on; return how many other
        scorings are kept.
        """
        own = self._own_entry()
        if own is None:
            return 0
        if self.current is not None:
            self.use(own)
        # The manifest first: from then on the files at the top are the run's own again, and not a link's. One
        # that is plain already says little of the others: a kill may have left links, to be written through.
        for name in reversed(_OUTCOME):
            if (self._folder / name).is_symlink():
                self._replace_link_by_file(name)
        return sum(one.label != OWN_LABEL for one in self._found())

    def _replace_link_by_file(self, name: str) -> None:
        path = self._folder / name
        if not path.exists():
            path.unlink(missing_ok=True)
            return
        with replacing_file(path) as copy, open(path, "rb") as shown:
            shutil.copyfileobj(shown, copy)

    def _found(self) -> Iterator[StoredScoring]:
        for path in self._root.iterdir() if self._root.is_dir() else ():
            match = SCORING_NAME.fullmatch(path.name)
            if match is not None and not path.is_symlink():
                yield StoredScoring(int(match["number"]), match["label"], path)

    def _own_entry(self) -> StoredScoring | None:
        """Return the run's own scoring; the latest, where the run went on between scorings."""
        return max((one for one in self._found() if one.label == OWN_LABEL), default=None)

    def _is_same(self, kept: Path) -> bool:
        """Whether a scoring holds just what lies at the top: the run came to the same again, or adopting it
        was cut short.
        """
        manifests = read_manifest(kept), read_manifest(self._folder)
        statuses = {None if one is None else one.status for one in manifests}
        return len(statuses) == 1 and all(
            _is_same_content(kept / name, self._folder / name) for name in (SCORES, SUMMARY)
        )


def parse_draft_number(draft: Path) -> int:
    """Return the number that a draft has as a scoring."""
    return int(draft.name.partition("-")[0])


def _is_same_content(one: Path, other: Path) -> bool:
    if not (one.is_file() and other.is_file()):
        return one.is_file() == other.is_file()
    return filecmp.cmp(one, other, shallow=False)


def _replace_with_link(path: Path, target: str) -> None:
    """Make a path a link, in one step, whatever it was."""
    draft = path.with_name(f".{path.name}.link")
    draft.unlink(missing_ok=True)
    draft.symlink_to(target)
    draft.replace(path)
