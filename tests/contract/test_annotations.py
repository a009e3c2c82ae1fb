"""Tags and notes in SQLite and in PostgreSQL."""

from __future__ import annotations

from assay.core.annotation import Annotation
from assay.ledger.annotations import Annotations
from assay.ledger.database import open_database


def test_annotations_are_stored_replaced_and_removed(database_place: str) -> None:
    database = open_database(database_place)
    store = Annotations(database)
    run = Annotation("run", tags=("기준", "<b>"), note="a\nb 'c' %s", author="ann")
    assert store.put(run).changed_at > 0
    store.put(Annotation("run", "task", "q/1\n2", ("x",)))
    store.put(Annotation("other", tags=("y",)))
    store.put(Annotation("run", "task", "q/1\n2", ("z",)))
    assert [(one.sample, one.tags, one.note, one.author) for one in store.of_run("run")] == [
        ("", ("기준", "<b>"), "a\nb 'c' %s", "ann"),
        ("q/1\n2", ("z",), "", ""),
    ]
    assert {one.run for one in store.of_runs({"run", "other"})} == {"run", "other"}
    store.put(Annotation("run"))
    assert [one.sample for one in store.of_run("run")] == ["q/1\n2"]
    assert [one.run for one in store.of_runs({"run"})] == []
    database.close()
