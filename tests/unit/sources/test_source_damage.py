"""Whatever happens to a file's bytes, reading it succeeds or ends in an error that a person can mend."""

from __future__ import annotations

import gzip
from pathlib import Path
from random import Random
from typing import Any

import pytest

from assay.core.errors import AuthorError
from assay.core.ids import draw
from assay.sources.files import open_source

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
        path.write_bytes(damage(good, draw(1, suffix, str(number))))
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
