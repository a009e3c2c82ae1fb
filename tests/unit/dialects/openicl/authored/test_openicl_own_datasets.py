from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import AuthorError
from assay.dialects.openicl.authored.data_paths import DataPaths
from assay.dialects.openicl.authored.own_datasets import FileRows, build_dataset_classes


def jsonl(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_paths_count_from_several_folders(
    tmp_path: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("cache", "root"):
        (tmp_path / folder / "quiz").mkdir(parents=True)
    monkeypatch.setenv("COMPASS_DATA_CACHE", str(tmp_path / "cache"))
    paths = DataPaths([tmp_path / "root"], {"opencompass/quiz": {"local": "./data/quiz"}})
    assert paths.find("quiz") == tmp_path / "cache" / "quiz"
    monkeypatch.delenv("COMPASS_DATA_CACHE")
    paths = DataPaths([tmp_path / "root"], {"opencompass/quiz": {"local": "./data/quiz"}})
    assert paths.find("quiz") == tmp_path / "root" / "quiz"
    assert paths.find("opencompass/quiz") == tmp_path / "root" / "quiz"
    assert paths.find("ais_bench/datasets/quiz") == tmp_path / "root" / "quiz"
    (workdir / "quiz").mkdir(exist_ok=True)
    assert paths.find("quiz") == Path("quiz")
    assert paths.find("other") is None
    assert paths.find("/no/such") == Path("/no/such")


def test_a_file_of_rows_knows_its_rows(tmp_path: Path) -> None:
    jsonl(tmp_path / "quiz.jsonl", [{"question": "a"}, {"question": "b"}])
    classes = build_dataset_classes(DataPaths([tmp_path]))
    rows = classes["CustomDataset"](path="quiz.jsonl").dataset
    assert isinstance(rows, FileRows)
    assert [row["question"] for row in rows] == ["a", "b"]
    assert [origin.row for origin in rows.origins] == [1, 2]
    twice = classes["CodeCustomDataset"](path=str(tmp_path), file_name="quiz.jsonl", num_repeats=2).dataset
    assert [row["question"] for row in twice] == ["a", "a", "b", "b"]
    assert [origin.row for origin in twice.origins] == [1, 1, 2, 2]


def test_every_order_of_the_options(tmp_path: Path) -> None:
    jsonl(tmp_path / "quiz.jsonl", [{"question": "q", "A": "1", "B": "2", "answer": "B"}])
    made = build_dataset_classes(DataPaths([tmp_path]))["CircularCustomDataset"]
    rows = made(path="quiz.jsonl", option_keys=["A", "B"], answer_key="answer").dataset
    assert [(row["A"], row["B"], row["answer"], row["qid"]) for row in rows] == [
        ("1", "2", "B", 0),
        ("2", "1", "A", 0),
    ]
    assert [origin.row for origin in rows.origins] == [1, 1]


def test_rows_that_name_files(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"x")
    row = {"type": "image", "path": ["a.png", "http://x/b.png"], "question": "Which?", "answer": "a"}
    jsonl(tmp_path / "mm.jsonl", [row])
    made = build_dataset_classes(DataPaths([tmp_path]))["MMCustomDataset"]
    (one,) = made(path="mm.jsonl", mm_type="path").dataset
    assert one["content"] == (
        f"<AIS_IMAGE_START>{tmp_path / 'a.png'}<AIS_CONTENT_TAG>"
        "<AIS_IMAGE_START>http://x/b.png<AIS_CONTENT_TAG><AIS_TEXT_START>Which?<AIS_CONTENT_TAG>"
    )
    jsonl(tmp_path / "mm.jsonl", [row | {"type": "smell"}])
    with pytest.raises(AuthorError, match=r"OPENICL-013 .*row 1.*'smell'"):
        made(path="mm.jsonl")
