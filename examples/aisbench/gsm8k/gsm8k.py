"""GSM8K: word problems of grade school, each with a solution in steps.

A row: {"question": "Natalia sold clips to 48 of her friends ...",
        "answer": "Natalia sold 48/2 = <<48/2=24>>24 clips in May. ... #### 72"}
"""

import json
import os
import re

from ais_bench.benchmark.datasets.utils.datasets import get_data_path
from ais_bench.benchmark.registry import LOAD_DATASET
from datasets import Dataset, DatasetDict

from .base import BaseDataset

CALCULATION = re.compile(r"<<[^>]*>>")


@LOAD_DATASET.register_module()
class GSM8KDataset(BaseDataset):
    """Rows with the solution apart from the number that it ends in."""

    @staticmethod
    def load(path):
        path = get_data_path(path, local_mode=True)
        splits = {}
        for split in ("train", "test"):
            with open(os.path.join(path, f"{split}.jsonl"), encoding="utf-8") as lines:
                splits[split] = Dataset.from_list([solved(json.loads(line)) for line in lines])
        return DatasetDict(splits)


def solved(row):
    steps, _, number = row["answer"].partition("####")
    return {
        "question": row["question"].strip(),
        "steps": CALCULATION.sub("", steps).strip(),
        "number": number.strip().replace(",", ""),
        "answer": row["answer"],
    }
