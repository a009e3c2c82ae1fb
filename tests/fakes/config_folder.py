"""A person's own folder of configs in the language of OpenCompass and AISBench, with a class beside them."""

from __future__ import annotations

from pathlib import Path

CLASSES = """
from datasets import Dataset
from opencompass.datasets.base import BaseDataset


class SumDataset(BaseDataset):
    @staticmethod
    def load(path, part):
        rows = [dict(question=f"{part}: {n} + 1 =", A=str(n), B=str(n + 1), answer="B") for n in range(5)]
        return Dataset.from_list(rows)


def always_b(text):
    return "B" if text else text
"""
GENERATION = """
from opencompass.openicl.icl_evaluator import AccEvaluator
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever
from sums import SumDataset

sums_datasets = [
    dict(
        type=SumDataset,
        abbr=f"sums_{part}",
        path="nowhere",
        part=part,
        reader_cfg=dict(input_columns=["question", "A", "B"], output_column="answer"),
        infer_cfg=dict(
            prompt_template=dict(
                type=PromptTemplate,
                template=dict(round=[dict(role="HUMAN", prompt="{question}\\nA. {A}\\nB. {B}")]),
            ),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=GenInferencer),
        ),
        eval_cfg=dict(evaluator=dict(type=AccEvaluator)),
    )
    for part in ("left", "right")
]
"""
LIKELIHOOD = """
from mmengine.config import read_base
from opencompass.openicl.icl_inferencer import PPLInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate

with read_base():
    from .sums_gen import sums_datasets

for _one in sums_datasets:
    _one["abbr"] += "_ppl"
    _one["infer_cfg"]["prompt_template"] = dict(
        type=PromptTemplate, template={label: "{question} " + label for label in ("A", "B")}
    )
    _one["infer_cfg"]["inferencer"] = dict(type=PPLInferencer)
"""
MODELS = """
models = [
    dict(type="Assay", abbr="says-b", model="mock", model_args=dict(answer="B"), max_out_len=77),
    dict(type="Assay", abbr="says-a", model="mock", model_args=dict(answer="A", chat=True)),
]
"""
WHOLE = """
from mmengine.config import read_base

with read_base():
    from .configs.datasets.sums.sums_gen import sums_datasets
    from .configs.models.two import models

datasets = sums_datasets
summarizer = dict(
    dataset_abbrs=["--- sums ---", "sums", "sums_left", ("sums_right", "accuracy"), "sums-weighted"],
    summary_groups=[
        dict(name="sums", subsets=["sums_left", "sums_right"]),
        dict(
            name="sums-weighted", subsets=["sums_left", "sums_right"], weights=dict(sums_left=1, sums_right=3)
        ),
        dict(name="more", subsets=["sums", "products"]),
        dict(name="others", subsets=["x", "y"]),
    ],
)
"""


def write_configs(folder: Path) -> None:
    """Write `configs/` and `eval_sums.py` into a folder."""
    files = {
        "sums.py": CLASSES,
        "configs/datasets/sums/sums.py": CLASSES,
        "configs/datasets/sums/sums_gen.py": GENERATION,
        "configs/datasets/sums/sums_ppl.py": LIKELIHOOD,
        "configs/models/two.py": MODELS,
        "eval_sums.py": WHOLE,
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def edit(path: Path, old: str, new: str) -> None:
    """Change one place of a file."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
