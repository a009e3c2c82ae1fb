"""Easy-VQA: questions about pictures of one coloured shape, answered in a word.

A row: ["what is the red shape?", "triangle", 0], and the picture images/0.png
"""

import json
import os
import re
from typing import List

from ais_bench.benchmark.datasets.utils.datasets import get_data_path
from ais_bench.benchmark.openicl.icl_evaluator import BaseEvaluator
from ais_bench.benchmark.registry import LOAD_DATASET
from ais_bench.benchmark.utils.prompt import AIS_CONTENT_TAG, AIS_IMAGE_START, AIS_TEXT_START
from datasets import Dataset

from .base import BaseDataset

SHAPES = ("circle", "rectangle", "triangle")
COLOURS = ("black", "blue", "brown", "gray", "green", "red", "teal", "yellow")
WORDS = {
    "yes": "yes/no",
    "no": "yes/no",
    **dict.fromkeys(SHAPES, "shape"),
    **dict.fromkeys(COLOURS, "colour"),
}


@LOAD_DATASET.register_module()
class EasyVQADataset(BaseDataset):
    """The picture first, then the question."""

    @staticmethod
    def load(path):
        path = get_data_path(path, local_mode=True)
        with open(os.path.join(path, "questions.json"), encoding="utf-8") as file:
            rows = json.load(file)
        return Dataset.from_list(
            [
                {
                    "content": AIS_IMAGE_START
                    + os.path.join(path, "images", f"{image}.png")
                    + AIS_CONTENT_TAG
                    + AIS_TEXT_START
                    + question
                    + AIS_CONTENT_TAG,
                    "question": question,
                    "answer": answer,
                }
                for question, answer, image in rows
            ]
        )


def easy_vqa_postprocess(text: str) -> str:
    """The first word that can be an answer."""
    said = re.findall(r"[a-z]+", text.lower().replace("grey", "gray"))
    return next((word for word in said if word in WORDS), "")


class EasyVQAEvaluator(BaseEvaluator):
    """Accuracy over all questions, and over those about whether, about shapes and about colours."""

    def score(self, predictions: List, references: List) -> dict:
        details = [
            {"pred": said, "answer": right, "kind": WORDS[right], "correct": said == right}
            for said, right in zip(predictions, references)
        ]
        scores = {"accuracy": share(details)}
        for kind in dict.fromkeys(WORDS.values()):
            rows = [row for row in details if row["kind"] == kind]
            if rows:
                scores[f"accuracy ({kind})"] = share(rows)
        return {**scores, "details": details}


def share(rows):
    return 100 * sum(row["correct"] for row in rows) / len(rows)
