"""The list of runs: its rows, its updates, and no repeated reads."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.core.errors import StoreError
from assay.core.run import RunStatus
from assay.results import run_list
from assay.results.history import ScoringHistory
from assay.results.run_list import RunList
from fakes.run_folders import append_samples, write_run


@pytest.fixture(autouse=True)
def always_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every look be a look at the disk."""
    monkeypatch.setattr(run_list, "_FRESH_S", -1.0)


def shown(runs: RunList) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = msgspec.json.decode(runs.list_runs().json)["runs"]
    return listed


def test_a_complete_run_comes_with_its_score_and_the_latest_first(tmp_path: Path) -> None:
    write_run(tmp_path / "old", ["yes"], started="2026-01-01T00:00:00+00:00")
    write_run(tmp_path / "new", ["yes", "no"], started="2026-02-01T00:00:00+00:00", task="말하기")
    new, old = shown(RunList([tmp_path]))
    assert (new["name"], old["name"]) == ("new", "old")
    assert new["datasets"] == ["말하기"]
    assert (new["n_samples"], new["n_done"], new["status"]) == (2, 2, "complete")
    (row,) = new["rows"]
    assert (row["shown"], row["interval"], row["method"]) == ("100.0", "50.0–100.0", "gen")


def test_a_run_that_continues_is_counted_as_it_grows_and_again_when_it_begins_again(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", ["a"], status=RunStatus.RUNNING, n_planned=5)
    runs = RunList([tmp_path])
    assert shown(runs)[0]["n_done"] == 1
    first = runs.list_runs().revision
    append_samples(folder, ["b", "c"], first=1)
    assert shown(runs)[0]["n_done"] == 3
    assert runs.list_runs().revision != first
    with open(folder / "samples.jsonl", "ab") as file:
        file.write(b'{"half a line')
    assert shown(runs)[0]["n_done"] == 3
    # Larger than before, but another start.
    again = "2026-03-01T00:00:00+00:00"
    question = "long " * 1000
    write_run(folder, ["x"], status=RunStatus.RUNNING, n_planned=5, started=again, question=question)
    assert shown(runs)[0]["n_done"] == 1


def test_a_run_that_has_not_changed_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for nth in range(3):
        write_run(tmp_path / f"run{nth}", ["a"])
    runs = RunList([tmp_path])
    before = runs.list_runs()
    read: list[Path] = []
    monkeypatch.setattr(run_list, "read_manifest", read.append)
    assert runs.list_runs() is before
    assert read == []
    os.utime(tmp_path / "run1" / "manifest.json", (1, 1))
    runs.list_runs()
    assert [path.name for path in read] == ["run1"]


def test_a_damaged_run_is_listed_as_damaged_without_its_place(tmp_path: Path) -> None:
    write_run(tmp_path / "broken", ["a"])
    (tmp_path / "broken" / "manifest.json").write_text('{"id": 7}')
    write_run(tmp_path / "half", ["a"])
    (tmp_path / "half" / "summary.json").write_text("[{")
    for run in shown(RunList([tmp_path])):
        assert run["status"] == "damaged"
        assert run["fault"]
        assert str(tmp_path) not in run["fault"]


def loop_of(path: Path) -> None:
    """Have a link lead to itself."""
    path.unlink(missing_ok=True)
    path.symlink_to(path.name)


def folder_for(path: Path) -> None:
    """Have a folder stand in the place of a file: reading it raises, as does what may not be read."""
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("file", "spoil", "status"),
    [
        ("manifest.json", loop_of, None),
        ("manifest.json", folder_for, None),
        ("manifest.json", lambda path: path.write_bytes(b'{"id": "\xff"}'), "damaged"),
        ("summary.json", lambda path: path.write_bytes(b'[{"task": "\xff"}]'), "damaged"),
        ("samples.jsonl", folder_for, "running"),
        ("samples.jsonl", loop_of, "running"),
        ("../loop", loop_of, "running"),
    ],
)
def test_one_run_that_cannot_be_read_hides_no_other(
    tmp_path: Path, file: str, spoil: Callable[[Path], object], status: str | None
) -> None:
    write_run(tmp_path / "fine", ["a"])
    write_run(
        tmp_path / "odd", ["a"], status=RunStatus.COMPLETE if status != "running" else RunStatus.RUNNING
    )
    spoil(tmp_path / "odd" / file)
    listed = {run["name"]: run["status"] for run in shown(RunList([tmp_path]))}
    assert listed.pop("fine") == "complete"
    assert listed == ({} if status is None else {"odd": status})


def test_a_run_whose_files_are_not_given_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(tmp_path / "closed", ["a"])

    def refuse(folder: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder / "manifest.json"))

    monkeypatch.setattr(run_list, "read_manifest", refuse)
    (run,) = shown(RunList([tmp_path]))
    assert (run["status"], run["fault"]) == ("damaged", "the files cannot be read: Permission denied")


def test_deleted_runs_go_and_new_ones_come(tmp_path: Path) -> None:
    write_run(tmp_path / "one", ["a"])
    runs = RunList([tmp_path])
    assert runs.folder("one") == tmp_path / "one"
    shutil.rmtree(tmp_path / "one")
    write_run(tmp_path / "two", ["a"])
    assert runs.folder("one") is None
    assert runs.folder("two") == tmp_path / "two"
    assert [run["name"] for run in shown(runs)] == ["two"]


def test_folders_of_runs_and_runs_by_themselves_share_names(tmp_path: Path) -> None:
    one, other = tmp_path / "a", tmp_path / "b"
    write_run(one / "run", ["a"], model="first")
    write_run(other / "run", ["a"], model="second")
    runs = RunList([one, other, one / "run"])
    assert {run["name"]: run["model"] for run in shown(runs)} == {"run": "first", "run~2": "second"}
    assert runs.folder("run~2") == other / "run"


@pytest.mark.parametrize(
    "name", ["../outside", "..", ".", "", "/etc", "run/../run", "run/", "RUN", "run\x00"]
)
def test_a_name_is_looked_up_and_never_becomes_a_path(tmp_path: Path, name: str) -> None:
    write_run(tmp_path / "outside", ["a"])
    write_run(tmp_path / "runs" / "run", ["a"])
    assert RunList([tmp_path / "runs"]).folder(name) is None


def test_links_that_lead_out_are_not_followed(tmp_path: Path) -> None:
    secret = write_run(tmp_path / "secret", ["a"])
    runs = tmp_path / "runs"
    write_run(runs / "fine", ["a"])
    (runs / "linked").symlink_to(secret)
    (runs / "same").symlink_to(runs / "fine")
    for file in ("manifest.json", "scores.jsonl", "responses.jsonl"):
        folder = write_run(runs / f"with-{file}", ["a"])
        (folder / file).unlink()
        (folder / file).symlink_to(secret / file)
    listed = RunList([runs])
    assert {run["name"] for run in shown(listed)} == {"fine", "same"}
    assert listed.folder("linked") is None
    # A link that is put there later is seen too.
    (runs / "fine" / "samples.jsonl").unlink()
    (runs / "fine" / "samples.jsonl").symlink_to("/etc/passwd")
    assert listed.folder("fine") is None


def test_a_run_that_was_scored_again_is_listed_by_the_scoring_that_it_shows(tmp_path: Path) -> None:
    run = write_run(tmp_path / "runs" / "run", ["yes", "no"])
    runs = RunList([tmp_path / "runs"])
    (own,) = shown(runs)
    first = runs.list_runs().revision
    history = ScoringHistory(run)
    history.adopt()
    draft = history.draft("none")
    for name in ("manifest.json", "scores.jsonl"):
        shutil.copy(run / name, draft / name)
    (draft / "summary.json").write_text("[]", encoding="utf-8")
    entry = history.keep(draft)
    assert shown(runs)[0]["rows"] == own["rows"]
    history.use(entry)
    (again,) = shown(runs)
    assert (again["name"], again["rows"]) == ("run", [])
    assert runs.list_runs().revision != first
    assert runs.folder("run") == run
    assert [one["name"] for one in shown(RunList([entry.path]))] == ["002-none"], "a scoring by itself, too"
    (draft_of_another := run / "scorings" / "003-evil").mkdir()
    shutil.copy(run / "manifest.json", draft_of_another)
    (draft_of_another / "samples.jsonl").symlink_to("/etc/passwd")
    assert RunList([draft_of_another]).folder("003-evil") is None


def test_a_name_in_no_encoding_can_be_asked_for(tmp_path: Path) -> None:
    write_run(tmp_path / "fine", ["a"]).rename(tmp_path / os.fsdecode(b"bad\xff"))
    runs = RunList([tmp_path])
    (run,) = shown(runs)
    assert run["name"] == "bad\N{REPLACEMENT CHARACTER}"
    assert runs.folder(run["name"]) is not None


def refuse(monkeypatch: pytest.MonkeyPatch, name: str, *shut: Path) -> None:
    """Have the system refuse to look into folders, as it would anybody but root."""
    call = getattr(os, name)

    def refusing(path: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(path, int) and any(Path(path).is_relative_to(one) for one in shut):
            raise PermissionError(13, "Permission denied", str(path))
        return call(path, *args, **kwargs)

    monkeypatch.setattr(os, name, refusing)


def test_a_folder_that_cannot_be_read_is_reported_and_is_not_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fine, shut, gone = (tmp_path / name for name in ("fine", "shut", "gone"))
    for folder in (fine, shut, gone):
        write_run(folder / f"run-{folder.name}", ["a"])
    runs = RunList([fine, shut, gone])
    assert len(shown(runs)) == 3
    first = runs.list_runs().revision
    refuse(monkeypatch, "scandir", shut)
    shutil.rmtree(gone)
    listed = msgspec.json.decode(runs.list_runs().json)
    assert [run["name"] for run in listed["runs"]] == ["run-fine"]
    assert listed["unread"] == [
        {"folder": "shut", "fault": "the folder cannot be read: Permission denied"},
        {"folder": "gone", "fault": "the folder cannot be read: No such file or directory"},
    ]
    assert listed["revision"] != first
    assert str(tmp_path) not in runs.list_runs().json.decode()
    with pytest.raises(StoreError, match="STORE-013"):
        RunList([fine, shut])
    monkeypatch.undo()
    monkeypatch.setattr(run_list, "_FRESH_S", -1.0)
    assert {run["name"] for run in shown(runs)} == {"run-fine", "run-shut"}


def test_a_run_that_cannot_be_read_is_listed_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("fine", "shut"):
        write_run(tmp_path / name, ["a"])
    runs = RunList([tmp_path])
    assert {run["status"] for run in shown(runs)} == {"complete"}
    with monkeypatch.context() as refusing:
        refuse(refusing, "stat", tmp_path / "shut")
        listed = {run["name"]: (run["status"], run["fault"]) for run in shown(runs)}
        assert listed == {
            "fine": ("complete", None),
            "shut": ("damaged", "the folder cannot be read: Permission denied"),
        }
        assert runs.folder("shut") is None
    assert {run["status"] for run in shown(runs)} == {"complete"}


def test_a_folder_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="STORE-005"):
        RunList([tmp_path / "nothing"])
