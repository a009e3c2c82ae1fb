"""`assay prepare`: data made by dataset folders' own scripts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cli import assay

COPY = """
import json, os

here = os.path.dirname(os.path.realpath(__file__))

def main():
    os.makedirs(os.path.join(here, "data"), exist_ok=True)
    with open(os.path.join(here, "../../RawData/{name}/raw.jsonl"), encoding="utf-8") as raw, open(
        os.path.join(here, "data", "{name}.jsonl"), "w", encoding="utf-8"
    ) as rows:
        for line in raw:
            if "drop" not in line:
                rows.write(line)
    print("cwd", os.getcwd())

if __name__ == "__main__":
    main()
"""

# What a set is written out as depends on the seed of hashes, and an open without an encoding on the locale.
ORDER = """
import os

here = os.path.dirname(os.path.realpath(__file__))

if __name__ == "__main__":
    os.makedirs(os.path.join(here, "data"), exist_ok=True)
    with open(os.path.join(here, "data", "도시.jsonl"), "w") as rows:
        for name in {"서울", "北京", "Paris", "Rome", "Oslo"}:
            rows.write('{"answer": "%s"}\\n' % name)
    with open(os.path.join(here, "data", "cwd.jsonl"), "w") as rows:
        rows.write('{"cwd": "%s"}\\n' % os.getcwd())
"""


def dataset(root: Path, name: str, script: str, rows: list[str] | None = None) -> Path:
    folder = root / "datasets" / name
    folder.mkdir(parents=True)
    (folder / "make_dataset.py").write_text(script, encoding="utf-8")
    if rows is not None:
        raw = root / "RawData" / name / "raw.jsonl"
        raw.parent.mkdir(parents=True)
        lines = [json.dumps({"question": row}, ensure_ascii=False) + "\n" for row in rows]
        raw.write_text("".join(lines), encoding="utf-8")
    return folder


def test_one_dataset_shows_its_files(workdir: Path) -> None:
    folder = dataset(workdir, "capitals", COPY.format(name="capitals"), ["프랑스", "drop", "일본", "독일"])
    first = assay("prepare", "datasets/capitals")
    assert (first.status, first.err) == (0, "")
    assert first.out.splitlines() == [
        "new        data/capitals.jsonl  3 rows",
        "capitals: 3 rows; the script omitted 1 of the 4 raw rows",
    ]
    again = assay("prepare", "datasets/capitals")
    assert again.out.startswith("as before  data/capitals.jsonl  3 rows\n")
    (folder / "data" / "capitals.jsonl").write_text("{}\n", encoding="utf-8")
    changed = assay("prepare", str(folder))
    assert changed.out.startswith("changed    data/capitals.jsonl  3 rows\n")
    assert "capitals: 3 rows, 1 changed; the script" in changed.out


def test_what_a_script_writes_depends_on_nothing_around_it(
    workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = dataset(workdir, "cities", ORDER)
    written = set()
    for seed in range(3):
        monkeypatch.setenv("PYTHONHASHSEED", str(seed + 1))
        monkeypatch.setenv("PYTHONIOENCODING", "ascii")
        monkeypatch.setenv("PYTHONUTF8", "0")
        monkeypatch.setenv("LC_ALL", "POSIX")
        result = assay("prepare", "datasets/cities")
        # An East Asian character takes two cells of the terminal.
        assert "data/cwd.jsonl   1 row\n" in result.out
        assert "data/도시.jsonl  5 rows\n" in result.out
        written.add((folder / "data" / "도시.jsonl").read_bytes())
    assert len(written) == 1
    # In a checkout it runs at the root, as the original's own runner does; alone, in its folder.
    assert str(workdir) in (folder / "data" / "cwd.jsonl").read_text(encoding="utf-8")
    alone = folder.rename(workdir / "cities")
    assert assay("prepare", "cities").status == 0
    assert str(alone) in (alone / "data" / "cwd.jsonl").read_text(encoding="utf-8")


def test_a_checkout_gets_a_line_for_each_dataset(workdir: Path) -> None:
    dataset(workdir, "capitals", COPY.format(name="capitals"), ["프랑스", "일본"])
    dataset(workdir, "absent", COPY.format(name="absent"))
    result = assay("prepare", ".")
    assert result.status == 0
    missing = "make_dataset.py reads 'RawData/absent/raw.jsonl', which does not exist"
    assert result.out.splitlines() == [
        f"needs data  absent    {missing} (PREPARE-002)",
        "ok          capitals  2 rows",
        "2 datasets: 1 ok, 1 need data, 0 with errors",
    ]
    dataset(workdir, "wrong", "raise KeyError('정답')\n")
    result = assay("prepare", "datasets")
    assert result.status == 2
    assert re.search(r"error +wrong +.*KeyError: '정답' \(PREPARE-003\)", result.out)
    assert "3 datasets: 1 ok, 1 need data, 1 with errors" in result.out


def test_nothing_is_run_that_was_not_named(workdir: Path) -> None:
    folder = dataset(workdir, "capitals", COPY.format(name="capitals"), ["프랑스"])
    assay("check", "datasets/capitals")
    assay("run", "datasets/capitals", "-m", "mock")
    assert not (folder / "data").exists()
