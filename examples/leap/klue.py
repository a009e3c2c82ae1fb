"""KLUE: topics of headlines (YNAT) and sentences of equal meaning (STS), in Korean.

A row of YNAT: {"guid": "ynat-v1_dev_00000", "title": "5억원 무이자 융자는 되고 ...", "label": 2}
A row of STS: {"sentence1": "주요 관광지 모두 걸어서 이동가능합니다.", "sentence2": "위치는 피렌체 ...",
               "labels": {"label": 1.4, "real-label": 1.428571428571429, "binary-label": 0}}
"""

import numpy as np

from .base import Task, rf
from .metrics import f1_score, macro_f1_score, mean
from .utils import general_detokenize


class KLUE(Task):
    """What both have in common: the split with right answers is validation."""

    VERSION = 0
    IN_HF_HUB = True
    DATASET_PATH = "bm_klue"

    def request_type(self):
        return "loglikelihood"

    def has_training_docs(self):
        # A copy may hold the validation split alone. Examples then come from there, never the row itself.
        return "train" in self.dataset

    def has_validation_docs(self):
        return True

    def has_test_docs(self):
        return False

    def training_docs(self):
        if self._training_docs is None:
            self._training_docs = list(map(self._process_doc, self.dataset["train"]))
        return self._training_docs

    def validation_docs(self):
        return map(self._process_doc, self.dataset["validation"])


class YNAT(KLUE):
    """One of seven topics: the likeliest behind the headline is the answer."""

    DATASET_NAME = "ynat"

    def n_shot(self):
        return 5

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

    def doc_to_text(self, doc):
        return doc["title"]

    def doc_to_target(self, doc):
        return " " + doc["choices"][doc["gold"]]

    def construct_requests(self, doc, ctx):
        return [rf.loglikelihood(ctx, " " + choice)[0] for choice in doc["choices"]]

    def process_results(self, doc, results):
        pred = int(np.argmax(results))
        return {"acc": pred == doc["gold"], "macro_f1": (doc["gold"], pred)}

    def aggregation(self):
        return {"acc": mean, "macro_f1": macro_f1_score}

    def higher_is_better(self):
        return {"acc": True, "macro_f1": True}


class STS(KLUE):
    """Whether two sentences mean the same, in one word."""

    DATASET_NAME = "sts"

    def n_shot(self):
        return 2

    def doc_to_text(self, doc):
        return "문장1: {}\n문장2: {}\n정답:".format(
            general_detokenize(doc["sentence1"]), general_detokenize(doc["sentence2"])
        )

    def doc_to_target(self, doc):
        return " {}".format({0: "다름", 1: "같음"}[doc["labels"]["binary-label"]])

    def construct_requests(self, doc, ctx):
        ll_negative, _ = rf.loglikelihood(ctx, " 다름")
        ll_positive, _ = rf.loglikelihood(ctx, " 같음")
        return ll_negative, ll_positive

    def process_results(self, doc, results):
        pred, gold = int(np.argmax(results)), doc["labels"]["binary-label"]
        return {"acc": pred == gold, "f1": (gold, pred)}

    def aggregation(self):
        return {"acc": mean, "f1": f1_score}

    def higher_is_better(self):
        return {"acc": True, "f1": True}
