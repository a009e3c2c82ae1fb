"""Tags and notes of runs and samples: where they are stored, and how they are changed."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from assay.app.leaderboard import INDEX_FILE
from assay.core.annotation import Annotation, clean_note, clean_tags
from assay.core.errors import Problem, StoreError
from assay.ledger.annotations import Annotations
from assay.ledger.database import Database, open_database
from assay.results.read import StoredRun


class RunAnnotations:
    """The tags and notes of runs. Threads may share it.

    They are stored in the index of the folder that contains a run, or in a team's database.
    """

    def __init__(self, database: Database | None = None) -> None:
        self._shared = None if database is None else Annotations(database)
        self._opened: dict[Path, Database] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the databases that this object opened."""
        with self._lock:
            for database in self._opened.values():
                database.close()
            self._opened.clear()

    def of_run(self, folder: Path) -> list[Annotation]:
        """Return the annotations of a run and its samples."""
        found = self._find(folder, is_writer=False)
        return [] if found is None else found.of_run(folder.name)

    def of_runs(self, folders: Mapping[str, Path]) -> dict[str, Annotation]:
        """Return the annotations of the runs themselves, by the names in `folders`."""
        parents: dict[Path, dict[str, str]] = {}
        for name, folder in folders.items():
            parents.setdefault(folder.parent, {})[folder.name] = name
        return {
            names[one.run]: one
            for parent, names in parents.items()
            if (found := self._find(parent / next(iter(names)), is_writer=False)) is not None
            for one in found.of_runs(names)
        }

    def put(self, folder: Path, annotation: Annotation) -> Annotation:
        """Store the tags and the note of a run or a sample; an empty annotation is removed."""
        checked = msgspec.structs.replace(
            annotation, run=folder.name, tags=clean_tags(annotation.tags), note=clean_note(annotation.note)
        )
        found = self._find(folder, is_writer=True)
        assert found is not None
        return found.put(checked)

    def _find(self, folder: Path, *, is_writer: bool) -> Annotations | None:
        """Return the annotations next to a run; None if there are none yet and nothing is to be written."""
        if self._shared is not None:
            return self._shared
        file = folder.parent / INDEX_FILE
        with self._lock:
            database = self._opened.get(file)
            if database is None:
                if not is_writer and not file.is_file():
                    return None
                database = self._opened[file] = open_database(file)
        return Annotations(database)


def annotate(
    run: StoredRun,
    *,
    sample: str | None = None,
    add: Iterable[str] = (),
    remove: Iterable[str] = (),
    note: str | None = None,
) -> list[Annotation]:
    """Change the tags and the note of a run or one of its samples; return all annotations of the run.

    `sample` is an id, a prefix of one, or row:17, as in `assay explain`. `note` replaces the note; None
    keeps it.
    """
    store = RunAnnotations()
    folder = run.path.resolve()
    removed = set(clean_tags(tuple(remove)))
    added = clean_tags(tuple(add))
    try:
        if added or removed or note is not None:
            task, id_ = "", ""
            if sample is not None:
                record = run.find_sample(sample)
                task, id_ = record.task, record.sample.id
            known = {(one.task, one.sample): one for one in store.of_run(folder)}
            before = known.get((task, id_), Annotation(folder.name, task, id_))
            missing = removed - set(before.tags)
            if missing:
                has = ", ".join(before.tags) or "none"
                what = f"there is no tag {sorted(missing)[0]!r}; the tags are: {has}"
                raise StoreError(Problem("STORE-026", what, "remove a tag that is there"))
            store.put(
                folder,
                msgspec.structs.replace(
                    before,
                    tags=tuple(tag for tag in (*before.tags, *added) if tag not in removed),
                    note=before.note if note is None else note,
                ),
            )
        return store.of_run(folder)
    finally:
        store.close()
