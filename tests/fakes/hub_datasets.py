"""Repositories of datasets for the test hub, made of real data and in the layouts that the hub has."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fakes.hub_server import HubServer, User

Row = dict[str, Any]

GSM8K_CARD = """---
configs:
- config_name: main
  data_files:
  - {split: train, path: main/train-*}
  - {split: test, path: main/test-*}
- config_name: socratic
  data_files:
  - {split: test, path: socratic/test-*}
---
# Grade school math
"""
SST2_CARD = """---
dataset_info:
  features:
  - {name: idx, dtype: int32}
  - {name: sentence, dtype: string}
  - name: label
    dtype:
      class_label:
        names: {'0': negative, '1': positive}
configs:
- config_name: default
  sep: ";"
  data_files:
  - {split: train, path: data/train.csv}
  - {split: validation, path: data/validation.csv}
---
"""


def json_rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def parquet(rows: Sequence[Row], *, features: Any = None) -> bytes:
    """Return rows as the bytes of a parquet file; `features` as `datasets` declares columns."""
    import datasets

    stream = io.BytesIO()
    datasets.Dataset.from_list(list(rows), features=features).to_parquet(stream)
    return stream.getvalue()


def csv_of_labels(rows: Sequence[Row]) -> str:
    lines = [f'{at};"{row["sentence"].strip()}";{row["label"]}' for at, row in enumerate(rows)]
    return "\n".join(["idx;sentence;label", *lines]) + "\n"


def add_real_datasets(hub: HubServer, data: Path) -> None:
    """Add datasets as parquet, jsonl and csv repositories, and some that cannot be loaded."""
    gsm8k = json_rows(data / "gsm8k" / "test.jsonl")[:40]
    train = json_rows(data / "gsm8k" / "train.jsonl")[:20]
    hub.add_dataset(
        "openai/gsm8k",
        {
            "README.md": GSM8K_CARD,
            "main/test-00000-of-00002.parquet": parquet(gsm8k[:25]),
            "main/test-00001-of-00002.parquet": parquet(gsm8k[25:]),
            "main/train-00000-of-00001.parquet": parquet(train),
            "socratic/test-00000-of-00001.parquet": parquet(gsm8k[:5]),
        },
        downloads=900,
    )
    hub.move("gsm8k", "openai/gsm8k")
    hub.add_dataset("google/boolq", {"validation.jsonl": data / "boolq" / "validation.jsonl"})
    sst2 = json_rows(data / "sst2" / "validation.jsonl")
    hub.add_dataset(
        "stanfordnlp/sst2",
        {
            "README.md": SST2_CARD,
            "data/validation.csv": csv_of_labels(sst2[:30]),
            "data/train.csv": csv_of_labels(sst2[30:50]),
        },
    )
    hub.add_dataset("org/only_train", {"train.csv": "question,answer\n1+1=,2\n2+2=,4\n"})
    hub.add_dataset("org/halves", {"first/a.csv": "q,a\n1,2\n", "README.md": _HALVES})
    hub.add_dataset("org/gated", {"test.csv": "question,answer\n1+1=,2\n"}, gated="manual")
    hub.add_dataset("org/scripted", {"scripted.py": "import datasets\n", "README.md": "# By a script\n"})
    hub.add_dataset("org/empty", {"README.md": "# Nothing yet\n"})
    hub.add_dataset("org/broken", {"test.jsonl": '{"question": "1", "answer": "1"}\n{"question": \n'})
    hub.users["hf_reader"] = User("reader", ("org/gated",))
    hub.users["hf_stranger"] = User("stranger")


_HALVES = """---
configs:
- config_name: default
  data_files:
  - {split: first, path: first/*}
  - {split: second, path: first/*}
---
"""
