"""After an interruption at any file operation, the same command completes the run."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from cli import assay
from fakes.interruptions import (
    Ending,
    count_operations,
    end_by,
    end_half_written,
    find_no_room,
    interrupt,
    run_with_room_for,
)

ROWS = "question,A,B,answer\n" + "".join(f"q{n},x,y,{'AB'[n % 2]}\n" for n in range(4))
COMMAND = ("run", "rows.csv", "-m", "mock", "--progress", "none", "--out", "run")


@pytest.fixture(autouse=True)
def in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text(ROWS, encoding="utf-8")


def require_whole(folder: Path) -> None:
    """Check that a run is complete, that it asked each request once, and that no draft is left."""
    again = assay(*COMMAND)
    assert again.status == 0, again.err
    names = {found.name for found in folder.iterdir()}
    assert {"manifest.json", "responses.jsonl", "scores.jsonl", "summary.json", "report.html"} <= names
    assert not {name for name in names if name.startswith(".")}
    lines = (folder / "responses.jsonl").read_bytes().splitlines()
    assert len(lines) == 4
    assert (folder / "scores.jsonl").read_bytes().count(b"\n") == 4


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        (end_by(signal.SIGKILL), -signal.SIGKILL),
        (end_by(signal.SIGTERM), -signal.SIGTERM),
        (end_half_written, -signal.SIGKILL),
        (find_no_room, 2),
    ],
    ids=["SIGKILL", "SIGTERM", "half written", "full disk"],
)
def test_a_run_continues_after_an_interruption_at_any_file_operation(
    tmp_path: Path, ending: Ending, status: int
) -> None:
    n_operations = count_operations((*COMMAND[:-1], "counted"), tmp_path / "counted")
    assert n_operations > 10
    for nth in range(1, n_operations + 1):
        folder = tmp_path / "run"
        assert interrupt(COMMAND, folder, nth, ending) == status, f"operation {nth}"
        require_whole(folder)
        folder.rename(tmp_path / f"done-{nth}")


@pytest.mark.parametrize("most_bytes", [0, 1, 100, 400, 700, 1000, 4000, 6000])
def test_a_run_continues_after_a_disk_became_full(tmp_path: Path, most_bytes: int) -> None:
    """The system itself cuts writes short, in the middle of the manifest or of a response."""
    assert run_with_room_for(COMMAND, most_bytes) == 2
    require_whole(tmp_path / "run")


def test_starting_over_loses_no_run_at_any_file_operation(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert assay(*COMMAND).status == 0
    kept = (folder / "responses.jsonl").read_bytes()
    n_operations = count_operations((*COMMAND, "--fresh"), folder)
    for nth in range(1, n_operations + 1):
        before = len(list(tmp_path.glob("run*")))
        assert interrupt((*COMMAND, "--fresh"), folder, nth, end_by(signal.SIGKILL)) < 0
        require_whole(folder)
        archived = list(tmp_path.glob("run*"))
        assert len(archived) >= before
        assert all((one / "responses.jsonl").read_bytes() == kept for one in archived)


def test_a_link_at_the_name_of_a_draft_is_not_written_through(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious", encoding="utf-8")
    drafts = [f".{name}.new" for name in ("manifest.json", "samples.jsonl", "scores.jsonl", "summary.json")]
    drafts += [".report.md.new", ".report.html.new"]
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / drafts[0]).symlink_to(precious)
    assert assay(*COMMAND).status == 0
    for name in drafts:
        (folder / name).symlink_to(precious)
    assert assay("score", "run", "--name", "again").status == 0
    require_whole(folder)
    assert precious.read_text(encoding="utf-8") == "precious"


def test_a_folder_of_somebody_else_is_left_untouched(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for name in (".manifest.json.new", "chapter.tex"):
        (folder / name).write_text(name, encoding="utf-8")
    for more in ((), ("--fresh",)):
        result = assay(*COMMAND, *more)
        assert (result.status, "STORE-002 run\n" in result.err) == (2, True), result.err
        assert "it has 'chapter.tex'" in result.err
    assert {found.name: found.read_text(encoding="utf-8") for found in folder.iterdir()} == {
        ".manifest.json.new": ".manifest.json.new",
        "chapter.tex": "chapter.tex",
    }


def test_starting_over_archives_a_run_whose_manifest_is_damaged(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "manifest.json").write_bytes(b"")
    result = assay(*COMMAND)
    assert (result.status, "STORE-004" in result.err, "--fresh" in result.err) == (2, True, True)
    assert assay(*COMMAND, "--fresh").status == 0
    assert (tmp_path / "run.old-1" / "manifest.json").read_bytes() == b""
    require_whole(folder)
