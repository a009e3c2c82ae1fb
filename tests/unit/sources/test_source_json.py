from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.errors import AuthorError, Problem
from assay.core.origin import Origin
from assay.sources.files import open_source
from assay.sources.record import Record
from assay.sources.source import Source

ProblemOf = Callable[[Callable[[], object]], Problem]


def written(folder: Path, text: str | bytes, name: str = "data.jsonl") -> Source:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return open_source(path)


def fields(source: Source) -> list[dict[str, object]]:
    return [record.fields for record in source.records()]


@pytest.mark.parametrize("name", ["d.jsonl", "d.ndjson", "d.jsonl.gz", "D.JSONL"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_lines(tmp_path: Path, name: str, mark: bytes) -> None:
    text = mark + '{"q": "가\u2028나", "n": 1}\r\n\n  \n{"n": [1.5, null], "x": {"y": true}}'.encode()
    source = written(tmp_path, gzip.compress(text) if name.endswith(".gz") else text, name)
    first, second = source.records()
    assert first == Record({"q": "가\u2028나", "n": 1}, Origin(source.path, 1, 1))
    assert second == Record({"n": [1.5, None], "x": {"y": True}}, Origin(source.path, 2, 4))
    assert source.columns == ("q", "n", "x")
    assert fields(source) == fields(source)


def test_large_integers_stay_whole(tmp_path: Path) -> None:
    assert fields(written(tmp_path, '{"n": 123456789012345678901234567890}')) == [
        {"n": 123456789012345678901234567890}
    ]


def test_broken_lines_are_all_reported(tmp_path: Path) -> None:
    text = (
        '{"a": 1}\n{"가": "나" "b": 2}\n\n[1, 2]\n"x"\n{"a": 1\n{"a": NaN}\n{"a": "\\ud800"}\n{"a": 1e999}\n'
    )
    source = written(tmp_path, text)
    with pytest.raises(AuthorError) as caught:
        source.check()
    problems = caught.value.problems
    assert {problem.code for problem in problems} == {"SOURCE-006"}
    assert [problem.where for problem in problems] == [
        Origin(source.path, row, line)
        for row, line in [(2, 2), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (8, 9)]
    ]
    whats = [problem.what for problem in problems]
    assert "at column 11: Expecting ',' delimiter" in whats[0]
    assert """the line begins with '{"가": "나" "b": 2}'""" in whats[0]
    assert "found a list;" in whats[1]
    assert "found a string" in whats[2]
    assert "at column 8" in whats[3]
    assert "at column 7" in whats[4]
    assert "null instead of NaN" in problems[4].fix
    assert "surrogate" in whats[5]
    assert "out of range" in whats[6]
    with pytest.raises(AuthorError, match="SOURCE-006"):
        _ = source.columns
    records = source.records()
    assert next(records).fields == {"a": 1}
    with pytest.raises(AuthorError) as caught:
        next(records)
    assert caught.value.problems == problems[:1]


def test_a_long_broken_line_is_shown_by_its_beginning(tmp_path: Path, problem_of: ProblemOf) -> None:
    what = problem_of(written(tmp_path, '{"a": "' + "x" * 5000).check).what
    assert len(what) < 200
    assert "xxx...'" in what


@pytest.mark.parametrize(
    "line", ["[1, 2", '"x', "12", "-", "nul", "[" * 50_000, '{"n": ' + "9" * 5000 + "}", "\x00"]
)
def test_a_line_can_be_broken_in_any_way(tmp_path: Path, problem_of: ProblemOf, line: str) -> None:
    problem = problem_of(written(tmp_path, f'{{"a": 1}}\n{line}\n').check)
    assert (problem.code, problem.where) == ("SOURCE-006", Origin(str(tmp_path / "data.jsonl"), 2, 2))


def test_deep_nesting_is_an_error(tmp_path: Path, problem_of: ProblemOf) -> None:
    assert "nested too deeply" in problem_of(written(tmp_path, '{"a":1}\n' + '{"a":' * 50_000).check).what


@pytest.mark.parametrize("text", ['[\n{"a": 1},\n{"a": 2}\n]', '{\n"data": []\n}', '[{"a": 1}, {"a": 2}]'])
def test_a_document_named_lines_is_one_problem(tmp_path: Path, problem_of: ProblemOf, text: str) -> None:
    problem = problem_of(written(tmp_path, text).check)
    assert (problem.code, problem.fix) == ("SOURCE-006", "name the file .json")


def test_lines_stream(tmp_path: Path) -> None:
    # The broken end is never reached, so the file was not read whole.
    source = written(tmp_path, '{"a": 1}\n' * 100_000 + "{")
    assert len(list(itertools.islice(source.records(), 3))) == 3


@pytest.mark.parametrize(
    "text",
    [
        '[{"a": 1}, {"b": 2}]',
        '\ufeff[\n{"a": 1},\n\n{"b": 2}\n]\n',
        '{"canary": "x", "tags": ["t"], "examples": [{"a": 1}, {"b": 2}]}',
    ],
)
@pytest.mark.parametrize("is_packed", [False, True])
def test_documents(tmp_path: Path, text: str, is_packed: bool) -> None:
    packed = gzip.compress(text.encode()) if is_packed else text
    source = written(tmp_path, packed, "d.json.gz" if is_packed else "d.json")
    source.check()
    assert list(source.records()) == [
        Record({"a": 1}, Origin(source.path, 1)),
        Record({"b": 2}, Origin(source.path, 2)),
    ]
    assert source.columns == ("a", "b")


def test_lines_named_json_are_read_as_lines(tmp_path: Path) -> None:
    source = written(tmp_path, '{"a": 1}\n\n{"a": 2}\n', "d.json")
    assert [record.origin.line for record in source.records()] == [1, 3]
    source = written(tmp_path, '{"a": 1}\n{"a": \n', "d.json")
    with pytest.raises(AuthorError, match=r"SOURCE-006 .* row 2 \(line 2\)"):
        source.check()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("null", "found null"),
        ('"x"', "found a string"),
        ("[1, 2]", "a list of 2 whose first item is 1"),
        ('[["q", "a"]]', "whose first item is a list of 2"),
        ('{"a": 1}', "without a list of objects; its keys are 'a'"),
        ("{}", "without a list of objects"),
        ('{"a": [{"x": 1}], "b": [{"x": 1}]}', "several lists of objects: 'a', 'b'"),
    ],
)
def test_not_a_table(tmp_path: Path, problem_of: ProblemOf, text: str, found: str) -> None:
    source = written(tmp_path, text, "d.json")
    problem = problem_of(source.check)
    assert (problem.code, problem.where) == ("SOURCE-007", Origin(source.path))
    assert found in problem.what


def test_single_rows_that_are_not_objects(tmp_path: Path) -> None:
    source = written(tmp_path, '[{"a": 1}, 2, {"a": 3}, null]', "d.json")
    with pytest.raises(AuthorError) as caught:
        source.check()
    assert [str(problem.where) for problem in caught.value.problems] == [
        f"{source.path} row 2",
        f"{source.path} row 4",
    ]


def test_a_broken_document(tmp_path: Path, problem_of: ProblemOf) -> None:
    source = written(tmp_path, '[\n {"a": 1},\n {"a" 2}\n]', "d.json")
    problem = problem_of(source.check)
    assert (problem.code, problem.where) == ("SOURCE-006", Origin(source.path, line=3))
    assert "Expecting ':' delimiter at column 7" in problem.what


@pytest.mark.parametrize(
    ("name", "text"), [("d.json", "[]"), ("d.json", '{"data": []}'), ("d.json", "\n"), ("d.jsonl", "\n\n")]
)
def test_no_rows(tmp_path: Path, problem_of: ProblemOf, name: str, text: str) -> None:
    assert problem_of(written(tmp_path, text, name).check).code == "SOURCE-003"


def test_real_files(data: Path) -> None:
    counts = {
        "gsm8k/test.jsonl": 1319,
        "humaneval/HumanEval.jsonl.gz": 164,
        "klue/ynat/validation.json": 9107,
        "klue/klue-nli-v1.1/klue-nli-v1.1_dev.json": 3000,
        "bbh/bbh/web_of_lies.json": 250,
        "aisbench_custom/test_mcq.jsonl": 4,
    }
    assert {name: sum(1 for _ in open_source(data / name).records()) for name in counts} == counts
    with (data / "gsm8k" / "test.jsonl").open(encoding="utf-8") as stream:
        assert fields(open_source(data / "gsm8k" / "test.jsonl")) == [json.loads(line) for line in stream]


@pytest.mark.parametrize(
    ("name", "text", "key"),
    [
        ("d.jsonl", '{"question": "a", "answer": "b", "question": "c"}\n', "question"),
        ("d.jsonl", '{"q": "a"}\n{"q" : "a", "q"\t: "c"}\n', "q"),
        ("d.jsonl", '{"q": "a", "target_scores": {"1": 0, "2": 1, "1": 1}}\n', "1"),
        ("d.jsonl", '{"q": "say \\\\":", "list": [{"a": 1, "a": 2}]}\n'.replace("\\\\", "\\"), "a"),
        ("d.json", '[{"q": "a"}, {"q": "b", "q": "c"}]', "q"),
        ("d.json", '{"version": 1, "version": 2, "rows": [{"q": "a"}]}', "version"),
    ],
)
def test_a_key_that_is_twice_is_an_error(tmp_path: Path, name: str, text: str, key: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(AuthorError, match=rf"SOURCE-014.*the key '{key}' appears more than once"):
        open_source(tmp_path / name).check()


def test_what_only_looks_like_a_key_twice_is_read(tmp_path: Path) -> None:
    text = '{"q": "{\\"q\\": 1, \\"q\\": 2}", "r": {"q": [{"q": 1}, {"q": 2}]}}\n'
    (tmp_path / "d.jsonl").write_text(text, encoding="utf-8")
    source = open_source(tmp_path / "d.jsonl")
    source.check()
    assert [record.fields["r"] for record in source.records()] == [{"q": [{"q": 1}, {"q": 2}]}]
