"""Inference of a file's separator, header and encoding, and files that leave them open."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import shlex
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import AuthorError, Problem
from assay.sources.decimal_comma import convert_decimal_comma
from assay.sources.file_settings import FileSettings
from assay.sources.files import open_source, select_settings
from assay.sources.header import find_header_fault
from assay.sources.source import Source

ProblemOf = Callable[[Callable[[], object]], Problem]
MADE = [
    ["question", "answer"],
    ["What is 3,5 + 1?", "4,5"],
    ['Say "hi"; then go|on', "x\ty"],
    ["two\nlines", "z"],
]


def source_of(folder: Path, text: str | bytes, name: str = "data.csv", **message: Any) -> Source:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return open_source(path, FileSettings(**message))


def rows(source: Source) -> list[list[object]]:
    source.check()
    return [list(record.fields.values()) for record in source.records()]


def as_csv(table: list[list[str]], separator: str, **how: Any) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=separator, **how).writerows(table)
    return out.getvalue()


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["data.csv", "data.tsv"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_the_separator_is_found_whatever_the_suffix(
    tmp_path: Path, separator: str, name: str, quoting: Any
) -> None:
    source = source_of(tmp_path, as_csv(MADE, separator, quoting=quoting), name)
    assert source.columns == ("question", "answer")
    assert rows(source) == MADE[1:]
    usual = {"data.csv": ",", "data.tsv": "\t"}[name]
    assert any("separated by" in note for note in source.notes) == (separator != usual)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_the_separator_of_a_long_file_is_inferred(tmp_path: Path, ending: str) -> None:
    """The sample of a long file ends at a line end of any kind."""
    lines = ["question;answer", *(f"question {n}?;answer {n}" for n in range(4_000))]
    source = source_of(tmp_path, ending.join(lines))
    assert source.columns == ("question", "answer")
    assert rows(source)[-1] == ["question 3999?", "answer 3999"]


def test_quoted_values_in_a_tsv_file_with_carriage_returns(tmp_path: Path) -> None:
    source = source_of(tmp_path, '"question"\t"answer"\r"say ""hi"""\t"x"\r', "data.tsv")
    assert source.columns == ("question", "answer")
    assert rows(source) == [['say "hi"', "x"]]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_one_broken_row_does_not_hide_the_separator(tmp_path: Path, separator: str) -> None:
    table = [["question", "answer"], *[[f"q{k}", f"{k}"] for k in range(9)], ["short"]]
    source = source_of(tmp_path, as_csv(table, separator))
    with pytest.raises(AuthorError, match=r"row 10 \(line 11\).*found 1 fields, expected 2"):
        source.check()


def test_two_separators_that_fit_equally_are_asked_about(tmp_path: Path, problem_of: ProblemOf) -> None:
    text = "name,first;age\nDoe,Jane;30\nRoe,Sam;40\n"
    problem = problem_of(source_of(tmp_path, text).check)
    assert problem.code == "SOURCE-017"
    assert "assay run " in problem.fix
    assert "--separator ," in problem.fix
    assert "--separator ';'" in problem.fix
    assert source_of(tmp_path, text, separator=";").columns == ("name,first", "age")
    assert source_of(tmp_path, text, separator=",").columns == ("name", "first;age")


def test_excel_may_name_the_separator_in_the_first_line(tmp_path: Path) -> None:
    source = source_of(tmp_path, "sep=;\r\nquestion;answer\r\na,b;c\r\n")
    assert source.columns == ("question", "answer")
    assert [(record.fields, record.origin.line) for record in source.records()] == [
        ({"question": "a,b", "answer": "c"}, 3)
    ]


def test_without_settings_the_suffix_alone_decides(tmp_path: Path, problem_of: ProblemOf) -> None:
    (tmp_path / "data.csv").write_text("a;b\n1;2\n")
    problem = problem_of(open_source(tmp_path / "data.csv").check)
    assert (problem.code, "seems to be ';'" in problem.what) == ("SOURCE-009", True)


def test_quotes_of_a_tsv_are_text_unless_the_file_shows_otherwise(tmp_path: Path) -> None:
    plain = 'a\tb\n"open\t1\n"Hello"\t2\nsay "hi"\t3\n'
    assert rows(source_of(tmp_path, plain, "d.tsv"))[:2] == [['"open', "1"], ['"Hello"', "2"]]
    assert rows(source_of(tmp_path, 'a\tb\n"Hello"\t2\n', "d.tsv")) == [['"Hello"', "2"]]
    quoted = 'a\tb\n"two\nlines"\t1\n"say ""hi"""\t2\n'
    assert rows(source_of(tmp_path, quoted, "d.tsv")) == [["two\nlines", "1"], ['say "hi"', "2"]]
    assert rows(source_of(tmp_path, 'a\tb\n"x ""y"""\t2\n', "d.tsv", quotes=False)) == [['"x ""y"""', "2"]]


@pytest.mark.parametrize("line", [3, 5])
def test_notes_above_the_header_are_asked_about(tmp_path: Path, problem_of: ProblemOf, line: int) -> None:
    text = "Export of today\n" + "\n" * (line - 2) + "question,answer\n1+1=,2\n2+2=,4\n"
    problem = problem_of(source_of(tmp_path, text).check)
    assert problem.code == "SOURCE-015"
    assert f"--header-row {line}" in problem.fix
    source = source_of(tmp_path, text, header_row=line)
    assert rows(source) == [["1+1=", "2"], ["2+2=", "4"]]
    assert [record.origin.line for record in source.records()] == [line + 1, line + 2]


HEADERLESS = {
    "questions": "What is the capital of France?,Paris\nWhat is the capital of Spain?,Madrid\n",
    "labels": "I loved it,positive\nI hated it,negative\nIt was great,positive\nAwful,negative\n",
    "letters": "Pick one,x,y,B\nPick two,x,z,A\nPick three,v,w,B\n",
    "numbers": "1+1=,2\n2+2=,4\n3+3=,6\n",
    "doubled": "cat,dog,dog,cow\nred,blue,green,grey\n",
    "korean": "대한민국의 수도는 어디입니까?,서울\n프랑스의 수도는 어디입니까?,파리\n",
}


@pytest.mark.parametrize("kind", HEADERLESS)
@pytest.mark.parametrize("separator", [",", "\t"])
def test_a_missing_header_is_asked_about_and_no_row_is_lost(
    tmp_path: Path, problem_of: ProblemOf, kind: str, separator: str
) -> None:
    text = HEADERLESS[kind].replace(",", separator)
    problem = problem_of(source_of(tmp_path, text, "data.tsv" if separator == "\t" else "data.csv").check)
    assert problem.code == "SOURCE-015"
    assert "--no-header" in problem.fix
    assert " --header\n" in problem.fix
    source = source_of(tmp_path, text, has_header=False)
    table = [line.split(separator) for line in text.splitlines()]
    assert rows(source) == table
    assert source.columns == tuple(f"column_{n}" for n in range(1, len(table[0]) + 1))
    assert [record.origin.line for record in source.records()] == list(range(1, len(table) + 1))


@pytest.mark.parametrize(
    "header",
    [
        "question,A,B,C,D,answer",
        "Frage,A,B,C,D,Antwort",
        "문제,보기1,보기2,보기3,보기4,정답",
        "Kysymys,a,b,c,d,Vastaus",
        "0,1,2,3,4,5",
        "sentence1,sentence2,gold_label,pairID,x,y",
        "Question text,Option 1,Option 2,Option 3,Option 4,Correct answer",
        "__expected,prompt,a,b,c,d",
        "2019,2020,2021,2022,question,answer",
    ],
)
def test_headers_are_headers(tmp_path: Path, header: str) -> None:
    values = (
        "Which of these is the largest city of the country?,Paris,Lyon,Lille,Nice,A\nIs it so?,a,b,c,d,D\n"
    )
    assert source_of(tmp_path, f"{header}\n{values}").columns == tuple(header.split(","))


def test_survey_questions_above_short_answers_are_a_header() -> None:
    names = ["What is your favourite colour of all?", "How would you describe yourself?"]
    assert find_header_fault(names, [["red", "kind"], ["blue", "tall"], ["green", "shy"]]) is None


def test_real_files_with_and_without_their_header(data: Path, tmp_path: Path, problem_of: ProblemOf) -> None:
    paths = [*sorted((data / "mmlu").rglob("*.csv"))[::7], data / "kor_nlu" / "KorSTS" / "sts-test.tsv"]
    for path in paths:
        settings = FileSettings()
        whole = open_source(path, settings)
        whole.check()
        header, _, rest = path.read_text(encoding="utf-8").partition("\n")
        (tmp_path / path.name).write_text(rest, encoding="utf-8")
        bare = tmp_path / path.name
        problem = problem_of(open_source(bare, settings).check)
        assert problem.code == "SOURCE-015", path
        names = tuple(header.strip().split("\t" if path.suffix == ".tsv" else ","))
        named = open_source(bare, FileSettings(columns=names))
        assert [one.fields for one in named.records()] == [one.fields for one in whole.records()]


def test_the_suggested_command_names_the_columns_of_a_multiple_choice_file(
    tmp_path: Path, problem_of: ProblemOf
) -> None:
    text = "Which planet is red?,Mars,Venus,Earth,Pluto,A\nWhich planet is ours?,Mars,Venus,Earth,Pluto,C\n"
    problem = problem_of(source_of(tmp_path, text, "my questions.csv").check)
    command = next(line for line in problem.fix.splitlines() if "--columns" in line)
    words = shlex.split(command)
    assert words[:3] == ["assay", "run", str(tmp_path / "my questions.csv")]
    assert words[3:] == ["--no-header", "--columns", "question,A,B,C,D,answer"]


def test_names_that_do_not_fit_the_columns(tmp_path: Path, problem_of: ProblemOf) -> None:
    text = "q,a\n1,2\n"
    assert (
        "--columns has 3 names" in problem_of(source_of(tmp_path, text, columns=("a", "b", "c")).check).what
    )
    assert "repeats the first row" in problem_of(source_of(tmp_path, text, columns=("Q", "A")).check).what
    assert "more than once" in problem_of(source_of(tmp_path, text, columns=("a", "a")).check).what
    assert rows(source_of(tmp_path, text, columns=("x", "y"), has_header=True)) == [["1", "2"]]


@pytest.mark.parametrize(
    ("name", "message", "what"),
    [
        ("d.jsonl", {"separator": ";"}, "'separator' has no effect on a JSON lines file"),
        ("d.csv", {"sheet": "x"}, "'sheet' has no effect on a csv or tsv file"),
        ("d.txt", {"has_header": False}, "'has_header' has no effect on a plain text"),
        ("d.parquet", {"encoding": "cp949"}, "'encoding' has no effect on a .parquet file"),
        ("d.csv", {"separator": "ab"}, "expected a single character"),
        ("d.csv", {"header_row": 2, "columns": ("a",)}, "the other settings say that the file has no header"),
    ],
)
def test_settings_without_effect_are_errors(
    tmp_path: Path, problem_of: ProblemOf, name: str, message: dict[str, Any], what: str
) -> None:
    problem = problem_of(lambda: source_of(tmp_path, "x", name, **message))
    assert problem.code == "SOURCE-019"
    assert what in problem.what


def test_settings_of_another_file_are_those_that_its_format_has() -> None:
    message = FileSettings(separator=";", sheet="a", encoding="cp949", columns=("q", "a"))
    assert select_settings("x.csv", message).list_given() == ("columns", "separator", "encoding")
    assert select_settings("x.jsonl.gz", message).list_given() == ("encoding",)
    assert select_settings("x.xlsx", message).list_given() == ("columns",)
    assert select_settings("x.parquet", message).list_given() == ()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json", "a.txt", "a.csv.gz"])
def test_a_byte_order_mark_is_believed(tmp_path: Path, encoding: str, name: str) -> None:
    text = {"csv": "질문,답\n가,나\n", "txt": "가나"}.get(name.split(".")[1], '{"질문": "가", "답": "나"}\n')
    text = f"[{text}]" if name.endswith("json") else text
    packed = gzip.compress if name.endswith(".gz") else bytes
    source = source_of(tmp_path, packed(text.encode(encoding)), name)
    assert rows(source) == ([["가나"]] if name == "a.txt" else [["가", "나"]])
    assert any("byte order mark" in note for note in source.notes) == (encoding != "utf-8-sig")


@pytest.mark.parametrize(
    "encoding", ["cp949", "euc-kr", "gb18030", "shift-jis", "utf-16le", "cp1252", "utf-8"]
)
def test_a_named_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    text = {"cp949": "질문", "euc-kr": "질문", "shift-jis": "質問です", "cp1252": "café"}.get(
        encoding, "问题"
    )
    source = source_of(tmp_path, f"question,answer\n{text},x\n".encode(encoding) * 1, encoding=encoding)
    assert rows(source) == [[text, "x"]]


def test_a_wrong_encoding_is_an_error(tmp_path: Path, problem_of: ProblemOf) -> None:
    text = "question,answer\n质量,x\n".encode("gb18030")
    assert problem_of(source_of(tmp_path, text, encoding="ascii").check).code == "SOURCE-004"
    problem = problem_of(lambda: source_of(tmp_path, text, encoding="klingon"))
    assert (problem.code, "klingon" in problem.what) == ("SOURCE-004", True)
    assert "unknown text encoding" in problem_of(lambda: source_of(tmp_path, text, encoding="base64")).what
    assert "--encoding gb18030" in problem_of(source_of(tmp_path, text * 3).check).fix


def test_lines_of_other_encodings_are_bounded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.sources.stream.LONGEST_LINE", 1000)
    source = source_of(tmp_path, ("a,b\n" + "가" * 500_000).encode("utf-16"))
    with pytest.raises(AuthorError, match="SOURCE-013"):
        source.check()


def zstd(text: bytes) -> bytes:
    pa: Any = pytest.importorskip("pyarrow", reason="needs the datasets extra")
    packed: bytes = pa.Codec("zstd").compress(text, asbytes=True)
    return packed


def zipped(text: bytes, *names: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names or ("inner/data.csv",):
            archive.writestr(name, text)
    return made.getvalue()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".csv.gz": gzip.compress,
    ".csv.bz2": bz2.compress,
    ".csv.xz": lzma.compress,
    ".csv.zst": zstd,
    ".zip": zipped,
}


@pytest.mark.parametrize("suffix", PACKERS)
def test_packed_files(tmp_path: Path, suffix: str, problem_of: ProblemOf) -> None:
    text = "question;answer\n" + "a,b;c\n" * 5000
    whole = PACKERS[suffix](text.encode())
    source = source_of(tmp_path, whole, f"data{suffix}")
    assert rows(source) == [["a,b", "c"]] * 5000
    assert next(source.records()).origin.path == str(tmp_path / f"data{suffix}")
    for damaged in (b"not packed at all", whole[: len(whole) // 2]):
        (tmp_path / f"data{suffix}").write_bytes(damaged)
        made = tmp_path / f"data{suffix}"
        assert problem_of(lambda: open_source(made, FileSettings()).check()).code == "SOURCE-011"  # noqa: B023


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_few_packed_bytes_do_not_fill_the_memory(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.sources.stream.LONGEST_LINE", 1_000_000)
    source = source_of(tmp_path, PACKERS[suffix](b"a,b\n" + b"x" * 30_000_000), f"data{suffix}")
    with pytest.raises(AuthorError, match="SOURCE-013"):
        source.check()


def test_an_archive_of_several_files_is_asked_about(tmp_path: Path, problem_of: ProblemOf) -> None:
    text = b"question,answer\n1+1=,2\n"
    beside = ("readme.md", "__MACOSX/._data.csv", ".hidden.csv", "data.csv.meta.json")
    assert rows(source_of(tmp_path, zipped(text, "data.csv", *beside), "d.zip")) == [["1+1=", "2"]]
    packed = zipped(text, "train.csv", "my test.csv")
    problem = problem_of(lambda: source_of(tmp_path, packed, "d.zip"))
    assert problem.code == "SOURCE-016"
    assert "--sheet train.csv" in problem.fix
    assert "--sheet 'my test.csv'" in problem.fix
    assert rows(source_of(tmp_path, packed, "d.zip", sheet="my test.csv")) == [["1+1=", "2"]]
    missing = problem_of(lambda: source_of(tmp_path, packed, "d.zip", sheet="tran.csv"))
    assert "did you mean 'train.csv'" in missing.what
    assert (
        "no readable text file"
        in problem_of(lambda: source_of(tmp_path, zipped(text, "a.pdf"), "d.zip")).what
    )


def test_a_document_named_lines_is_read_as_one(tmp_path: Path) -> None:
    text = '[\n  {"question": "a", "answer": 1},\n  {"question": "b", "answer": 2}\n]\n'
    assert rows(source_of(tmp_path, text, "d.jsonl")) == [["a", 1], ["b", 2]]
    assert rows(source_of(tmp_path, '[{"q": 1}, {"q": 2}]', "d.jsonl")) == [[1], [2]]
    assert rows(source_of(tmp_path, '{"q": 1}\n{"q": 2}\n', "d.json")) == [[1], [2]]


COLUMNS = {
    "lists": '{"q": ["a", "b"], "n": [1, [2]]}',
    "lists of objects": '{"q": ["a", "b"], "n": [1, [2]], "more": [{"x": 1}, {"x": 2}]}',
    "pandas columns": '{"q": {"0": "a", "1": "b"}, "n": {"0": 1, "1": [2]}}',
    "pandas index": '{"0": {"q": "a", "n": 1}, "1": {"q": "b", "n": [2]}}',
    "pandas split": '{"columns": ["q", "n"], "index": [0, 1], "data": [["a", 1], ["b", [2]]]}',
}


@pytest.mark.parametrize("shape", COLUMNS)
def test_documents_written_by_columns(tmp_path: Path, shape: str) -> None:
    source = source_of(tmp_path, COLUMNS[shape], "d.json")
    assert [row[:2] for row in rows(source)] == [["a", 1], ["b", [2]]]
    assert source.columns[:2] == ("q", "n")


@pytest.mark.parametrize(
    "text",
    ['{"q": ["a", "b"], "n": [1]}', '{"q1": {"question": "a"}, "q2": {"question": "b"}}', '{"q": ["a"]}'],
)
def test_documents_whose_shape_is_not_certain_are_not_read(
    tmp_path: Path, problem_of: ProblemOf, text: str
) -> None:
    assert problem_of(source_of(tmp_path, text, "d.json").check).code == "SOURCE-007"


def test_a_document_with_several_tables_is_asked_about(tmp_path: Path, problem_of: ProblemOf) -> None:
    text = '{"train": [{"q": 1}], "the test": [{"q": 2}], "version": 3}'
    problem = problem_of(source_of(tmp_path, text, "d.json").check)
    assert problem.code == "SOURCE-016"
    assert "--sheet 'the test'" in problem.fix
    assert rows(source_of(tmp_path, text, "d.json", sheet="the test")) == [[2]]
    assert problem_of(source_of(tmp_path, text, "d.json", sheet="tests").check).code == "SOURCE-016"


def test_nested_questions_are_rows_with_their_context(tmp_path: Path) -> None:
    text = """{"version": "1.1", "data": [{"title": "T", "paragraphs": [
      {"context": "C1", "qas": [{"id": "1", "question": "a"}, {"id": "2", "question": "b"}]},
      {"context": "C2", "qas": [{"id": "3", "question": "c"}]}]}]}"""
    source = source_of(tmp_path, text, "d.json")
    assert source.columns == ("title", "context", "id", "question")
    assert [row[1:] for row in rows(source)] == [["C1", "1", "a"], ["C1", "2", "b"], ["C2", "3", "c"]]
    (tmp_path / "plain.json").write_text(text)
    assert open_source(tmp_path / "plain.json").columns == ("title", "paragraphs")


def test_real_nested_questions(data: Path) -> None:
    path = next(iter(sorted((data / "xquad").rglob("*.json"))), None)
    if path is None:
        pytest.skip("no nested questions in the shared data")
    source = open_source(path, FileSettings())
    source.check()
    first = next(source.records())
    assert {"context", "question", "answers"} <= set(first.fields)


@pytest.mark.parametrize(
    ("cells", "is_shown"),
    [
        (["12,75", "3,5", "text"], True),
        (["0,5", "7"], True),
        (["1.234,5"], True),
        (["3,5", "2,3"], False),
        (["1,234", "2,500"], False),
        (["12,75", "3.5"], False),
        (["12,75", "1,234.5"], False),
        (["1,2,3", "a, b"], False),
    ],
)
def test_a_decimal_comma_is_inferred_only_where_it_is_certain(
    tmp_path: Path, cells: list[str], is_shown: bool
) -> None:
    text = "question;answer\n" + "".join(f"q{n};{cell}\n" for n, cell in enumerate(cells))
    source = source_of(tmp_path, text)
    assert source.has_decimal_comma == is_shown
    assert any("decimal comma" in note for note in source.notes) == is_shown
    assert source_of(tmp_path, text, decimal_comma=not is_shown).has_decimal_comma != is_shown
    assert [row[1] for row in rows(source)] == cells


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("3,5", "3.5"),
        ("1.234,5", "1234.5"),
        ("-0,25", "-0.25"),
        ("1,2,3", "1,2,3"),
        ("3.5", "3.5"),
        ("a", "a"),
    ],
)
def test_a_number_with_a_decimal_comma_as_one_with_a_point(text: str, number: str) -> None:
    assert convert_decimal_comma(text) == number


def test_a_folder_of_shards_is_one_table(tmp_path: Path, problem_of: ProblemOf) -> None:
    folder = tmp_path / "quiz"
    folder.mkdir()
    for number in range(3):
        text = "".join(f'{{"question": "q{3 * number + k}", "answer": {k}}}\n' for k in range(3))
        (folder / f"test-{number:05}-of-00003.jsonl").write_text(text)
    (folder / "README.md").write_text("about")
    (folder / "_SUCCESS").write_text("")
    source = open_source(folder, FileSettings())
    source.check()
    assert [record.fields["question"] for record in source.records()] == [f"q{n}" for n in range(9)]
    assert [record.origin.row for record in source.records()] == list(range(1, 10))
    assert source.columns == ("question", "answer")
    assert source.notes == ("the table has 3 shards",)
    before = source.content_hash()
    (folder / "test-00002-of-00003.jsonl").write_text('{"question": "x", "answer": 1}\n')
    assert open_source(folder, FileSettings()).content_hash() != before
    (folder / "test-00002-of-00003.jsonl").write_text('{"question": "x", "gold": 1}\n')
    assert problem_of(open_source(folder, FileSettings()).check).code == "SOURCE-009"
    (folder / "test-00001-of-00003.jsonl").unlink()
    assert "2 of 3 shards" in problem_of(lambda: open_source(folder, FileSettings())).what
    (folder / "train-00000-of-00001.jsonl").write_text('{"question": "x", "answer": 1}\n')
    assert "pass the path of one file" in problem_of(lambda: open_source(folder, FileSettings())).fix


def test_a_folder_that_spark_wrote_is_one_table(tmp_path: Path) -> None:
    for number in range(2):
        name = f"part-{number:05}-0f3a-c000.csv"
        (tmp_path / name).write_text(f"question,answer\nq{number},a{number}\n")
    assert rows(open_source(tmp_path, FileSettings())) == [["q0", "a0"], ["q1", "a1"]]
