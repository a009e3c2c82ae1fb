from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.results.growing_file import LineReader, MappedLineReader, PreadLineReader, Tail


def test_half_a_line_waits_for_its_other_half(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    tail = Tail(path)
    assert list(tail.lines()) == []
    path.write_bytes(b"one\ntw")
    assert list(tail.lines()) == [(0, b"one\n")]
    with open(path, "ab") as file:
        file.write(b"o\nthree\n")
    assert list(tail.lines()) == [(4, b"two\n"), (8, b"three\n")]
    assert list(tail.lines()) == []


@pytest.mark.parametrize("at_once", [1, 3, 100])
def test_lines_are_passed_over_but_for_half_a_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr("assay.results.growing_file._SKIPPED_AT_ONCE", at_once)
    path = tmp_path / "lines"
    tail = Tail(path)
    assert tail.skip() == 0
    path.write_bytes(b"one\ntwo\nthree\nfo")
    assert next(tail.lines()) == (0, b"one\n")
    assert (tail.skip(), tail.skip()) == (2, 0)
    with open(path, "ab") as file:
        file.write(b"ur\n")
    assert list(tail.lines()) == [(14, b"four\n")]


def test_a_file_that_begins_again_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"one\ntwo\n")
    tail = Tail(path)
    before = tail.identity
    list(tail.lines())
    is_cut = tail.is_cut
    assert not is_cut
    path.write_bytes(b"x\n")
    assert tail.is_cut
    other = tmp_path / "other"
    other.write_bytes(b"one\ntwo\nthree\n")
    other.replace(path)
    assert tail.identity != before


@pytest.mark.parametrize("opened", [MappedLineReader, PreadLineReader])
@given(st.lists(st.binary(max_size=40_000).map(lambda line: line.replace(b"\n", b"")), max_size=6))
def test_every_line_is_found_at_its_place(opened: type[LineReader], lines: list[bytes]) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"".join(line + b"\n" for line in lines))
        file.flush()
        found = list(Tail(Path(file.name)).lines())
        assert [line for _, line in found] == [line + b"\n" for line in lines]
        with closing(opened(Path(file.name))) as by_place:
            assert [by_place.at(place) for place, _ in found] == lines


@pytest.mark.parametrize("opened", [MappedLineReader, PreadLineReader])
def test_a_file_that_is_not_there_has_no_lines(opened: type[LineReader], tmp_path: Path) -> None:
    with closing(opened(tmp_path / "nothing")) as by_place:
        assert by_place.at(0) == b""


def test_a_file_that_is_gone_was_cut_if_anything_was_read_of_it(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    tail = Tail(path)
    assert not tail.is_cut
    path.write_bytes(b"one\n")
    assert len(list(tail.lines())) == 1
    path.unlink()
    assert tail.is_cut
