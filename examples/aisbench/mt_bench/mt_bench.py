"""MT-Bench: 80 conversations of two questions; thirty of them have reference answers.

A row: {"question_id": 81, "category": "writing",
        "turns": ["Compose an engaging travel blog post ...", "Rewrite your previous response ..."]}
"""

import json
import os

from ais_bench.benchmark.datasets.utils.datasets import get_data_path
from ais_bench.benchmark.registry import LOAD_DATASET
from datasets import Dataset

from .base import BaseDataset


@LOAD_DATASET.register_module()
class MTBenchDataset(BaseDataset):
    """Questions and reference answers as lists with an element for each turn."""

    @staticmethod
    def load(path, references):
        path = get_data_path(path, local_mode=True)
        solved = {
            row["question_id"]: row["choices"][0]["turns"]
            for row in lines_of(os.path.join(path, "reference_answer", f"{references}.jsonl"))
        }
        return Dataset.from_list(
            [
                with_references(row, solved.get(row["question_id"], []))
                for row in lines_of(os.path.join(path, "question.jsonl"))
            ]
        )


def lines_of(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def with_references(row, answers):
    shown = "\n\n".join(f"To turn {turn}: {answer}" for turn, answer in enumerate(answers, 1))
    return {
        "id": row["question_id"],
        "category": row["category"],
        "question": row["turns"],
        "answer": answers,
        "question_1": row["turns"][0],
        "question_2": row["turns"][1],
        # The judge of creative writing has no reference to compare with.
        "reference_answers": f"Answers known to be good:\n{shown}\n\n" if answers else "",
    }
