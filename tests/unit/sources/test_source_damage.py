"""Whatever happens to a file's bytes, reading it succeeds or raises an error with a fix."""

from __future__ import annotations

import gzip
from pathlib import Path
from random import Random
from typing import Any

import pytest

from assay.core.errors import AuthorError
from assay.core.ids import make_random
from assay.sources import stream
from assay.sources.files import open_source
from assay.sources.source import MOST_PROBLEMS
from assay.sources.stream import LONGEST_LINE

TEXTS = {
    ".csv": '질문,b\n"x,\ny",2\n3,café\n\n'.encode(),
    ".tsv": '질문\tb\n1\t"2\n'.encode(),
    ".json": '[{"a": 1}, {"b": "가"}]'.encode(),
    ".jsonl": '{"a": 1}\n{"b": "가"}\n'.encode(),
}
STRAY = [b'"', b"\0", b"\xff\xfe", b"[", b"{", b"\r", b",", b"\n", b"\xe9"]


def whole(folder: Path, suffix: str) -> bytes:
    if suffix in TEXTS:
        return TEXTS[suffix]
    if suffix.endswith(".gz"):
        return gzip.compress(TEXTS[suffix.removesuffix(".gz")], mtime=0)
    pa: Any = pytest.importorskip("pyarrow", reason="needs the datasets extra")
    table = pa.table({"a": ["x", "가"] * 50, "b": list(range(100))})
    path = folder / f"whole{suffix}"
    if suffix == ".parquet":
        import pyarrow.parquet

        pyarrow.parquet.write_table(table, path)
    else:
        make = pa.ipc.new_stream if suffix == ".arrow" else pa.ipc.new_file
        with pa.OSFile(str(path), "wb") as sink, make(sink, table.schema) as writer:
            writer.write_table(table)
    return path.read_bytes()


def damage(good: bytes, chance: Random) -> bytes:
    data = bytearray(good)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(data)) if data else 0
        way = chance.randint(0, 3)
        if way == 0:
            data[at : at + 1] = bytes([chance.randrange(256)])
        elif way == 1:
            data[at:at] = chance.choice(STRAY)
        elif way == 2:
            del data[at : at + chance.randint(1, 5)]
        else:
            del data[at + 1 :]
    return bytes(data)


@pytest.mark.parametrize("suffix", [*TEXTS, *(f"{name}.gz" for name in TEXTS), ".parquet", ".arrow", ".ipc"])
def test_damage_is_read_or_reported(tmp_path: Path, suffix: str) -> None:
    good = whole(tmp_path, suffix)
    path = tmp_path / f"data{suffix}"
    errors = []
    for number in range(400):
        path.write_bytes(damage(good, make_random(1, suffix, str(number))))
        try:
            source = open_source(path)
            source.check()
            assert all(set(record.fields) <= set(source.columns) for record in source.records())
        except AuthorError as error:
            errors.append(error)
    assert len(errors) > 40
    for found in errors:
        assert all(problem.code.startswith("SOURCE-") for problem in found.problems)
        assert str(path) in str(found)


def packed(path: Path, *pieces: bytes) -> str:
    with gzip.open(path, "wb", 1) as file:
        for piece in pieces:
            file.write(piece)
    return str(path)


@pytest.mark.parametrize(
    ("name", "head", "tail"),
    [("x.csv.gz", b"question,answer\n", b",x\n"), ("x.jsonl.gz", b'{"question": "', b'", "answer": "x"}\n')],
)
def test_a_line_without_an_end_is_not_gathered(tmp_path: Path, name: str, head: bytes, tail: bytes) -> None:
    path = packed(tmp_path / name, head, b"a" * (LONGEST_LINE + 1_000_000), tail)
    with pytest.raises(AuthorError, match=r"SOURCE-013.*a line has more than 64,000,000 bytes"):
        open_source(path).check()


def test_a_cell_that_spans_lines_without_end_is_not_gathered(tmp_path: Path) -> None:
    path = packed(tmp_path / "x.csv.gz", b'question,answer\n"', b"aaaaaaaaa\n" * 5_000_000, b'",x\n')
    with pytest.raises(AuthorError, match="more than 33,000,000 characters") as caught:
        open_source(path).check()
    assert caught.value.total == MOST_PROBLEMS, "the rest of the file is not read"


def test_a_packed_document_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MOST_UNPACKED", 1_000_000)
    path = packed(tmp_path / "x.json.gz", b'[{"question": "', b"a" * 1_000_000, b'"}]')
    with pytest.raises(AuthorError, match=r"SOURCE-013.*unpacks to more than 1,000,000 bytes"):
        open_source(path).check()


def test_a_long_cell_is_read(tmp_path: Path) -> None:
    path = packed(tmp_path / "x.csv.gz", b"question,answer\n", b"a" * 20_000_000, b",x\n")
    (record,) = open_source(path).records()
    assert len(record.fields["question"]) == 20_000_000


def test_a_header_of_many_columns_is_checked_at_once(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(100_000)]
    (tmp_path / "x.csv").write_text(",".join(names) + "\n" + ",".join("1" * 100_000) + "\n")
    assert len(open_source(tmp_path / "x.csv").columns) == 100_000
    (tmp_path / "y.csv").write_text(",".join([*names, "c7", ""]) + "\n")
    with pytest.raises(AuthorError, match="SOURCE-009") as caught:
        open_source(tmp_path / "y.csv").check()
    assert len(str(caught.value)) < 2_000
