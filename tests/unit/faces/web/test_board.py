"""The board that the leaderboard's page fetches."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from assay.app.leaderboard import IndexedRuns
from assay.app.viewed_runs import ViewedRuns
from assay.faces.web.board import BoardCache
from assay.results.leaderboard.page import BoardPage
from cli import assay


@pytest.fixture
def runs(workdir: Path) -> Path:
    (workdir / "a.csv").write_text("question,A,B,answer\n1?,x,y,A\n2?,x,y,B\n", encoding="utf-8")
    for model in ("mock:one", "mock:two"):
        assert assay("run", "a.csv", "-m", model, "--method", "gen").status == 0
    return workdir / "runs"


def test_the_board_is_made_again_only_when_a_run_changes(runs: Path) -> None:
    shelf = BoardCache(ViewedRuns([runs]), lambda: IndexedRuns([runs]))
    first = shelf.board()
    assert shelf.board() is first
    summary = next(runs.glob("*two*")) / "summary.json"
    summary.write_text(summary.read_text().replace("accuracy", "precision"))
    second = shelf.board()
    assert second.tag != first.tag
    shelf.close()


def test_readers_are_reported_names_and_no_paths(runs: Path) -> None:
    damaged = next(runs.glob("*two*"))
    (damaged / "summary.json").write_text("[{")
    (runs / "foreign").mkdir()
    (runs / "foreign" / "manifest.json").write_text("{}")
    shelf = BoardCache(ViewedRuns([runs]), lambda: IndexedRuns([runs]))
    body = shelf.board()
    shelf.close()
    page = msgspec.json.decode(body.content, type=BoardPage)
    assert [model.name for model in page.board.models] == ["mock:one"]
    assert any(note.startswith(f"BOARD-001 {damaged.name}:") for note in page.board.notes)
    assert any(note.startswith("STORE-004 foreign:") for note in page.board.notes)
    assert str(runs.parent).encode() not in body.content
    (name,) = (one.name for one in runs.glob("*one*"))
    assert page.links == ((f"/runs/{name}",),)
