import csv
from pathlib import Path

from .base import Task, rf
from .metrics import mean

HERE = Path(__file__).parents[1]
LETTERS = "ABCD"


class Questions(Task):
    """What the three ways of asking share. A row is a document as in the file."""

    def load(self, data_dir=None, cache_dir=None):
        self.dataset = {
            split: list(csv.DictReader((HERE / file).read_text(encoding="utf-8").splitlines()))
            for split, file in (("train", "solved.csv"), ("test", "questions.csv"))
        }

    def has_training_docs(self):
        return True

    def has_validation_docs(self):
        return False

    def has_test_docs(self):
        return True

    def training_docs(self):
        return self.dataset["train"]

    def test_docs(self):
        return self.dataset["test"]

    def fewshot_examples(self, k, rnd):
        return self.dataset["train"][:k]

    def aggregation(self):
        return {"acc": mean}

    def higher_is_better(self):
        return {"acc": True}


class Texts(Questions):
    """The likeliest of the options' texts, which the question does not show."""

    def doc_to_text(self, doc):
        return f"Question: {doc['question']}\nAnswer:"

    def doc_to_target(self, doc):
        return f" {doc[doc['answer']]}"

    def construct_requests(self, doc, ctx):
        return [rf.loglikelihood(ctx, f" {doc[letter]}")[0] for letter in LETTERS]

    def process_results(self, doc, results):
        return {"acc": LETTERS[results.index(max(results))] == doc["answer"]}


class Letters(Texts):
    """The likeliest of the letters, below a question with its options."""

    def doc_to_text(self, doc):
        options = "".join(f"{letter}. {doc[letter]}\n" for letter in LETTERS)
        return f"Question: {doc['question']}\n{options}Answer:"

    def doc_to_target(self, doc):
        return f" {doc['answer']}"

    def construct_requests(self, doc, ctx):
        return [rf.loglikelihood(ctx, f" {letter}")[0] for letter in LETTERS]


class Writing(Letters):
    """The letter that the model writes."""

    def request_type(self):
        return "greedy_until"

    def construct_requests(self, doc, ctx):
        return rf.greedy_until(ctx, {"until": ["\n"]})

    def process_results(self, doc, results):
        return {"acc": results[0].strip()[:1] == doc["answer"]}
