"""XQuAD, English: questions about a passage, answered with a few words of it.

The file holds articles of paragraphs: {"context": "The Panthers defense gave up just 308 points ...", "qas":
[{"question": "How many points ...", "answers": [{"text": "308", "answer_start": 34}], "id": "56be..."}]}
"""

import json
import re
import string
from collections import Counter
from typing import List

from ais_bench.benchmark.datasets.utils.datasets import get_data_path
from ais_bench.benchmark.openicl.icl_evaluator import BaseEvaluator
from ais_bench.benchmark.registry import ICL_EVALUATORS, LOAD_DATASET
from datasets import Dataset

from .base import BaseDataset


@LOAD_DATASET.register_module()
class XQuADDataset(BaseDataset):
    """A row for each question, with its passage."""

    @staticmethod
    def load(path):
        with open(get_data_path(path, local_mode=True), encoding="utf-8") as file:
            articles = json.load(file)["data"]
        return Dataset.from_list(
            [
                {
                    "passage": paragraph["context"],
                    "question": asked["question"].strip(),
                    "answers": [answer["text"] for answer in asked["answers"]],
                    "answer": asked["answers"][0]["text"],
                }
                for article in articles
                for paragraph in article["paragraphs"]
                for asked in paragraph["qas"]
            ]
        )


def xquad_postprocess(text: str) -> str:
    """The first line, without what introduces the answer."""
    first = text.strip().partition("\n")[0]
    return re.sub(r"^(the )?answer( is)?\s*:?\s*", "", first, flags=re.IGNORECASE).strip()


@ICL_EVALUATORS.register_module()
class XQuADEvaluator(BaseEvaluator):
    """Exact match and F1 of words, the better one where there are several right answers."""

    def score(self, predictions: List, references: List) -> dict:
        details = []
        for said, right in zip(predictions, references):
            exact = max(float(words(said) == words(one)) for one in right)
            details.append(
                {
                    "pred": said,
                    "answer": right,
                    "correct": exact == 1,
                    "f1": max(f1(said, one) for one in right),
                }
            )
        return {
            "exact_match": 100 * sum(row["correct"] for row in details) / len(details),
            "f1": 100 * sum(row["f1"] for row in details) / len(details),
            "n_words": sum(len(words(said)) for said in predictions),
            "details": details,
        }


def words(text):
    plain = text.lower().translate(str.maketrans("", "", string.punctuation))
    return [word for word in plain.split() if word not in ("a", "an", "the")]


def f1(said, right):
    said, right = words(said), words(right)
    if not said or not right:
        return float(said == right)
    common = sum((Counter(said) & Counter(right)).values())
    return 2 * common / (len(said) + len(right))
