"""XQuAD: questions whose answer is a piece of the passage; the English part.

The file is SQuAD's: under `data` stand articles, which hold paragraphs, which hold questions. A document
made of it: {"context": "The Panthers defense gave up ...", "question": "How many points did the
Panthers defense surrender?", "answer": "308"}
"""

from .base import Task, rf
from .metrics import exact_match_score, f1_score_sentence, mean


class XQuAD(Task):
    """The model writes the answer. Compared as it is, and by the characters it shares with the right one."""

    VERSION = 0
    IN_HF_HUB = False
    DATASET_PATH = "xquad"
    DATASET_NAME = ""
    DATA_FILES = {"test": "xquad.en.json"}
    DATASET_TYPE = "json"
    DOWNLOAD_OPTIONS = {"field": "data"}

    def n_shot(self):
        return 1

    def request_type(self):
        return "greedy_until"

    def description(self):
        return "Answer each question with a few words of its passage."

    def has_training_docs(self):
        return False

    def has_validation_docs(self):
        return False

    def has_test_docs(self):
        return True

    def test_docs(self):
        return [
            self._process_doc({**question, "context": paragraph["context"]})
            for article in self.dataset["test"]
            for paragraph in article["paragraphs"]
            for question in paragraph["qas"]
        ]

    def _process_doc(self, doc):
        return {
            "context": doc["context"],
            "question": doc["question"].strip(),
            "answer": doc["answers"][0]["text"],
        }

    def doc_to_text(self, doc):
        return f"Passage: {doc['context']}\nQuestion: {doc['question']}\nAnswer:"

    def doc_to_target(self, doc):
        return " " + doc["answer"]

    def construct_requests(self, doc, ctx):
        return rf.greedy_until(ctx, {"until": ["\n"]})

    def process_results(self, doc, results):
        return {
            "f1": f1_score_sentence(results[0], doc["answer"]),
            "exact_match": exact_match_score(results[0], doc["answer"]),
        }

    def aggregation(self):
        return {"f1": mean, "exact_match": mean}

    def higher_is_better(self):
        return {"f1": True, "exact_match": True}
