"""The line index finds the latest line of each name, in files of any size."""

from __future__ import annotations

import os
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.engine import line_index
from assay.engine.line_index import LineIndex


def written(path: Path, names: list[str]) -> tuple[LineIndex, dict[str, list[bytes]]]:
    lines = [f"{name} {nth}\n".encode() for nth, name in enumerate(names)]
    path.write_bytes(b"".join(lines))
    index, place = LineIndex(path), 0
    latest_first: dict[str, list[bytes]] = {}
    for name, line in zip(names, lines, strict=True):
        index.add(name, place)
        latest_first.setdefault(name, []).insert(0, line)
        place += len(line)
    return index, latest_first


@pytest.mark.parametrize(("few", "held"), [(1_000, 1_000), (3, 1_000), (3, 7)])
@given(st.lists(st.sampled_from([f"n{nth}" for nth in range(40)]), max_size=120))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_each_name_has_its_lines_the_latest_first(
    tmp_path: Path, few: int, held: int, names: list[str]
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(line_index, "_FEW", few)
        patched.setattr(line_index, "_MAX_IN_MEMORY", held)
        index, expected = written(tmp_path / "lines", names)
        assert len(index) == len(expected)
        for name in (*expected, "nobody"):
            assert list(index.lines(name)) == expected.get(name, [])
        index.close()


def test_places_beyond_memory_leave_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_index, "_FEW", 10)
    monkeypatch.setattr(line_index, "_MAX_IN_MEMORY", 100)
    index, expected = written(tmp_path / "lines", [str(nth) for nth in range(1_000)])
    assert list(index.lines("700")) == expected["700"]
    assert [path.name for path in tmp_path.iterdir()] == ["lines"]
    index.close()


def test_lines_that_may_only_be_read_have_their_places_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    real = tempfile.TemporaryFile

    def noted(dir: object = None) -> object:
        made.append(dir)
        return real()

    monkeypatch.setattr(line_index, "_FEW", 1)
    monkeypatch.setattr(line_index, "_MAX_IN_MEMORY", 2)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setattr(tempfile, "TemporaryFile", noted)
    index, expected = written(tmp_path / "lines", ["a", "b", "c", "d"])
    assert len(index) == 4
    assert list(index.lines("c")) == expected["c"]
    index.close()
    assert set(made) == {None}


def test_names_of_equal_hash_are_all_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who looks for one sees the other too, and tells them apart by what is written there."""
    monkeypatch.setattr(line_index, "hash", lambda name: 7, raising=False)
    index, _ = written(tmp_path / "lines", ["a", "b"])
    assert list(index.lines("a")) == [b"b 1\n", b"a 0\n"]
    index.close()


def test_memory_does_not_grow_with_lines_whose_places_lie_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_index, "_MAX_IN_MEMORY", 1_000)
    (tmp_path / "lines").write_bytes(b"x\n")

    def peak(n: int) -> int:
        index = LineIndex(tmp_path / "lines")
        tracemalloc.start()
        for nth in range(n):
            index.add(str(nth), 0)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        index.close()
        return found

    peak(1_000)
    assert peak(60_000) < 2 * peak(6_000)
