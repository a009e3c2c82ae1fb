"""What `datasets` writes into a file about its columns: names of labels, media, types."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from assay.core.media import Medium
from assay.sources.arrow import ArrowSource, ParquetSource
from assay.sources.files import open_source

datasets = pytest.importorskip("datasets")


@pytest.fixture
def png(shared_data: Path) -> Path:
    return next(iter(sorted((shared_data / "easy_vqa" / "images").rglob("*.png"))))


def _written(folder: Path, suffix: str, rows: list[dict[str, Any]], features: Any) -> Path:
    dataset = datasets.Dataset.from_list(rows, features=features)
    path = folder / f"data{suffix}"
    if suffix == ".parquet":
        dataset.to_parquet(str(path))
    else:
        with (
            pyarrow.OSFile(str(path), "wb") as sink,
            pyarrow.ipc.new_stream(sink, dataset.features.arrow_schema) as writer,
        ):
            writer.write_table(dataset.data.table)
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_labels_have_the_names_that_the_file_declares(tmp_path: Path, suffix: str) -> None:
    features = datasets.Features(
        {
            "text": datasets.Value("string"),
            "label": datasets.ClassLabel(names=["negative", "positive"]),
            "tags": datasets.List(datasets.ClassLabel(names=["a", "b"])),
            "spans": [{"start": datasets.Value("int32")}],
        }
    )
    row = {"text": "fine", "label": "positive", "tags": [0, 1], "spans": [{"start": 3}]}
    source = open_source(_written(tmp_path, suffix, [row], features))
    assert source.label_names == {"label": ("negative", "positive")}
    (record,) = source.records()
    assert record.fields == {"text": "fine", "label": 1, "tags": [0, 1], "spans": [{"start": 3}]}
    assert source.media_columns == {}
    assert isinstance(source, ArrowSource | ParquetSource)
    assert source.column_types == {
        "text": "string",
        "label": "label (negative, positive)",
        "tags": "list of label (a, b)",
        "spans": "list of {start: int32}",
    }


def test_media_are_paths_or_base64(tmp_path: Path, png: Path) -> None:
    features = datasets.Features({"image": datasets.Image(), "n": datasets.Value("int64")})
    rows: list[dict[str, Any]] = [
        {"image": {"bytes": png.read_bytes(), "path": None}, "n": 1},
        {"image": {"bytes": None, "path": str(png)}, "n": 2},
        {"image": None, "n": 3},
    ]
    source = open_source(_written(tmp_path, ".arrow", rows, features))
    assert source.media_columns == {"image": Medium.IMAGE}
    first, second, third = (record.fields["image"] for record in source.records())
    assert first == "data:image/png;base64," + base64.b64encode(png.read_bytes()).decode()
    assert second == str(png)
    assert third is None


def test_a_folder_of_shards_declares_its_media(tmp_path: Path, png: Path) -> None:
    features = datasets.Features({"image": datasets.Image()})
    folder = tmp_path / "table"
    folder.mkdir()
    for number in range(2):
        rows = [{"image": {"bytes": None, "path": str(png)}}]
        whole = _written(tmp_path, ".parquet", rows, features)
        Path(whole).rename(folder / f"test-0000{number}-of-00002.parquet")
    source = open_source(folder)
    assert source.media_columns == {"image": Medium.IMAGE}
    assert [record.fields["image"] for record in source.records()] == [str(png), str(png)]


def test_a_file_of_another_writer_declares_nothing(tmp_path: Path) -> None:
    table = pyarrow.table({"label": [0, 1]}).replace_schema_metadata({"huggingface": "no json"})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    source = ParquetSource(tmp_path / "a.parquet")
    assert source.label_names == {}
    assert source.column_types == {"label": "int64"}
