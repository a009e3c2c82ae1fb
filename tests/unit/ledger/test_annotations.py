"""Tags and notes: limits, storage beside runs, migration of older databases."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import text

from assay.app.annotations import RunAnnotations, annotate
from assay.app.leaderboard import INDEX_FILE
from assay.core.annotation import MOST_NOTE_CHARS, MOST_TAGS, Annotation, clean_note, clean_tags
from assay.core.errors import AssayError
from assay.ledger.annotations import Annotations
from assay.ledger.database import open_database
from assay.ledger.schema import VERSION
from assay.results.read import StoredRun
from fakes.run_folders import write_run


def test_tags_are_cleaned() -> None:
    assert clean_tags((" a  b ", "a b", "", "c")) == ("a b", "c")
    assert clean_note(" x\n y \n") == "x\n y"


@pytest.mark.parametrize(
    "tags", [("a,b",), ('a"b',), ("a\x1bb",), ("x" * 61,), tuple(map(str, range(MOST_TAGS + 1)))]
)
def test_tags_that_nobody_could_search_for_are_rejected(tags: tuple[str, ...]) -> None:
    with pytest.raises(AssayError) as caught:
        clean_tags(tags)
    assert caught.value.problems[0].code == "STORE-025"


@pytest.mark.parametrize("note", ["a\0b", "x" * (MOST_NOTE_CHARS + 1)])
def test_notes_that_no_database_stores_are_rejected(note: str) -> None:
    with pytest.raises(AssayError) as caught:
        clean_note(note)
    assert caught.value.problems[0].code == "STORE-025"


def test_a_database_of_version_1_gets_the_table(tmp_path: Path) -> None:
    place = tmp_path / "old.db"
    database = open_database(place)
    with database.begin_write() as connection:
        connection.execute(text("DROP TABLE assay_annotations"))
        connection.execute(text("UPDATE assay_schema SET version = 1"))
    database.close()
    for _ in range(2):
        database = open_database(place)
        Annotations(database).put(Annotation("mine", tags=("a",)))
        with database.begin_read() as connection:
            assert connection.execute(text("SELECT version FROM assay_schema")).scalars().all() == [VERSION]
        database.close()


def test_reading_makes_no_file_and_writing_leaves_the_run_alone(tmp_path: Path) -> None:
    run = StoredRun(write_run(tmp_path / "runs" / "mine", ["yes", "no"]))
    before = {path: path.read_bytes() for path in run.path.iterdir()}
    store = RunAnnotations()
    assert store.of_run(run.path) == []
    assert store.of_runs({"mine": run.path}) == {}
    assert not (tmp_path / "runs" / INDEX_FILE).exists()
    annotate(run, add=("baseline",), note="first try")
    annotate(run, sample="s1", add=("odd", "hard"))
    found = annotate(run, sample="s1", remove=("odd",))
    assert [(one.sample, one.tags, one.note) for one in found] == [
        ("", ("baseline",), "first try"),
        ("s1", ("hard",), ""),
    ]
    assert {name: one.tags for name, one in store.of_runs({"shown": run.path}).items()} == {
        "shown": ("baseline",)
    }
    assert {path: path.read_bytes() for path in run.path.iterdir()} == before
    store.close()


def test_what_becomes_empty_is_removed(tmp_path: Path) -> None:
    run = StoredRun(write_run(tmp_path / "runs" / "mine", ["yes"]))
    annotate(run, add=("a",), note="b")
    assert len(annotate(run, remove=("a",))) == 1
    assert annotate(run, note="") == []


def test_a_missing_tag_is_an_error_that_lists_the_tags(tmp_path: Path) -> None:
    run = StoredRun(write_run(tmp_path / "runs" / "mine", ["yes"]))
    annotate(run, add=("a", "b"))
    with pytest.raises(AssayError, match="the tags are: a, b") as caught:
        annotate(run, remove=("c",), add=("d",))
    assert caught.value.problems[0].code == "STORE-026"
    assert annotate(run)[0].tags == ("a", "b")
