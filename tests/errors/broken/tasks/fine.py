import numpy as np

from .base import Task, rf
from .metrics import mean


class Capitals(Task):
    VERSION = 1
    DATASET_PATH = "capitals"
    DATASET_NAME = "europe"
    DATA_FILES = {"train": "train.jsonl", "validation": "dev.jsonl", "test": "test.jsonl"}
    DATASET_TYPE = "json"

    def n_shot(self):
        return 0

    def has_training_docs(self):
        return True

    def has_validation_docs(self):
        return True

    def has_test_docs(self):
        return False

    def training_docs(self):
        return self.dataset["train"]

    def validation_docs(self):
        return self.dataset["validation"]

    def doc_to_text(self, doc):
        return f"{doc['question']}\nAnswer:"

    def doc_to_target(self, doc):
        return f" {doc['options'][doc['answer']]}"

    def construct_requests(self, doc, ctx):
        return [rf.loglikelihood(ctx, f" {option}")[0] for option in doc["options"]]

    def process_results(self, doc, results):
        return {"acc": float(np.argmax(results) == doc["answer"])}

    def aggregation(self):
        return {"acc": mean}

    def higher_is_better(self):
        return {"acc": True}
