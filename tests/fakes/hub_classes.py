"""Code of authors that names datasets of the hub, in each dialect."""

LLMBOX = """
from ..metric import Em
from .generation_dataset import GenerationDataset


class Sums(GenerationDataset):
    instruction = "{question}"
    metrics = [Em()]
    evaluation_set = "test"
    example_set = "train"
    load_args = LOAD_ARGS

    def format_instance(self, instance):
        return dict(question=instance["question"], target=instance["answer"])

    @property
    def references(self):
        return [row["answer"] for row in self.evaluation_data]
"""
"""With `LOAD_ARGS` to be replaced."""
LOADER = """
from datasets import load_dataset

from .base import BaseDataset


class OwnDataset(BaseDataset):
    @staticmethod
    def load(path, name):
        return load_dataset(path, name)
"""
CONFIG = """
from opencompass.datasets import CustomDataset, HFDataset, OwnDataset
from opencompass.openicl.icl_evaluator import AccEvaluator
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

sums_datasets = [
    dict(
        abbr="sums",
        ENTRY,
        reader_cfg=dict(input_columns=["question"], output_column="answer"),
        infer_cfg=dict(
            prompt_template=dict(type=PromptTemplate, template="{question}"),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=GenInferencer, max_out_len=16),
        ),
        eval_cfg=dict(evaluator=dict(type=AccEvaluator)),
    )
]
"""
"""With `ENTRY` to be replaced."""
LEAP = """
from .base import Task, rf
from .metrics import mean


class Sums(Task):
    VERSION = 0
    IN_HF_HUB = True
    DATASET_PATH = "openai/gsm8k"
    DATASET_NAME = "main"

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

    def doc_to_text(self, doc):
        return doc["question"]

    def doc_to_target(self, doc):
        return " " + doc["answer"]

    def request_type(self):
        return "greedy_until"

    def construct_requests(self, doc, ctx):
        return rf.greedy_until(ctx, {"until": ["."]})

    def process_results(self, doc, results):
        return {"acc": float(results[0] == doc["answer"])}

    def aggregation(self):
        return {"acc": mean}

    def higher_is_better(self):
        return {"acc": True}
"""
