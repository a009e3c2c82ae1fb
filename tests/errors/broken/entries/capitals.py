import json
from pathlib import Path

from datasets import Dataset, DatasetDict

from .base import BaseDataset
from ais_bench.benchmark.openicl.icl_evaluator import BaseEvaluator


class CapitalsDataset(BaseDataset):
    @staticmethod
    def load(path, continent):
        rows = json.loads(Path(path).read_text(encoding="utf-8"))
        return DatasetDict({split: Dataset.from_list(rows[continent][split]) for split in ("train", "test")})


class CapitalsEvaluator(BaseEvaluator):
    def __init__(self, weight=1.0):
        super().__init__()
        self.weight = weight

    def score(self, predictions, references):
        rows = [one == other for one, other in zip(predictions, references)]
        details = [{"correct": row} for row in rows]
        return {"accuracy": 100 * sum(rows) / len(rows), "weight": self.weight, "details": details}


def capitals_postprocess(text):
    return text.strip().rstrip(".")
