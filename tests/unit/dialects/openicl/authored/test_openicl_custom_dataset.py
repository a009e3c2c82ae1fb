"""AISBench's custom datasets, as its configs name them: a file of rows and its meta file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import AuthorError
from assay.dialects.openicl.authored.data_paths import DataPaths
from assay.dialects.openicl.authored.own_datasets import FileRows, build_dataset_classes


def loaded(folder: Path, meta: Any = None, **arguments: Any) -> FileRows:
    rows = [{"question": str(number), "answer": "A", "max_tokens": 8 + number} for number in range(4)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    if meta is not None:
        name = arguments.get("meta_path") or "rows.jsonl.meta.json"
        (folder / name).write_text(json.dumps(meta), encoding="utf-8")
    made = build_dataset_classes(DataPaths([folder]))["CustomDataset"](path="rows.jsonl", **arguments).dataset
    assert isinstance(made, FileRows)
    return made


def test_a_row_says_how_long_its_answer_may_be(tmp_path: Path) -> None:
    assert [row["max_out_len"] for row in loaded(tmp_path, meta_path="")] == [8, 9, 10, 11]


@pytest.mark.parametrize("meta_path", ["", "other.json"])
def test_a_meta_file_says_how_many_rows_are_asked(tmp_path: Path, meta_path: str) -> None:
    made = loaded(tmp_path, {"request_count": "6"}, meta_path=meta_path)
    assert [row["question"] for row in made] == ["0", "1", "2", "3", "0", "1"]
    assert [origin.row for origin in made.origins] == [1, 2, 3, 4, 1, 2]


def test_a_shuffle_keeps_rows_with_their_places(tmp_path: Path) -> None:
    made = loaded(tmp_path, {"request_count": 4, "sampling_mode": "shuffle"})
    assert sorted(row["question"] for row in made) == ["0", "1", "2", "3"]
    assert [origin.row for origin in made.origins] == [int(row["question"]) + 1 for row in made]


def test_lengths_of_the_meta_file_go_before_those_of_rows(tmp_path: Path) -> None:
    shares = {"percentage_distribute": [[16, 0.5], [64, 0.5]]}
    made = loaded(tmp_path, {"output_config": {"method": "percentage", "params": shares}})
    assert [row["max_out_len"] for row in made] == [16, 16, 64, 64]


@pytest.mark.parametrize("meta", [{"request_count": -1}, {"sampling_mode": "all"}, {"sample": 1}])
def test_a_wrong_meta_file_is_named(tmp_path: Path, meta: dict[str, Any]) -> None:
    with pytest.raises(AuthorError, match=r"rows\.jsonl\.meta\.json"):
        loaded(tmp_path, meta)
