from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import StoreError
from assay.results.output_folder import require_writable
from cli import assay


def a_file(folder: Path) -> Path:
    (folder / "file").write_text("precious", encoding="utf-8")
    return folder / "file"


def below_a_file(folder: Path) -> Path:
    return a_file(folder) / "deep" / "run"


def too_long(folder: Path) -> Path:
    return folder / ("x" * 300)


def too_long_for_its_files(folder: Path) -> Path:
    path = folder
    while len(os.fspath(path)) < os.pathconf(folder, "PC_PATH_MAX") - 40:
        path /= "y" * 30
    return path / ("y" * (os.pathconf(folder, "PC_PATH_MAX") - 8 - len(os.fspath(path))))


def a_broken_link(folder: Path) -> Path:
    (folder / "link").symlink_to("nowhere")
    return folder / "link"


def below_a_broken_link(folder: Path) -> Path:
    return a_broken_link(folder) / "run"


def a_link_to_itself(folder: Path) -> Path:
    (folder / "loop").symlink_to("loop")
    return folder / "loop" / "run"


def of_the_system(folder: Path) -> Path:
    return Path("/proc/assay-run")


HOPELESS = [
    a_file,
    below_a_file,
    too_long,
    too_long_for_its_files,
    a_broken_link,
    below_a_broken_link,
    a_link_to_itself,
    of_the_system,
]


@pytest.mark.parametrize("make", HOPELESS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("flag", ["--out", "--runs-dir"])
def test_a_folder_that_cannot_be_made_is_an_error_before_the_model_is_looked_for(
    tmp_path: Path, make: Callable[[Path], Path], flag: str
) -> None:
    folder = make(tmp_path)
    rows = tmp_path / "rows.csv"
    rows.write_text("question,A,B,answer\nq,x,y,A\n", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    result = assay("run", str(rows), "--model", "hf:there/is/no/such/model", flag, str(folder))
    assert result.status == 2
    assert "STORE-011" in result.err
    assert f"choose another {flag}" in result.err
    assert "Traceback" not in result.err
    assert sorted(tmp_path.rglob("*")) == before
    answer = assay("run", str(rows), "--model", "mock", flag, str(folder), "--json")
    assert (answer.status, '"code": "STORE-011"' in answer.out) == (2, True)


def test_what_is_in_the_way_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"Not a directory \(.*/file is not a folder\)"):
        require_writable(below_a_file(tmp_path))
    with pytest.raises(StoreError, match=r"File exists \(.*/link is a broken link\)"):
        require_writable(below_a_broken_link(tmp_path))


@pytest.mark.parametrize(
    ("number", "code"), [(errno.EROFS, "STORE-011"), (errno.EACCES, "STORE-011"), (errno.ENOSPC, "STORE-009")]
)
def test_a_disk_that_takes_no_files_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str
) -> None:
    def fail(*args: Any, **more: Any) -> Any:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(tempfile, "TemporaryFile", fail)
    with pytest.raises(StoreError, match=f"{code}.*{os.strerror(number)}"):
        require_writable(tmp_path / "new")


def test_a_folder_that_can_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    require_writable(tmp_path / "a" / "b")
    require_writable(tmp_path)
    assert list(tmp_path.iterdir()) == []
