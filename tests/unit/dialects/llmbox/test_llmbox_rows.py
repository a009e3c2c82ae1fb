from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import Problem
from assay.dialects.llmbox.library.raw_data import convert_column_types, read_python_rows, read_rows

ProblemOf = Callable[[Callable[[], object]], Problem]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["0", "12", "-3"], [0, 12, -3]),
        (["0", "", "2"], [0, None, 2]),
        (["1", "2.5", "1e3"], [1.0, 2.5, 1000.0]),
        (["True", "false"], [True, False]),
        (["1", "x"], ["1", "x"]),
        (["007", "008"], ["007", "008"]),
        (["None", "NA"], ["None", "NA"]),
        (["nan", "1"], ["nan", "1"]),
        (["", ""], [None, None]),
        (["１", "２"], ["１", "２"]),
    ],
)
def test_the_type_of_a_column(values: list[str], expected: list[object]) -> None:
    rows = convert_column_types([{"a": value} for value in values])
    assert [row["a"] for row in rows] == expected
    assert [type(row["a"]) for row in rows] == [type(value) for value in expected]


plain = st.integers(-(10**6), 10**6).map(str)
decimals = st.decimals(-1000, 1000, places=3).map(str)
columns = st.one_of(
    st.lists(plain, min_size=3, max_size=3),
    st.lists(decimals, min_size=3, max_size=3),
    st.lists(st.sampled_from(["True", "False", "true", "FALSE"]), min_size=3, max_size=3),
    st.lists(st.sampled_from(["a", "yes", "1 2", "B"]), min_size=3, max_size=3),
    st.lists(plain | st.sampled_from(["a", "b"]), min_size=3, max_size=3),
)


@given(columns)
def test_whole_columns_have_the_types_that_pandas_gives_them(values: list[str]) -> None:
    import pandas

    frame = pandas.read_csv(io.StringIO("a\n" + "\n".join(values) + "\n"), keep_default_na=False)
    ours = [row["a"] for row in convert_column_types([{"a": value} for value in values])]
    theirs = frame["a"].tolist()
    assert [type(value) for value in ours] == [type(value) for value in theirs]
    assert ours == pytest.approx(theirs)


def test_csv_and_tsv(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('q,n\n"x, y",1\nz,2\n')
    (tmp_path / "a.tsv").write_text("q\tn\nx\t1\nz\t2\n")
    assert read_rows(tmp_path / "a.csv") == [{"q": "x, y", "n": 1}, {"q": "z", "n": 2}]
    assert read_rows(tmp_path / "a.tsv") == [{"q": "x", "n": 1}, {"q": "z", "n": 2}]


def test_json_rows_have_every_column(tmp_path: Path) -> None:
    rows = [{"a": 1}, {"b": ["x"], "a": None}]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for name in ("a.json", "a.jsonl"):
        assert read_rows(tmp_path / name) == [{"a": 1, "b": None}, {"a": None, "b": ["x"]}]


def test_lines_of_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress("one\n\n two \x0c\u2028\r\nthree\n".encode()))
    assert [row["text"] for row in read_rows(path)] == ["one", "", " two \x0c\u2028", "three"]
    (tmp_path / "b.txt").write_text("no end")
    assert read_rows(tmp_path / "b.txt") == [{"text": "no end"}]


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    rows = [{"q": "x", "choices": {"text": ["a"], "label": [1]}}, {"q": "y", "choices": None}]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    assert read_rows(tmp_path / "a.parquet") == rows


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("A = [{}]\nB = []\n", "'A', 'B'"),
        ("_a = [{}]\n", "found none"),
        ("a = 1\n", "TypeError"),
        ("raise ValueError('boom')\n", "ValueError: boom"),
        ("rows = [{'a': 1}, 2]\n", "found 2"),
        ("rows = []\n", "contains no rows"),
    ],
)
def test_python_files_that_hold_no_rows(tmp_path: Path, problem_of: ProblemOf, text: str, part: str) -> None:
    (tmp_path / "rows.py").write_text(text)
    problem = problem_of(lambda: read_python_rows(tmp_path / "rows.py"))
    assert problem.code == "DATA-004"
    assert part in problem.what


def test_a_python_file_with_one_public_object(tmp_path: Path) -> None:
    (tmp_path / "rows.py").write_text(
        "import math\n_n = 2\nROWS = ({'a': math.floor(i)} for i in range(_n))\n"
    )
    assert read_python_rows(tmp_path / "rows.py") == [{"a": 0}, {"a": 1}]
