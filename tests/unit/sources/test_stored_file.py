"""A data file is opened as rarely as possible, and a change between two passes is noticed."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from assay.core.errors import AuthorError
from assay.sources.files import open_source
from assay.sources.stored_file import KEPT_BYTES, StoredFile

_COUNT_OPENS = """
import os, sys
watched, n = os.path.abspath(sys.argv[1]), 0
def count(event, args):
    global n
    n += event == "open" and isinstance(args[0], str) and os.path.abspath(args[0]) == watched
sys.addaudithook(count)
from assay.faces.cli.main import main
from assay.sources import stored_file
stored_file.KEPT_BYTES = int(sys.argv[2])
sys.argv[1:] = sys.argv[3:]
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
print("opens:", n)
"""
_CSV_ROW = "What is {0} plus 1?,{0},{1},B\n"
_JSON_ROW = '{{"question": "What is {0} plus 1?", "A": "{0}", "B": "{1}", "answer": "B"}}\n'
_MANY = 60_000


def _count_opens(file: Path, *options: str, kept_bytes: int = KEPT_BYTES) -> int:
    ran = subprocess.run(
        [sys.executable, "-c", _COUNT_OPENS, str(file), str(kept_bytes), *options],
        cwd=file.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(ran.stdout.rsplit("opens:", 1)[1])


def _write_rows(file: Path, n: int) -> None:
    rows = _JSON_ROW if ".jsonl" in file.name else _CSV_ROW
    text = "" if ".jsonl" in file.name else "question,A,B,answer\n"
    data = (text + "".join(rows.format(at, at + 1) for at in range(n))).encode()
    file.write_bytes(gzip.compress(data) if file.suffix == ".gz" else data)


@pytest.mark.parametrize("name", ["data.csv", "data.jsonl", "data.csv.gz"])
def test_a_run_opens_a_small_file_once(tmp_path: Path, name: str) -> None:
    _write_rows(tmp_path / name, 5)
    assert _count_opens(tmp_path / name, "run", name, "-m", "mock", "--out", "out") == 1
    assert _count_opens(tmp_path / name, "check", name) == 1


def test_a_run_opens_a_large_csv_for_its_first_rows_to_check_all_rows_and_to_run_them(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    _write_rows(file, 6_000)
    assert file.stat().st_size > 1 << 17
    assert _count_opens(file, "run", "data.csv", "-m", "mock", "--out", "out", kept_bytes=1 << 17) == 3


def test_rows_beyond_the_kept_bytes_are_read_from_disk(tmp_path: Path) -> None:
    for name in ("data.csv", "data.jsonl", "data.csv.gz"):
        file = tmp_path / name
        _write_rows(file, _MANY)
        source = open_source(file)
        for _ in range(2):
            assert [record.fields["A"] for record in source.records()] == [str(at) for at in range(_MANY)]
        digest = hashlib.blake2b(file.read_bytes(), digest_size=16)
        assert source.content_hash() == digest.hexdigest()


@pytest.mark.parametrize("size", [0, 1, KEPT_BYTES - 1, KEPT_BYTES, KEPT_BYTES + 1, 3 * KEPT_BYTES])
def test_a_stored_file_has_the_bytes_and_the_hash_of_the_file(tmp_path: Path, size: int) -> None:
    data = bytes(at % 251 for at in range(size))
    (tmp_path / "data").write_bytes(data)
    stored = StoredFile(str(tmp_path / "data"))
    assert stored.content_hash() == hashlib.blake2b(data, digest_size=16).hexdigest()
    with stored.open() as stream:
        assert stream.read() == data
        assert stream.seek(0, 2) == size
        stream.seek(size // 2)
        assert stream.read() == data[size // 2 :]


def test_a_small_file_stays_as_it_was_first_read(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    _write_rows(file, 3)
    source = open_source(file)
    before = list(source.records())
    file.write_text("question,answer\nanother,row\n")
    assert list(source.records()) == before


def test_a_large_file_that_changes_between_two_passes_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    _write_rows(file, _MANY)
    source = open_source(file)
    source.check()
    with file.open("a") as stream:
        stream.write("one,more,row,B\n")
    with pytest.raises(AuthorError) as raised:
        list(source.records())
    assert raised.value.problems[0].code == "SOURCE-020"


def test_a_large_file_that_grows_during_a_pass_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    _write_rows(file, _MANY)
    rows = open_source(file).records()
    for _ in range(_MANY * 3 // 4):
        next(rows)
    with file.open("a") as stream:
        stream.write("one,more,row,B\n")
    with pytest.raises(AuthorError) as raised:
        list(rows)
    assert raised.value.problems[0].code == "SOURCE-020"
