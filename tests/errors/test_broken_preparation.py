"""Scripts that fail to create their data: the cause, the script's output and the fix; exit status 2."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cli import assay

BROKEN = Path(__file__).parent / "broken" / "prepare"

CASES = [
    ("datasets/nowhere", "PREPARE-001", ("'datasets/nowhere'",)),
    ("datasets/no_script", "PREPARE-001", ("make_dataset.py", "'datasets/no_script'")),
    (
        "datasets/missing_raw_file",
        "PREPARE-002",
        (
            "make_dataset.py line 6",
            "'RawData/capitals/수도.jsonl'",
            "assay prepare datasets/missing_raw_file",
        ),
    ),
    (
        "datasets/raising",
        "PREPARE-003",
        (
            "make_dataset.py line 10",
            "exit status 1",
            "ValueError: row 2 has no options: '일본의 수도는?'",
            "datasets/raising/data/capitals.jsonl",
        ),
    ),
    ("datasets/finds_nothing", "PREPARE-004", ("wrote no rows", "RawData/capitals")),
    ("datasets/hyphens", "PREPARE-005", ("un-der/datasets/hyphens/data'", "un_der/datasets/hyphens/data'")),
]


@pytest.fixture
def checkout(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = workdir / "un_der"
    shutil.copytree(BROKEN, root / "datasets")
    monkeypatch.chdir(root)
    return root


@pytest.mark.parametrize(("folder", "code", "parts"), CASES, ids=[case[1] for case in CASES])
def test_bad_preparation(checkout: Path, folder: str, code: str, parts: tuple[str, ...]) -> None:
    result = assay("prepare", folder)
    assert result.status == 2
    assert result.err.startswith(code)
    for part in parts:
        assert part in result.err
    assert "fix:" in result.err


def test_rows_that_went_to_another_folder_are_found_too(checkout: Path) -> None:
    elsewhere = Path(str(checkout / "datasets" / "hyphens" / "data").replace("_", "-"))
    elsewhere.mkdir(parents=True)
    result = assay("prepare", "datasets/hyphens")
    assert (result.status, "PREPARE-005" in result.err) == (2, True)
    assert [path.name for path in elsewhere.iterdir()] == ["big-cities.jsonl"]
