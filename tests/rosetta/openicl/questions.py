import csv
from pathlib import Path

from datasets import Dataset, DatasetDict

from .base import BaseDataset


class QuestionsDataset(BaseDataset):
    @staticmethod
    def load(path):
        return DatasetDict(
            {
                split: Dataset.from_list(
                    [
                        {**row, "choices": list("ABCD")}
                        for row in csv.DictReader(
                            (Path(path) / file).read_text(encoding="utf-8").splitlines()
                        )
                    ]
                )
                for split, file in (("train", "solved.csv"), ("test", "questions.csv"))
            }
        )
