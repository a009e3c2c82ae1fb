"""From run folders to the index and the leaderboard."""

from __future__ import annotations

import hashlib
import json
import shutil
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import pytest

from assay.app import leaderboard
from assay.app.leaderboard import INDEX_FILE, IndexedRuns
from assay.core.errors import StoreError, UsageError
from assay.core.score import Metric
from assay.results.indexing import read_run
from assay.results.leaderboard.board import Board
from cli import assay


def questions(folder: Path, name: str, n: int = 12) -> None:
    rows = [f"{name} {at}?,x,y,{'AB'[at % 2]},p{at // 2}" for at in range(n)]
    (folder / f"{name}.csv").write_text("\n".join(["question,A,B,answer,passage", *rows]) + "\n")


def evaluate(model: str, *more: str) -> None:
    assert assay("run", "a.csv", "-m", model, "--method", "gen,ppl", *more).status == 0


@pytest.fixture
def runs(workdir: Path) -> Path:
    """Two models on one dataset."""
    questions(workdir, "a")
    evaluate("mock:one")
    evaluate("mock:two", "--model-arg", "answer=A")
    return workdir / "runs"


def board_of(*folders: Path, database: str | None = None) -> Board:
    with closing(IndexedRuns(folders, database)) as opened:
        assert opened.refresh() == []
        return opened.board()


def names(board: Board) -> list[str]:
    return sorted(model.name for model in board.models)


def test_datasets_are_those_of_the_runs(runs: Path) -> None:
    with closing(IndexedRuns([runs])) as opened:
        opened.refresh()
        assert opened.datasets() == {"a"}


def test_values_of_samples_make_up_the_metrics(runs: Path) -> None:
    for folder in (one for one in runs.iterdir() if one.is_dir()):
        read = read_run(folder, host="", root=".")
        values = msgspec.json.decode((folder / "summary.json").read_bytes(), type=list[Metric])
        whole = {(one.task, one.method, one.metric): one.value for one in values if one.group is None}
        assert {(task, method) for task, method, _ in read.values} == {("a", "gen"), ("a", "ppl")}
        for key, found in read.values.items():
            assert float(np.nanmean(found.values)) == pytest.approx(whole[key])
        ids = read.samples["a"].ids
        assert len(ids) == 12
        assert (np.diff(ids.astype(object)) > 0).all()


def test_values_are_those_of_their_own_samples(runs: Path) -> None:
    """The oracle: the sum over samples of value times a hash of the id, by hand from scores.jsonl."""

    (folder,) = runs.glob("*two*")
    read = read_run(folder, host="", root=".")
    expected = {}
    for line in (folder / "scores.jsonl").read_text().splitlines():
        score = json.loads(line)
        if score["track"] == "gen":
            key = hashlib.blake2b(score["sample_id"].encode(), digest_size=16).digest()[:8]
            expected[int.from_bytes(key, "little")] = score["value"]
    found = read.values["a", "gen", "accuracy"].values.tolist()
    assert dict(zip(read.samples["a"].ids.tolist(), found, strict=True)) == expected


def test_clusters_are_kept_with_the_samples(workdir: Path) -> None:
    questions(workdir, "a")
    evaluate("mock:one", "--cluster", "passage")
    (folder,) = (one for one in (workdir / "runs").iterdir() if one.is_dir())
    clusters = read_run(folder, host="", root=".").samples["a"].clusters
    assert clusters is not None
    assert sorted(np.unique(clusters, return_counts=True)[1].tolist()) == [2] * 6


def test_only_what_changed_is_read_again(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def noted(folder: Path, *, host: str, root: str) -> object:
        read.append(folder.name)
        return read_run(folder, host=host, root=root)

    monkeypatch.setattr(leaderboard, "read_run", noted)
    board_of(runs)
    assert len(read) == 2
    board_of(runs)
    assert len(read) == 2
    (changed,) = runs.glob("*two*")
    summary = changed / "summary.json"
    summary.write_text(summary.read_text() + "\n")
    board_of(runs)
    assert read[2:] == [changed.name]


def test_a_run_that_is_gone_leaves_the_board_and_a_moved_folder_keeps_its_index(runs: Path) -> None:
    assert names(board_of(runs)) == ["mock:one", "mock:two"]
    shutil.rmtree(next(runs.glob("*two*")))
    assert names(board_of(runs)) == ["mock:one"]
    moved = runs.rename(runs.parent / "kept")
    board = board_of(moved)
    assert names(board) == ["mock:one"]
    cell = board.cells[0][0]
    assert cell is not None
    assert cell.root == str(moved)


def test_damaged_and_foreign_folders_are_reported_and_the_others_shown(runs: Path) -> None:
    (damaged,) = runs.glob("*two*")
    (damaged / "summary.json").write_text("[{")
    (runs / "foreign").mkdir()
    (runs / "foreign" / "manifest.json").write_text('{"name": "an app"}')
    with closing(IndexedRuns([runs])) as opened:
        problems = opened.refresh()
        assert sorted(problem.code for problem in problems) == ["BOARD-001", "STORE-004"]
        assert names(opened.board()) == ["mock:one"]


def test_a_run_that_goes_wrong_later_is_not_shown_as_it_was(runs: Path) -> None:
    board_of(runs)
    (damaged,) = runs.glob("*two*")
    (damaged / "summary.json").write_text("[{")
    with closing(IndexedRuns([runs])) as opened:
        assert len(opened.refresh()) == 1
        assert names(opened.board()) == ["mock:one"]


def test_a_folder_that_cannot_be_read_is_reported_and_nothing_is_forgotten(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(IndexedRuns([runs])) as indexed:
        assert indexed.refresh() == []
        known = names(indexed.board())
        assert known

        def refused(path: object) -> None:
            raise PermissionError(13, "Permission denied", str(path))

        with monkeypatch.context() as refusing:
            refusing.setattr("os.scandir", refused)
            (problem,) = indexed.refresh()
            assert (problem.code, problem.what) == (
                "STORE-013",
                "the folder cannot be read: Permission denied",
            )
            assert names(indexed.board()) == known
            with pytest.raises(StoreError, match="STORE-013"):
                IndexedRuns([runs])
        with monkeypatch.context() as refusing:
            # A run that cannot be read is left out of the board and reported.
            refusing.setattr(leaderboard, "read_stamp", refused)
            assert {one.code for one in indexed.refresh()} == {"STORE-013"}


def test_a_folder_that_takes_no_index_is_indexed_in_memory(runs: Path) -> None:
    (runs / INDEX_FILE).mkdir()
    with closing(IndexedRuns([runs])) as opened:
        assert opened.refresh() == []
        assert names(opened.board()) == ["mock:one", "mock:two"]
        assert "indexed in memory" in opened.notes[0]


def test_several_folders_are_one_board(runs: Path) -> None:
    others = runs.parent / "others"
    evaluate("mock:three", "--runs-dir", str(others))
    board = board_of(runs, others)
    assert names(board) == ["mock:one", "mock:three", "mock:two"]
    assert {column.n_models for column in board.columns} == {3}
    assert {column.n_paired for column in board.columns} == {3}


def test_machines_that_share_a_database_compare_without_the_folders(
    runs: Path, database_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = runs.parent / "others"
    evaluate("mock:three", "--model-arg", "answer=B", "--runs-dir", str(others))
    monkeypatch.setattr("socket.gethostname", lambda: "first")
    board_of(runs, database=database_place)
    shutil.rmtree(runs)
    monkeypatch.setattr("socket.gethostname", lambda: "second")
    board = board_of(others, database=database_place)
    assert names(board) == ["mock:one", "mock:three", "mock:two"]
    assert {column.n_paired for column in board.columns} == {3}


def test_a_folder_that_is_not_there_is_rejected(workdir: Path) -> None:
    with pytest.raises(UsageError, match="BOARD-005"):
        IndexedRuns([workdir / "nowhere"])


def test_what_the_database_cannot_store_is_reported(workdir: Path, postgres_url: str) -> None:
    questions(workdir, "a")
    evaluate("mock:one")
    (folder,) = (one for one in (workdir / "runs").iterdir() if one.is_dir())
    summary = json.loads((folder / "summary.json").read_text())
    summary[0]["group"] = "zero\0byte"
    (folder / "summary.json").write_text(json.dumps(summary))
    from assay.ledger.database import open_database
    from assay.ledger.runs import RunIndex

    database = open_database(postgres_url)
    with pytest.raises(StoreError, match="BOARD-002"):
        RunIndex(database).put(read_run(folder, host="h", root="/r"))
    database.close()
