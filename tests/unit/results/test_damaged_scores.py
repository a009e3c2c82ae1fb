"""Damaged lines of scores.jsonl and samples.jsonl: commands that compare runs report them as errors."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from assay.core.errors import StoreError
from assay.results.paired_runs import PairedRuns
from assay.results.read import StoredRun
from assay.results.run_pair import RunPair
from assay.results.score_columns import RunColumns
from assay.results.store import SAMPLES, SCORES
from cli import assay

DAMAGES = {"zeros": b"\0\0\0", "cut": b'{"task": "da', "not_utf8": b'{"task": "\xff"}', "other_type": b"[1]"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    rows = [{"question": f"{n} + 1 =", "answer": str(n + 1)} for n in range(4)]
    (folder / "data.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        result = assay("run", "data.jsonl", "-m", "mock", "--method", "gen", "--out", "a", "--no-cache")
    assert result.status == 0, result.err
    shutil.copytree(folder / "a", folder / "b")
    return folder


@pytest.fixture
def runs(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "runs"))


def damage(path: Path, how: bytes) -> int:
    """Replace the second line of a file; return its offset."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], how + b"\n", *lines[2:]]))
    return len(lines[0])


@pytest.mark.parametrize("how", DAMAGES.values(), ids=DAMAGES)
def test_columns_name_the_damaged_line(runs: Path, how: bytes) -> None:
    place = damage(runs / "b" / SCORES, how)
    with pytest.raises(StoreError, match=rf"STORE-008.*the line at byte {place:,} of scores.jsonl"):
        RunColumns(runs / "b")
    with pytest.raises(StoreError, match="STORE-008"):
        PairedRuns([StoredRun(runs / "a"), StoredRun(runs / "b")], [None, None])


@pytest.mark.parametrize("name", [SCORES, SAMPLES])
@pytest.mark.parametrize("how", DAMAGES.values(), ids=DAMAGES)
def test_a_pair_of_runs_names_the_damaged_line(runs: Path, how: bytes, name: str) -> None:
    place = damage(runs / "b" / name, how)

    def read_all() -> None:
        with RunPair(StoredRun(runs / "a"), StoredRun(runs / "b")) as pair:
            list(pair.iterate_samples())

    with pytest.raises(StoreError, match=rf"STORE-008.*the line at byte {place:,} of {name}"):
        read_all()


@pytest.mark.parametrize("command", ["compare", "diff"])
def test_commands_end_with_an_error_and_no_trace(
    runs: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(runs)
    damage(Path("b") / SCORES, DAMAGES["cut"])
    result = assay(command, "a", "b")
    assert result.status == 2, result.err
    assert "STORE-008" in result.err
    assert "fix:" in result.err
    assert "Traceback" not in result.err
