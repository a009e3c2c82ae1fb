"""The examples of LEAP's document, completed: klue_ynat, klue_sts and KorSTS."""

KLUE = '''
import numpy as np

from .base import Task, rf
from .metrics import f1_score, macro_f1_score, mean
from .utils import general_detokenize


class Validation(Task):
    """The shipped data has no training split: examples come from the validation split."""

    VERSION = 0
    IN_HF_HUB = True
    DATASET_PATH = "bm_klue"

    def has_training_docs(self):
        return False

    def has_validation_docs(self):
        return True

    def has_test_docs(self):
        return False

    def higher_is_better(self):
        return {name: True for name in self.aggregation()}


class YNAT(Validation):
    DATASET_NAME = "ynat"

    def _process_doc(self, doc):
        out_doc = {
            "title": doc["title"],
            "choices": [
                "(과학)",
                "(경제)",
                "(사회)",
                "(생활)",
                "(세계)",
                "(스포츠)",
                "(정치)",
            ],
            "gold": doc["label"],
        }
        return out_doc

    def validation_docs(self):
        return map(self._process_doc, self.dataset["validation"])

    def doc_to_text(self, doc):
        return doc["title"]

    def doc_to_target(self, doc):
        return " " + doc["choices"][doc["gold"]]

    def construct_requests(self, doc, ctx):
        return [rf.loglikelihood(ctx, " " + choice)[0] for choice in doc["choices"]]

    def process_results(self, doc, results):
        pred = np.argmax(results)
        return {"acc": pred == doc["gold"], "macro_f1": (doc["gold"], pred)}

    def aggregation(self):
        return {"acc": mean, "macro_f1": macro_f1_score}


class STS(Validation):
    DATASET_NAME = "sts"

    def validation_docs(self):
        return self.dataset["validation"]

    def doc_to_text(self, doc):
        return "문장1: {}\\n문장2: {}\\n정답:".format(
            general_detokenize(doc["sentence1"]), general_detokenize(doc["sentence2"])
        )

    def doc_to_target(self, doc):
        return " {}".format({0: "다름", 1: "같음"}[doc["labels"]["binary-label"]])

    def construct_requests(self, doc, ctx):
        ll_negative, _ = rf.loglikelihood(ctx, " 다름")
        ll_positive, _ = rf.loglikelihood(ctx, " 같음")
        return ll_negative, ll_positive

    def process_results(self, doc, results):
        pred = np.argmax(results)
        gold = doc["labels"]["binary-label"]
        return {"acc": pred == gold, "f1": (gold, pred)}

    def aggregation(self):
        return {"acc": mean, "f1": f1_score}
'''

KORNLU = """
import numpy as np

from .klue import STS


class KorSTS(STS):
    VERSION = 0
    IN_HF_HUB = False
    DATASET_PATH = "bm_kor-nlu-datasets"
    DATASET_NAME = "KorSTS"
    DATA_FILES = data_files = {
        "train": "sts-train.tsv",
        "validation": "sts-dev.tsv",
        "test": "sts-test.tsv",
    }
    DATASET_TYPE = "csv"
    DOWNLOAD_OPTIONS = {"delimiter": "\\t", "quoting": 3}

    def n_shot(self):
        return 2

    def has_training_docs(self):
        return True

    def training_docs(self):
        return self.dataset["train"]

    def doc_to_target(self, doc):
        return " {}".format("같음" if doc["score"] >= 3 else "다름")

    def process_results(self, doc, results):
        gold = int(doc["score"] >= 3)
        pred = np.argmax(results)
        return {"acc": pred == gold, "f1": (gold, pred)}
"""
