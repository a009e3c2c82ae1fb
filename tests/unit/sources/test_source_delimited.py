from __future__ import annotations

import csv
import gzip
import itertools
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.errors import AuthorError, Problem
from assay.core.origin import Origin
from assay.sources.files import open_source
from assay.sources.record import Record
from assay.sources.source import Source

ProblemOf = Callable[[Callable[[], object]], Problem]


def written(folder: Path, text: str | bytes, name: str = "data.csv") -> Source:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return open_source(path)


def fields(source: Source) -> list[dict[str, object]]:
    return [record.fields for record in source.records()]


def lines(source: Source) -> list[tuple[int | None, int | None]]:
    return [(record.origin.row, record.origin.line) for record in source.records()]


def test_every_value_is_a_string_and_knows_its_place(tmp_path: Path) -> None:
    source = written(tmp_path, "question,answer\n1+1=,2\n2+2=,4\n")
    path = str(tmp_path / "data.csv")
    assert source.path == path
    assert source.columns == ("question", "answer")
    assert list(source.records()) == [
        Record({"question": "1+1=", "answer": "2"}, Origin(path, 1, 2)),
        Record({"question": "2+2=", "answer": "4"}, Origin(path, 2, 3)),
    ]


def test_the_path_stays_as_the_person_named_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, "a,b\n1,2\n")
    monkeypatch.chdir(tmp_path)
    source = open_source("./data.csv")
    assert source.path == "./data.csv"
    assert next(source.records()).origin.path == "./data.csv"


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("is_packed", [False, True])
def test_mark_line_endings_and_packing_change_nothing(
    tmp_path: Path, mark: bytes, ending: str, is_packed: bool
) -> None:
    text = mark + ending.join(["질문,answer", "", '"가, ""나""",x', "", "", "y,z", ""]).encode()
    name, text = ("data.csv.gz", gzip.compress(text)) if is_packed else ("data.csv", text)
    source = written(tmp_path, text, name)
    assert source.columns == ("질문", "answer")
    assert fields(source) == [{"질문": '가, "나"', "answer": "x"}, {"질문": "y", "answer": "z"}]
    assert lines(source) == [(1, 3), (2, 6)]


def test_a_record_begins_where_its_first_line_is(tmp_path: Path) -> None:
    source = written(tmp_path, '\na,b\n"one\n\ntwo",1\n\n"x\r\ny",2\nlast,3')
    assert fields(source)[0] == {"a": "one\n\ntwo", "b": "1"}
    assert fields(source)[1]["a"] == "x\r\ny"
    assert lines(source) == [(1, 3), (2, 7), (3, 9)]


def test_a_line_of_white_space_is_blank_but_a_row_of_empty_values_is_not(tmp_path: Path) -> None:
    source = written(tmp_path, "a,b\n  \n,\n")
    assert fields(source) == [{"a": "", "b": ""}]
    assert lines(source) == [(1, 3)]


def test_one_column_may_hold_quoted_emptiness(tmp_path: Path) -> None:
    assert fields(written(tmp_path, 'text\n""\n\nx\n')) == [{"text": ""}, {"text": "x"}]


def test_huge_values_are_read(tmp_path: Path) -> None:
    passage = "word " * 200_000
    assert fields(written(tmp_path, f"p,q\n{passage},x\n"))[0]["p"] == passage


def test_records_can_be_walked_again_and_side_by_side(tmp_path: Path) -> None:
    source = written(tmp_path, "a\n1\n2\n3\n")
    assert fields(source) == fields(source)
    one, other = source.records(), source.records()
    assert [next(one).fields, next(other).fields, next(one).fields] == [{"a": "1"}, {"a": "1"}, {"a": "2"}]


def test_the_file_is_not_held_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    with path.open("w") as stream:
        stream.write("id,text\n")
        stream.writelines(f"{number},{'x' * 200}\n" for number in range(100_000))
    source = open_source(path)
    tracemalloc.start()
    try:
        assert [record.fields["id"] for record in itertools.islice(source.records(), 3)] == ["0", "1", "2"]
        assert sum(1 for _ in source.records()) == 100_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000 < path.stat().st_size


def test_tsv_knows_no_quotes(tmp_path: Path) -> None:
    source = written(tmp_path, 'a\tb\n"open\t1\nsay "hi", you\t2"\n', "data.tsv")
    assert fields(source) == [{"a": '"open', "b": "1"}, {"a": 'say "hi", you', "b": '2"'}]


def test_real_tsv_and_csv(data: Path) -> None:
    korean = open_source(data / "kor_nlu" / "KorSTS" / "sts-test.tsv")
    assert korean.columns == ("genre", "filename", "year", "id", "score", "sentence1", "sentence2")
    korean.check()
    assert sum(1 for _ in korean.records()) == 1379
    for path in sorted((data / "mmlu").rglob("*.csv")):
        with path.open(newline="", encoding="utf-8") as stream:
            assert fields(open_source(path)) == list(csv.DictReader(stream))


def test_ragged_rows(tmp_path: Path) -> None:
    source = written(tmp_path, 'a,b,c\n1,2,3\n\n"x\ny"\n4,5,6\n7,8,9,10, 11\n')
    records = source.records()
    assert next(records).fields == {"a": "1", "b": "2", "c": "3"}
    with pytest.raises(AuthorError, match="found 1 fields, expected 3; no value for the columns 'b', 'c'"):
        next(records)
    with pytest.raises(AuthorError) as caught:
        source.check()
    short, long = caught.value.problems
    assert [short.code, long.code] == ["SOURCE-005"] * 2
    assert short.where == Origin(source.path, 2, 4)
    assert "unclosed quote" in short.fix
    assert long.where == Origin(source.path, 4, 7)
    assert "found 5 fields, expected 3; extra values: '10', ' 11'" in long.what


def test_check_counts_all_and_keeps_some(tmp_path: Path) -> None:
    source = written(tmp_path, "a,b\n" + "1\n" * 50)
    with pytest.raises(AuthorError) as caught:
        source.check()
    assert caught.value.total == 50
    assert "and 30 more" in str(caught.value)


def test_an_open_quote_is_reported_where_it_opens(tmp_path: Path, problem_of: ProblemOf) -> None:
    source = written(tmp_path, 'a,b\n1,2\n3,"open\n5,6\n7,8\n')
    problem = problem_of(source.check)
    assert (problem.code, problem.where) == ("SOURCE-005", Origin(source.path, 2, 3))
    assert "never closed" in problem.what
    assert "continues to line 5" in problem.what


def test_reading_continues_after_a_misplaced_quote(tmp_path: Path) -> None:
    source = written(tmp_path, 'a,b\n"x"y,2\n3,4\n5\n')
    with pytest.raises(AuthorError) as caught:
        source.check()
    assert [problem.where for problem in caught.value.problems] == [
        Origin(source.path, 1, 2),
        Origin(source.path, 3, 4),
    ]


def test_the_index_that_pandas_writes_has_a_name(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(",question,answer\n0,q,a\n")
    assert open_source(tmp_path / "x.csv").columns == ("Unnamed: 0", "question", "answer")


@pytest.mark.parametrize(
    ("name", "header", "message"),
    [
        ("data.csv", "a;b;c", "seems to be ';'"),
        ("data.csv", "a\tb", "seems to be a tab"),
        ("data.tsv", "a,b", "seems to be ','"),
        ("data.csv", "a,,b", "column 2 of 3 has no name"),
        ("data.csv", ",,", "column 1, 2, 3 of 3 has no name"),
        ("data.csv", "a,b, ", "column 3 of 3 has no name"),
        ("data.csv", "a,b,a,b", "column name 'a', 'b' appears more than once"),
        ("data.csv", '"a,b', "cannot be split"),
    ],
)
def test_bad_headers(tmp_path: Path, problem_of: ProblemOf, name: str, header: str, message: str) -> None:
    source = written(tmp_path, f"\n{header}\n1,2,3\n", name)
    for call in (lambda: source.columns, source.check, lambda: next(source.records())):
        problem = problem_of(call)
        assert (problem.code, problem.where) == ("SOURCE-009", Origin(source.path, line=2))
        assert message in problem.what


@pytest.mark.parametrize("text", ["a,b\n", "a,b\n\n  \n", "\n\n"])
def test_no_rows(tmp_path: Path, problem_of: ProblemOf, text: str) -> None:
    source = written(tmp_path, text)
    assert problem_of(lambda: list(source.records())).code == "SOURCE-003"
    assert problem_of(source.check).code == "SOURCE-003"
