from __future__ import annotations

import datetime
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import Problem
from assay.core.origin import Origin
from assay.sources.files import open_source
from assay.sources.record import Record

ProblemOf = Callable[[Callable[[], object]], Problem]
pa: Any = pytest.importorskip("pyarrow", reason="needs the datasets extra")
FILES = ["d.parquet", "d.feather", "d.ipc", "stream.arrow"]


def save(table: Any, path: Path) -> Path:
    if path.suffix == ".parquet":
        import pyarrow.parquet

        pyarrow.parquet.write_table(table, path)
    else:
        make = pa.ipc.new_stream if path.stem == "stream" else pa.ipc.new_file
        with pa.OSFile(str(path), "wb") as sink, make(sink, table.schema) as writer:
            writer.write_table(table)
    return path


@pytest.mark.parametrize("name", FILES)
def test_plain_values_and_rows(tmp_path: Path, name: str) -> None:
    rows: list[dict[str, Any]] = [
        {"q": "가", "choices": {"text": ["a", "b"], "label": ["A", "B"]}, "n": 1, "x": 0.5},
        {"q": None, "choices": {"text": [], "label": []}, "n": 2**40, "x": None},
    ]
    source = open_source(save(pa.Table.from_pylist(rows), tmp_path / name))
    assert source.columns == ("q", "choices", "n", "x")
    expected = [Record(fields, Origin(source.path, row)) for row, fields in enumerate(rows, 1)]
    assert list(source.records()) == expected
    assert list(source.records()) == expected
    source.check()


def test_dates_and_categories(tmp_path: Path) -> None:
    table = pa.table(
        {"day": [datetime.date(2024, 1, 2)], "label": pa.array(["yes"]).dictionary_encode()},
    )
    record = next(open_source(save(table, tmp_path / "d.parquet")).records())
    assert record.fields == {"day": datetime.date(2024, 1, 2), "label": "yes"}


@pytest.mark.parametrize("name", FILES)
def test_many_rows_in_order_and_abandoned_early(tmp_path: Path, name: str) -> None:
    path = save(pa.table({"n": list(range(5000))}), tmp_path / name)
    source = open_source(path)
    assert [record.fields["n"] for record in source.records()] == list(range(5000))
    assert [record.origin.row for record in itertools.islice(source.records(), 2)] == [1, 2]


@pytest.mark.parametrize("name", FILES)
def test_no_rows(tmp_path: Path, problem_of: ProblemOf, name: str) -> None:
    source = open_source(save(pa.table({"a": pa.array([], pa.string())}), tmp_path / name))
    assert problem_of(source.check).code == "SOURCE-003"


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["cut", "text", "lfs"])
def test_damaged(tmp_path: Path, problem_of: ProblemOf, name: str, damage: str) -> None:
    path = save(pa.table({"a": ["some text"] * 1000}), tmp_path / name)
    whole = path.read_bytes()
    path.write_bytes(
        {
            "cut": whole[: len(whole) // 2],
            "text": b"question,answer\n1,2\n",
            "lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n",
        }[damage]
    )
    problem = problem_of(open_source(path).check)
    assert (problem.code, problem.where) == ("SOURCE-011", Origin(str(path)))
    assert ("git lfs pull" in problem.fix) == (damage == "lfs")


def test_doubled_names(tmp_path: Path, problem_of: ProblemOf) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    source = open_source(save(table, tmp_path / "stream.arrow"))
    assert problem_of(source.check).code == "SOURCE-009"
    assert problem_of(lambda: source.columns).code == "SOURCE-009"


@pytest.mark.parametrize("name", FILES)
def test_without_the_extra(
    tmp_path: Path, problem_of: ProblemOf, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    source = open_source(save(pa.table({"a": [1]}), tmp_path / name))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    problem = problem_of(source.check)
    assert (problem.code, problem.fix) == ("SOURCE-008", "pip install 'assay-eval[datasets]'")
