"""HumanEval: functions to be written on from their docstring, each with tests.

A row: {"task_id": "HumanEval/0", "prompt": "from typing import List ... def has_close_elements(...",
        "entry_point": "has_close_elements", "canonical_solution": "    for idx, elem in ...",
        "test": "def check(candidate): ..."}
"""

import gzip
import json

from datasets import Dataset
from opencompass.registry import LOAD_DATASET
from opencompass.utils import get_data_path

from .base import BaseDataset


@LOAD_DATASET.register_module()
class HumanevalDataset(BaseDataset):
    """The rows as they are; how often each is asked says the config."""

    @staticmethod
    def load(path):
        with gzip.open(get_data_path(path), "rt", encoding="utf-8") as lines:
            return Dataset.from_list([json.loads(line) for line in lines])
