"""The scorings of a run: which are stored and shown, and a kill between two steps."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import StoreError
from assay.core.model import ModelIdentity
from assay.core.run import RunManifest, RunStatus, Scoring
from assay.results.history import ScoringHistory, parse_draft_number
from assay.results.read import StoredRun
from assay.results.scoring_folders import find_parent_run
from assay.results.store import JOURNAL, MANIFEST, REPORT, SAMPLES, SCORES, SUMMARY, RunFolder

OWN, AGAIN = "own", "again"


def fill(folder: Path, content: str, scoring: Scoring | None = None) -> None:
    """Write what a scoring comes to, every file telling which one it is."""
    manifest = RunManifest(
        content, (), ModelIdentity("mock", "mock"), {}, {}, "now", RunStatus.COMPLETE, scoring=scoring
    )
    (folder / SCORES).write_text(content, encoding="utf-8")
    (folder / SUMMARY).write_text(json.dumps(content), encoding="utf-8")
    (folder / REPORT).write_text(content, encoding="utf-8")
    RunFolder(folder).write_manifest(manifest)


def make_run(folder: Path, content: str = OWN) -> Path:
    folder.mkdir(exist_ok=True)
    for name in (SAMPLES, JOURNAL):
        (folder / name).write_text(name, encoding="utf-8")
    fill(folder, content)
    return folder


def shown(folder: Path) -> set[str]:
    """Return which scorings the files at the top are of: one, or the folder is torn."""
    summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    texts = {(folder / name).read_text(encoding="utf-8") for name in (SCORES, REPORT)}
    return {StoredRun(folder).manifest.id, summary, *texts}


def score_again(folder: Path, content: str = AGAIN) -> None:
    history = ScoringHistory(folder)
    history.adopt()
    draft = history.draft("other")
    fill(draft, content, Scoring(parse_draft_number(draft), "other", "now"))
    history.use(history.keep(draft))


def go_on(folder: Path) -> None:
    ScoringHistory(folder).restore_own_files()


def test_a_run_that_was_never_scored_again_has_no_history(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    history = ScoringHistory(run)
    assert (history.entries(), history.current, history.own_folder) == ([], None, run)
    assert history.restore_own_files() == 0
    assert not (run / "scorings").exists()


def test_every_scoring_is_kept_whole_and_the_newest_is_shown(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    score_again(run)
    score_again(run, "third")
    history = ScoringHistory(run)
    assert [entry.name for entry in history.entries()] == ["001-run", "002-other", "003-other"]
    assert shown(run) == {"third"}
    assert history.own_folder == run / "scorings" / "001-run"
    assert [shown(entry.path) for entry in history.entries()] == [{OWN}, {AGAIN}, {"third"}]
    for entry in history.entries():
        assert find_parent_run(entry.path) == run
        for name in (SAMPLES, JOURNAL):
            assert (entry.path / name).read_text(encoding="utf-8") == name, "a scoring is a run folder itself"
    assert not (run / ".scorings").exists()


def test_an_earlier_scoring_is_shown_again_by_number_or_name(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    score_again(run)
    history = ScoringHistory(run)
    for wanted, expected in (("1", OWN), ("002-other", AGAIN), ("run", OWN), ("other", AGAIN)):
        history.use(history.find(wanted))
        assert shown(run) == {expected}
    with pytest.raises(StoreError, match=r"RESCORE-007.*'9'.*'001-run'"):
        history.find("9")


def test_a_run_that_continues_has_plain_files_of_its_own_and_loses_no_scoring(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    score_again(run)
    assert ScoringHistory(run).restore_own_files() == 1
    assert shown(run) == {OWN}
    assert not any((run / name).is_symlink() for name in (MANIFEST, SCORES, SUMMARY, REPORT))
    (run / SCORES).write_text("begun", encoding="utf-8")
    assert shown(run / "scorings" / "001-run") == {OWN}, "writing at the top changes no scoring"
    fill(run, "more answers")
    score_again(run, "fourth")
    names = [entry.name for entry in ScoringHistory(run).entries()]
    assert names == ["001-run", "002-other", "003-run", "004-other"]
    assert ScoringHistory(run).own_folder.name == "003-run", "the run's own is what it came to last"
    assert shown(run) == {"fourth"}


def test_a_run_that_comes_to_the_same_again_is_not_kept_twice(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    score_again(run)
    go_on(run)
    fill(run, OWN)
    score_again(run, "third")
    assert [entry.name for entry in ScoringHistory(run).entries()] == ["001-run", "002-other", "003-other"]


def test_answers_that_were_not_scored_are_a_scoring_without_numbers(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    for name in (SUMMARY, REPORT):
        (run / name).unlink()
    score_again(run)
    assert shown(run) == {AGAIN}
    ScoringHistory(run).use(ScoringHistory(run).find("1"))
    assert StoredRun(run).metrics() == []
    go_on(run)
    assert not (run / SUMMARY).is_symlink()


def test_a_folder_that_was_moved_is_as_it_was(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    score_again(run)
    moved = run.rename(tmp_path / "elsewhere")
    assert shown(moved) == {AGAIN}
    ScoringHistory(moved).use(ScoringHistory(moved).find("1"))
    assert shown(moved) == {OWN}


def test_a_scoring_that_a_person_took_away_while_it_was_shown_is_reported(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    score_again(run)
    shutil.rmtree(run / "scorings" / "002-other")
    with pytest.raises(StoreError, match=r"RESCORE-007.*the current scoring '002-other' does not exist"):
        _ = ScoringHistory(run).current


@pytest.mark.parametrize("is_file", [False, True])
def test_a_missing_link_to_the_current_scoring_is_an_error_with_a_fix(tmp_path: Path, is_file: bool) -> None:
    run = make_run(tmp_path / "run")
    score_again(run)
    link = run / "scorings" / "current"
    link.unlink()
    if is_file:
        link.write_text("002-other", encoding="utf-8")
    with pytest.raises(
        StoreError, match=r"RESCORE-007.*link to the current scoring cannot be read"
    ) as raised:
        _ = ScoringHistory(run).current
    assert "'002-other'" in raised.value.problems[0].fix


class Killed(BaseException):
    """The process ends here."""


STEPS: tuple[tuple[Any, str], ...] = (
    (os, "rename"),
    (os, "replace"),
    (os, "symlink"),
    (os, "unlink"),
    (os, "mkdir"),
    (os, "rmdir"),
    (shutil, "copy2"),
)


def killed_at(step: int, work: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Do some work and end it before a step that changes the disk; return whether it came that far."""
    count = 0

    def counted(change: Callable[..., Any]) -> Callable[..., Any]:
        def change_or_die(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += 1
            if count > step:
                raise Killed
            return change(*args, **kwargs)

        return change_or_die

    with monkeypatch.context() as patch:
        for owner, name in STEPS:
            patch.setattr(owner, name, counted(getattr(owner, name)))
        try:
            work()
        except Killed:
            return True
    return False


def each_step(work: Callable[[], None], make: Callable[[], None], patch: pytest.MonkeyPatch) -> Iterator[int]:
    """Yield after a kill at each step of some work, each time in a new folder."""
    step = 0
    while True:
        make()
        if not killed_at(step, work, patch):
            break
        yield step
        step += 1
    assert step > 5, "the steps were counted"


def test_a_kill_between_any_two_steps_leaves_one_scoring_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"

    def make() -> None:
        shutil.rmtree(run, ignore_errors=True)
        make_run(run)

    for step in each_step(lambda: score_again(run), make, monkeypatch):
        assert shown(run) in ({OWN}, {AGAIN}), f"torn at step {step}"
        score_again(run, "third")
        assert shown(run) == {"third"}
        entries = ScoringHistory(run).entries()
        assert shown(entries[0].path) == {OWN}, f"the run's own score was lost at step {step}"
        assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
        assert sum(entry.label == "run" for entry in entries) == 1


def test_a_kill_while_a_run_continues_leaves_its_own_scoring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"

    def make() -> None:
        shutil.rmtree(run, ignore_errors=True)
        make_run(run)
        score_again(run)

    for step in each_step(lambda: go_on(run), make, monkeypatch):
        assert shown(run) in ({OWN}, {AGAIN}), f"torn at step {step}"
        history = ScoringHistory(run)
        history.adopt()
        history.use(history.find("2"))
        assert shown(run) == {AGAIN}, f"files at the top do not follow after step {step}"
        go_on(run)
        assert shown(run) == {OWN}


def test_a_run_that_continues_after_a_kill_writes_into_no_scoring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"

    def make() -> None:
        shutil.rmtree(run, ignore_errors=True)
        make_run(run)
        score_again(run)

    for step in each_step(lambda: go_on(run), make, monkeypatch):
        assert ScoringHistory(run).restore_own_files() == 1
        assert not any((run / name).is_symlink() for name in (MANIFEST, SCORES, SUMMARY, REPORT))
        (run / SCORES).write_text("begun", encoding="utf-8")
        kept = [shown(entry.path) for entry in ScoringHistory(run).entries()]
        assert kept == [{OWN}, {AGAIN}], f"a scoring was written over after a kill at step {step}"


def test_a_run_that_continues_after_its_first_rescoring_was_killed_keeps_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"

    def make() -> None:
        shutil.rmtree(run, ignore_errors=True)
        make_run(run)

    for step in each_step(lambda: score_again(run), make, monkeypatch):
        go_on(run)
        assert not any((run / name).is_symlink() for name in (MANIFEST, SCORES, SUMMARY, REPORT))
        (run / SCORES).write_text("begun", encoding="utf-8")
        kept = [shown(entry.path) for entry in ScoringHistory(run).entries()]
        assert kept in ([], [{OWN}], [{OWN}, {AGAIN}]), f"a scoring was written over after step {step}"


def test_of_scorings_with_one_label_the_latest_is_meant(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    score_again(run)
    score_again(run, "third")
    history = ScoringHistory(run)
    names = {wanted: history.find(wanted).name for wanted in ("other", "2", "002-other", "run")}
    assert names == {"other": "003-other", "2": "002-other", "002-other": "002-other", "run": "001-run"}
