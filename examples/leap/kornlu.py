"""KorNLU: sentences of equal meaning (KorSTS) and inference (KorNLI), from files on disk.

A row of KorSTS: genre, filename, year, id, score (0 to 5), sentence1, sentence2
A row of KorNLI: sentence1, sentence2, gold_label (entailment, neutral, contradiction)
"""

import numpy as np

from .base import Task, rf
from .metrics import f1_score, macro_f1_score, mean
from .utils import general_detokenize

MEANS_THE_SAME = 3.0
"""The score of KorSTS from which two sentences count as equal."""
RELATIONS = {"entailment": "참", "neutral": "중립", "contradiction": "모순"}


class KorNLU(Task):
    """What both have in common: tab-separated files in which quotes are plain characters."""

    VERSION = 0
    IN_HF_HUB = False
    DATASET_PATH = "bm_kor-nlu-datasets"
    DATASET_TYPE = "csv"
    DOWNLOAD_OPTIONS = {"delimiter": "\t", "quoting": 3}

    def request_type(self):
        return "loglikelihood"

    def has_training_docs(self):
        # Without the training file, examples come from the validation split.
        return "train" in self.dataset

    def has_validation_docs(self):
        return True

    def has_test_docs(self):
        return True

    def training_docs(self):
        if self._training_docs is None:
            self._training_docs = list(self.dataset["train"])
        return self._training_docs

    def validation_docs(self):
        return self.dataset["validation"]

    def test_docs(self):
        return self.dataset["test"]


class KorSTS(KorNLU):
    """Whether two sentences mean the same, in one word."""

    DATASET_NAME = "KorSTS"
    DATA_FILES = data_files = {
        "train": "sts-train.tsv",
        "validation": "sts-dev.tsv",
        "test": "sts-test.tsv",
    }

    def n_shot(self):
        return 2

    def doc_to_text(self, doc):
        return "문장1: {}\n문장2: {}\n정답:".format(
            general_detokenize(doc["sentence1"]), general_detokenize(doc["sentence2"])
        )

    def doc_to_target(self, doc):
        return " {}".format({0: "다름", 1: "같음"}[self._gold(doc)])

    def construct_requests(self, doc, ctx):
        ll_negative, _ = rf.loglikelihood(ctx, " 다름")
        ll_positive, _ = rf.loglikelihood(ctx, " 같음")
        return ll_negative, ll_positive

    def process_results(self, doc, results):
        pred, gold = int(np.argmax(results)), self._gold(doc)
        return {"acc": pred == gold, "f1": (gold, pred)}

    def aggregation(self):
        return {"acc": mean, "f1": f1_score}

    def higher_is_better(self):
        return {"acc": True, "f1": True}

    def _gold(self, doc):
        return int(doc["score"] >= MEANS_THE_SAME)


class KorNLI(KorNLU):
    """Whether the second sentence follows from the first."""

    DATASET_NAME = "KorNLI"
    DATA_FILES = {
        "train": "multinli.train.ko.tsv",
        "validation": "xnli.dev.ko.tsv",
        "test": "xnli.test.ko.tsv",
    }

    def n_shot(self):
        return 3

    def description(self):
        return "전제를 읽고 가설이 참인지, 중립인지, 모순인지 답하세요."

    def doc_to_text(self, doc):
        return f"전제: {doc['sentence1'].strip()}\n가설: {doc['sentence2'].strip()}\n관계:"

    def doc_to_target(self, doc):
        return " " + RELATIONS[doc["gold_label"]]

    def construct_requests(self, doc, ctx):
        return [rf.loglikelihood(ctx, " " + word)[0] for word in RELATIONS.values()]

    def process_results(self, doc, results):
        pred, gold = int(np.argmax(results)), list(RELATIONS).index(doc["gold_label"])
        return {"acc": pred == gold, "macro_f1": (gold, pred)}

    def aggregation(self):
        return {"acc": mean, "macro_f1": macro_f1_score}

    def higher_is_better(self):
        return {"acc": True, "macro_f1": True}
