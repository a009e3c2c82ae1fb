from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from assay.core.errors import AuthorError
from assay.sources.file_names import find_on_disk, require_text
from assay.sources.files import open_source
from assay.sources.hub import LocalHub

PARTED = unicodedata.normalize("NFD", "한국어")


def test_a_path_is_found_in_the_form_the_disk_has(tmp_path: Path) -> None:
    (tmp_path / PARTED).mkdir()
    file = tmp_path / PARTED / f"{PARTED}.csv"
    file.write_text("question,answer\n1,2\n", encoding="utf-8")
    assert find_on_disk(tmp_path / "한국어" / "한국어.csv") == file
    assert find_on_disk(file) == file
    absent = tmp_path / "한국어" / "중국어.csv"
    assert find_on_disk(absent) == absent


def test_relative_paths_too(workdir: Path) -> None:
    (workdir / f"{PARTED}.csv").write_text("question,answer\n1,2\n", encoding="utf-8")
    assert find_on_disk(Path("한국어.csv")) == Path(f"{PARTED}.csv")


def test_of_two_that_look_alike_the_one_that_was_named_is_taken(tmp_path: Path) -> None:
    (tmp_path / "한국어").touch()
    if (tmp_path / PARTED).exists():
        pytest.skip("this file system takes both spellings for one")
    (tmp_path / PARTED).touch()
    assert find_on_disk(tmp_path / "한국어").name == "한국어"
    assert find_on_disk(tmp_path / PARTED).name == PARTED


def test_datasets_and_configs_under_a_data_root(tmp_path: Path) -> None:
    folder = tmp_path / PARTED
    folder.mkdir()
    file = folder / (unicodedata.normalize("NFD", "자연어추론") + "_test.csv")
    file.write_text("question,answer\n1,2\n", encoding="utf-8")
    assert LocalHub(tmp_path).resolve("한국어", config="자연어추론", split="test") == file


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    korean = os.fsdecode("한국어.csv".encode("cp949"))
    with pytest.raises(AuthorError) as raised:
        open_source(tmp_path / korean)
    (problem,) = raised.value.problems
    assert problem.code == "SOURCE-012"
    assert "decoded as cp949 it is" in problem.what
    assert "한국어.csv" in problem.what


def test_a_name_that_only_the_locale_cannot_read() -> None:
    as_ascii_reads_it = "한국어.csv".encode().decode("ascii", errors="surrogateescape")
    with pytest.raises(AuthorError, match=r"cannot decode '한국어\.csv'") as raised:
        require_text(as_ascii_reads_it)
    assert "PYTHONUTF8=1" in raised.value.problems[0].fix
    require_text("한국어.csv")
