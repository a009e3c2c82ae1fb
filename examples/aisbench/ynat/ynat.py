"""KLUE YNAT: the topic of a Korean headline, one of seven.

A row: {"guid": "ynat-v1_dev_00000", "title": "5억원 무이자 융자는 되고 ...", "label": 2}
"""

import json
import re
from typing import List

from ais_bench.benchmark.datasets.utils.datasets import get_data_path
from ais_bench.benchmark.openicl.icl_evaluator import BaseEvaluator
from datasets import Dataset, DatasetDict

from .base import BaseDataset

TOPICS = ["IT과학", "경제", "사회", "생활문화", "세계", "스포츠", "정치"]
LETTERS = "ABCDEFG"
N_EXAMPLES = 1000
STATED = re.compile(r"정답[^A-G]{0,10}([A-G])(?![A-Za-z])")
ALONE = re.compile(r"(?<![A-Za-z])([A-G])(?![A-Za-z])")


class YnatDataset(BaseDataset):
    """Only the validation split has answers, so its last rows serve as examples and are not asked."""

    @staticmethod
    def load(path):
        with open(get_data_path(path), encoding="utf-8") as lines:
            rows = [lettered(json.loads(line)) for line in lines]
        return DatasetDict(
            train=Dataset.from_list(rows[-N_EXAMPLES:]), test=Dataset.from_list(rows[:-N_EXAMPLES])
        )


def lettered(row):
    return {
        "title": row["title"],
        "topic": TOPICS[row["label"]],
        "letter": LETTERS[row["label"]],
        **dict(zip(LETTERS, TOPICS)),
    }


def ynat_postprocess(text: str) -> str:
    """The letter that is said to be the answer, else the first; a topic by its name counts as its letter."""
    found = STATED.search(text) or ALONE.search(text)
    if found:
        return found.group(1)
    named = [letter for letter, topic in zip(LETTERS, TOPICS) if topic in text]
    return named[0] if len(named) == 1 else ""


class YnatEvaluator(BaseEvaluator):
    """Accuracy, and F1 as the mean over the topics: KLUE's own measure, since topics differ in size."""

    def score(self, predictions: List, references: List) -> dict:
        details = [
            {"pred": said, "answer": right, "correct": said == right}
            for said, right in zip(predictions, references)
        ]
        f1 = []
        for label in sorted(set(references)):
            hits = sum(said == right == label for said, right in zip(predictions, references))
            f1.append(2 * hits / (predictions.count(label) + references.count(label)))
        return {
            "accuracy": 100 * sum(row["correct"] for row in details) / len(details),
            "macro_f1": 100 * sum(f1) / len(f1),
            "details": details,
        }
