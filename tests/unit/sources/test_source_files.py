from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.errors import AuthorError, Problem
from assay.core.origin import Origin
from assay.sources.files import SUFFIX_LIST, SUFFIXES, find_suffix, open_source

ProblemOf = Callable[[Callable[[], object]], Problem]
KOREAN = "질문,답\n서울은 어디에 있습니까,한국\n" * 3
TRADITIONAL = "問題,答案\n中華人民共和國的首都是哪裡？,北京\n一加一等於多少？,二\n"
CHINESE = "问题,答案\n北京在哪里的天气怎么样,中国\n" * 3
JAPANESE = "これはしつもん,こたえ\nどこですか,にほん\n" * 3
FRENCH = "question,réponse\nOù est le café?,là\n" * 3


def test_a_missing_file_names_the_nearest(tmp_path: Path, problem_of: ProblemOf) -> None:
    (tmp_path / "questions.csv").write_text("a\n1\n")
    problem = problem_of(lambda: open_source(tmp_path / "question.csv"))
    assert (problem.code, problem.where) == ("SOURCE-001", Origin(str(tmp_path / "question.csv")))
    assert "did you mean 'questions.csv'?" in problem.what
    assert "contains 'questions.csv'" in problem_of(lambda: open_source(tmp_path / "zzz")).what


def test_a_missing_folder_is_reported_up_to_what_exists(tmp_path: Path, problem_of: ProblemOf) -> None:
    problem = problem_of(lambda: open_source(tmp_path / "no" / "such" / "x.csv"))
    assert problem.code == "SOURCE-001"
    assert f"up to {str(tmp_path)!r}" in problem.what


def test_a_folder_is_not_a_file(tmp_path: Path, problem_of: ProblemOf) -> None:
    assert "contains nothing" in problem_of(lambda: open_source(tmp_path)).what
    (tmp_path / "inner").mkdir()
    assert "contains 'inner/'" in problem_of(lambda: open_source(tmp_path)).what
    (tmp_path / "a.jsonl").write_text("{}")
    problem = problem_of(lambda: open_source(tmp_path))
    assert problem.code == "SOURCE-001"
    assert "contains 'a.jsonl'" in problem.what


def test_a_file_that_goes_away(tmp_path: Path, problem_of: ProblemOf) -> None:
    for name in ("a.csv", "a.jsonl.gz", "a.parquet"):
        path = tmp_path / name
        path.write_bytes(b"x")
        source = open_source(path)
        os.unlink(path)
        assert problem_of(source.check).code == "SOURCE-001"
        with pytest.raises(AuthorError, match="SOURCE-001"):
            source.content_hash()


@pytest.mark.parametrize("name", ["a.text", "a", "a.gz", "a.md.gz", "a.parquet.gz", "csv"])
def test_unknown_formats(tmp_path: Path, problem_of: ProblemOf, name: str) -> None:
    (tmp_path / name).write_text("x")
    problem = problem_of(lambda: open_source(tmp_path / name))
    assert problem.code == "SOURCE-002"
    assert SUFFIX_LIST in problem.what


def test_known_suffixes() -> None:
    assert find_suffix("a.b.JSONL.gz") == ".jsonl.gz"
    assert find_suffix("a.csv") == ".csv"
    assert find_suffix("a.jsonlx") is None


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_zero_bytes(tmp_path: Path, problem_of: ProblemOf, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(b"")
    assert problem_of(lambda: open_source(path)).code == "SOURCE-003"
    if suffix.endswith(".gz"):
        path.write_bytes(gzip.compress(b""))
        assert problem_of(open_source(path).check).code == "SOURCE-003"


def test_hash_is_of_the_bytes_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"a\n1\n"))
    assert open_source(path).content_hash() == hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (KOREAN, "cp949"),
        (CHINESE, "gb18030"),
        (CHINESE, "utf-16le"),
        (TRADITIONAL, "big5"),
        (KOREAN, "utf-16be"),
        (JAPANESE, "cp932"),
        (FRENCH, "cp1252"),
        (FRENCH, "utf-16le"),
        ("q,a\nplain,text\n", "utf-16be"),
    ],
    ids=lambda value: value if value.isascii() and len(value) < 9 else "",
)
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json", "a.csv.gz"])
def test_other_encodings_are_guessed(
    tmp_path: Path, problem_of: ProblemOf, text: str, encoding: str, name: str
) -> None:
    if "json" in name:
        text = "".join(f'{{"a": "{line}"}}\n' for line in text.splitlines())
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode(encoding)) if name.endswith(".gz") else text.encode(encoding))
    problem = problem_of(open_source(path).check)
    assert problem.code == "SOURCE-004"
    assert f"iconv -f {encoding} -t utf-8" in problem.fix
    assert text.splitlines()[0][:20] in problem.what or "Où est" in problem.what


@pytest.mark.parametrize(
    ("language", "written", "guessed"),
    [
        ("kor_Hang", "cp949", "cp949"),
        ("kor_Hang", "utf-16-le", "utf-16le"),
        ("zho_Hans", "gbk", "gb18030"),
        ("zho_Hans", "utf-16-be", "utf-16be"),
        ("zho_Hant", "big5", "big5"),
        ("zho_Hant", "gb18030", "gb18030"),
        ("deu_Latn", "cp1252", "cp1252"),
    ],
)
def test_encodings_of_real_sentences_are_guessed(
    tmp_path: Path, problem_of: ProblemOf, shared_data: Path, language: str, written: str, guessed: str
) -> None:
    sentences = (shared_data / "flores200" / "devtest" / f"{language}.devtest").read_text(encoding="utf-8")
    lines = [line for line in sentences.splitlines() if not line.isascii()][:60]
    path = tmp_path / "a.csv"
    for at in range(0, 60, 3):
        text = "question,answer\n" + "".join(f"{line},A\n" for line in lines[at : at + 3])
        path.write_bytes(text.encode(written, errors="ignore"))
        assert f"iconv -f {guessed} -t utf-8" in problem_of(open_source(path).check).fix, lines[at]


def test_the_place_of_the_bad_byte(tmp_path: Path, problem_of: ProblemOf) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n1,2\n" * 5000 + b"x,caf\xe9\n")
    source = open_source(path)
    problem = problem_of(source.check)
    assert problem.where == Origin(str(path), line=10001)
    assert (
        "byte 0xe9 at offset 40,005 is not UTF-8; decoded as cp1252, the line reads 'x,café'" in problem.what
    )
    assert next(source.records()).fields == {"a": "1", "b": "2"}


def test_one_damaged_character_is_no_other_encoding(tmp_path: Path, problem_of: ProblemOf) -> None:
    path = tmp_path / "a.csv"
    good = "질문,답\n".encode()
    path.write_bytes(good * 20 + good[:4] + good[5:] + good * 20)
    problem = problem_of(open_source(path).check)
    assert problem.where == Origin(str(path), line=21)
    assert "only this character is damaged" in problem.what
    assert "iconv" not in problem.fix


def test_row_problems_found_before_a_bad_byte_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n1\n" + b"1,2\n" * 10_000 + b"x,caf\xe9\n")
    with pytest.raises(AuthorError) as caught:
        open_source(path).check()
    assert [problem.code for problem in caught.value.problems] == ["SOURCE-005", "SOURCE-004"]


@pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl.gz", "a.json.gz"])
@pytest.mark.parametrize("damage", ["cut", "text", "flipped"])
def test_broken_gzip(tmp_path: Path, problem_of: ProblemOf, name: str, damage: str) -> None:
    line = "{'n': 1}" if "csv" in name else '{"n": 1}'
    whole = gzip.compress("\n".join([line] * 1 if name == "a.json.gz" else [line] * 5000).encode())
    path = tmp_path / name
    path.write_bytes({"cut": whole[:-12], "text": b"a,b\n1,2\n", "flipped": whole[:-6] + b"\0" * 6}[damage])
    problem = problem_of(open_source(path).check)
    assert (problem.code, problem.where) == ("SOURCE-011", Origin(str(path)))


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_a_plain_text_is_one_record_as_it_is(tmp_path: Path, name: str) -> None:
    written = "\n Erste Zeile\r\nzweite: é\n\n"
    packed = written.encode()
    (tmp_path / name).write_bytes(gzip.compress(packed) if name.endswith(".gz") else packed)
    (record,) = open_source(tmp_path / name).records()
    assert record.fields == {"text": written}
    assert record.origin.row == 1


def test_a_plain_text_of_white_space_alone_has_no_rows(tmp_path: Path, problem_of: ProblemOf) -> None:
    (tmp_path / "a.txt").write_text(" \n\n")
    assert problem_of(lambda: open_source(tmp_path / "a.txt").check()).code == "SOURCE-003"


def test_a_link_to_nothing_is_named_as_such(tmp_path: Path) -> None:
    (tmp_path / "d.csv").symlink_to("moved.csv")
    with pytest.raises(AuthorError, match=r"a link to 'moved\.csv', which does not exist") as caught:
        open_source(tmp_path / "d.csv")
    assert "did you mean" not in str(caught.value)


def test_a_link_to_nothing_is_not_suggested(tmp_path: Path) -> None:
    (tmp_path / "data.csv").symlink_to("moved.csv")
    with pytest.raises(AuthorError, match="the folder is empty"):
        open_source(tmp_path / "date.csv")
