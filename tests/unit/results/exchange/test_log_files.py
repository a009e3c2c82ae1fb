"""Reading files of logs: bounds and damage."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from assay.core.errors import StoreError, UsageError
from assay.results.exchange import log_files
from assay.results.exchange.formats import detect_format, find_format
from assay.results.exchange.log_files import iter_json_lines, opening_archive, read_json_document


def test_numbers_that_json_does_not_have_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text('{"value": NaN, "other": Infinity}')
    assert read_json_document(path)["other"] == float("inf")


def test_a_bomb_is_rejected_before_it_expands(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", b"0" * (64 << 20))
    with opening_archive(path) as log, pytest.raises(StoreError, match=r"LOG-006.*header.json"):
        log.read("header.json")


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", b'{"a": 1}')
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(StoreError, match="LOG-003"), opening_archive(path):
        pass


def test_a_line_that_does_not_fit_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_files, "MAX_LINE_BYTES", 10)
    path = tmp_path / "log.jsonl"
    path.write_text('{"a": 1}\n{"a": "' + "x" * 20 + '"}\n')
    with pytest.raises(StoreError, match=r"LOG-006.*line 2"):
        list(iter_json_lines(path))


def test_text_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(StoreError, match="LOG-003"):
        read_json_document(path)


def test_an_unknown_path_lists_what_was_tried(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(StoreError, match=r"LOG-002.*lm-eval \(.*csv \("):
        detect_format(tmp_path / "notes.txt")
    with pytest.raises(StoreError, match="LOG-001"):
        detect_format(tmp_path / "none")


def test_a_format_that_only_works_the_other_way(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="LOG-007"):
        find_format("hf-eval-results")
    with pytest.raises(UsageError, match="LOG-007"):
        find_format("opencompass", to_write=True)
