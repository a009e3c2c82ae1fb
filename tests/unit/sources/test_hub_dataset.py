"""Rows of the hub's layouts and formats are those of the files, read by the real library from a test hub."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.core.media import Medium
from assay.sources.files import open_source
from assay.sources.hub_dataset import HubDataset
from assay.sources.hub_name import HubName
from assay.sources.hub_reads import noting_reads
from fakes.hub_clients import lead_clients
from fakes.hub_datasets import json_rows, parquet
from fakes.hub_repositories import Content
from fakes.hub_server import HubServer, hub_on_loopback

datasets = pytest.importorskip("datasets")


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    with hub_on_loopback() as server:
        lead_clients(monkeypatch, server, tmp_path / "home")
        yield server


def _rows(name: HubName) -> list[Mapping[str, Any]]:
    dataset = HubDataset.find(name)
    config = dataset.require_config(name.config)
    split = dataset.require_split(config, name.split)
    return [record.fields for record in open_source(str(dataset.build_pinned_name(config, split))).records()]


def _splits(name: str, config: str | None = None) -> list[str]:
    dataset = HubDataset.find(HubName(name))
    return [one.name for one in dataset.splits(dataset.require_config(config))]


def test_folders_of_splits_in_csv(hub: HubServer, shared_data: Path) -> None:
    mmlu = shared_data / "mmlu"
    hub.add_dataset(
        "cais/mmlu",
        {
            "dev/anatomy_dev.csv": mmlu / "dev" / "anatomy_dev.csv",
            "test/anatomy_test.csv": mmlu / "test" / "anatomy_test.csv",
        },
    )
    assert _splits("cais/mmlu") == ["validation", "test"], "the library's names of splits"
    rows = _rows(HubName("cais/mmlu"))
    own = [record.fields for record in open_source(mmlu / "test" / "anatomy_test.csv").records()]
    assert [str(row["answer"]) for row in rows] == [row["answer"] for row in own]
    assert len(_rows(HubName("cais/mmlu", split="dev"))) == 5


def test_configs_of_a_card_with_a_default(hub: HubServer, shared_data: Path) -> None:
    easy = json_rows(shared_data / "arc" / "ARC-Easy" / "validation.jsonl")[:20]
    challenge = json_rows(shared_data / "arc" / "ARC-Challenge" / "validation.jsonl")[:10]
    card = (
        "---\nconfigs:\n"
        "- {config_name: ARC-Easy, default: true, data_files: [{split: validation, path: easy/*.parquet}]}\n"
        "- {config_name: ARC-Challenge, data_files: [{split: validation, path: hard/*.parquet}]}\n---\n"
    )
    files: dict[str, Content] = {
        "README.md": card,
        "easy/a.parquet": parquet(easy),
        "hard/a.parquet": parquet(challenge),
    }
    hub.add_dataset("allenai/ai2_arc", files)
    dataset = HubDataset.find(HubName("allenai/ai2_arc"))
    assert dataset.configs == ("ARC-Easy", "ARC-Challenge")
    assert dataset.default_config == "ARC-Easy"
    assert _rows(HubName("allenai/ai2_arc")) == easy, "lists and objects in rows stay what they are"
    assert _rows(HubName("allenai/ai2_arc", "ARC-Challenge")) == challenge


def test_packed_lines_and_shards(hub: HubServer) -> None:
    lines = "".join(f'{{"question": "{n}", "answer": {n}}}\n' for n in range(6))
    hub.add_dataset("org/packed", {"data/test.jsonl.gz": gzip.compress(lines.encode())})
    assert [row["answer"] for row in _rows(HubName("org/packed"))] == list(range(6))
    shards = {
        f"data/train-{at:05}-of-00003.parquet": parquet([{"n": 10 * at + n} for n in range(3)])
        for at in range(3)
    }
    hub.add_dataset("org/shards", shards)
    assert [row["n"] for row in _rows(HubName("org/shards"))] == [0, 1, 2, 10, 11, 12, 20, 21, 22]


def test_sounds_and_pictures(hub: HubServer, shared_data: Path) -> None:
    sounds = sorted((shared_data / "spoken_digits").glob("*.wav"))[:3]
    import pyarrow
    import pyarrow.parquet

    features = datasets.Features({"audio": datasets.Audio(), "digit": datasets.Value("int64")})
    rows = [
        {"audio": {"bytes": one.read_bytes(), "path": one.name}, "digit": int(one.name[0])} for one in sounds
    ]
    stream = io.BytesIO()
    table = pyarrow.Table.from_pylist(rows, schema=features.arrow_schema)
    pyarrow.parquet.write_table(table, stream)
    hub.add_dataset("org/digits", {"data/test-00000-of-00001.parquet": stream.getvalue()})
    dataset = HubDataset.find(HubName("org/digits"))
    source = open_source(str(dataset.build_pinned_name("default", "test")))
    assert source.media_columns == {"audio": Medium.AUDIO}
    assert all(record.fields["audio"].startswith("data:audio/") for record in source.records())
    pictures = sorted((shared_data / "easy_vqa" / "images").rglob("*.png"))[:3]
    hub.add_dataset("org/pictures", {f"test/{one.name}": one for one in pictures})
    shown = [Path(row["image"]) for row in _rows(HubName("org/pictures"))]
    assert [one.read_bytes() for one in shown] == [one.read_bytes() for one in pictures]


def test_a_pinned_table_is_read_without_the_hub_and_noted(hub: HubServer) -> None:
    hub.add_dataset("org/sums", {"test.csv": "question,answer\n1+1=,2\n"})
    name = HubName("org/sums", "default", hub.repositories["dataset", "org/sums"].head.sha, "test")
    with noting_reads() as reads:
        source = open_source(str(name))
    assert list(reads) == [name]
    hub.log.clear()
    again = open_source(str(name))
    assert [record.fields for record in again.records()] == [{"question": "1+1=", "answer": 2}]
    assert [record.fields for record in again.records()] == [{"question": "1+1=", "answer": 2}]
    assert again.content_hash() == source.content_hash()
    assert hub.log == []


def test_pages_of_a_long_listing(hub: HubServer) -> None:
    hub.page_size = 3
    many = {f"data/{part}/test-{part}.csv": f"n\n{part}\n" for part in range(8)}
    hub.add_dataset("org/many", many)
    assert sorted(row["n"] for row in _rows(HubName("org/many"))) == list(range(8))
