"""MMLU: questions with four options from 57 subjects; five solved ones of each in `dev`.

A row: {"question": "Find all c in Z_3 such that ...", "choice0": "0", ..., "choice3": "3", "answer": "1"}
"""

import csv
import os

from datasets import Dataset, DatasetDict
from opencompass.datasets.circular import CircularDatasetMeta
from opencompass.registry import LOAD_DATASET
from opencompass.utils import get_data_path

from .base import BaseDataset

LETTERS = "ABCD"


@LOAD_DATASET.register_module()
class MMLUDataset(BaseDataset):
    """One subject, with its options in columns of their own."""

    @staticmethod
    def load(path, name):
        path = get_data_path(path)
        splits = {}
        for split in ("dev", "test"):
            file = os.path.join(path, split, f"{name}_{split}.csv")
            with open(file, encoding="utf-8", newline="") as lines:
                splits[split] = Dataset.from_list([lettered(row) for row in csv.DictReader(lines)])
        return DatasetDict(splits)


def lettered(row):
    options = {letter: row[f"choice{at}"] for at, letter in enumerate(LETTERS)}
    return {"question": row["question"].strip(), **options, "answer": LETTERS[int(row["answer"])]}


class CircularMMLUDataset(MMLUDataset, metaclass=CircularDatasetMeta):
    """Every question of `test` four times, with its options moved on by one each time."""

    dataset_class = MMLUDataset
    default_circular_splits = ["test"]
    default_option_keys = list(LETTERS)
    default_answer_key = "answer"
