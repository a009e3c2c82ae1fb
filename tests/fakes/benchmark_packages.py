"""Installed packages of benchmarks, made up: a site-packages whose modules must not be imported."""

from __future__ import annotations

import json
from pathlib import Path

_IMPORTED = "raise RuntimeError('the package was imported')\n"
_FILES = {
    "opencompass/__init__.py": _IMPORTED,
    "opencompass-9.1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: opencompass\nVersion: 9.1.0\n",
    "opencompass/utils/datasets_info.py": (
        'DATASETS_MAPPING = {"opencompass/sums": {"ms_id": None, "hf_id": None, "local": "./data/sums/"}}\n'
    ),
    "opencompass/datasets/__init__.py": "from .sums import *\n",
    "opencompass/datasets/sums.py": """\
import json
import os.path as osp

from datasets import Dataset

from opencompass.utils import get_data_path

from .base import BaseDataset


class SumsDataset(BaseDataset):
    @staticmethod
    def load(path):
        with open(osp.join(get_data_path(path), "sums.jsonl")) as file:
            return Dataset.from_list([json.loads(line) for line in file])
""",
    "opencompass/configs/datasets/sums/README.md": (
        "# Sums\n\n```bash\npython3 run.py\n```\n\nSums of **two** [numbers](https://x.y). And more.\n"
    ),
    "opencompass/configs/datasets/sums/sums_gen.py": """\
from mmengine.config import read_base

with read_base():
    from .sums_gen_abc123 import sums_datasets  # noqa: F401
""",
    "opencompass/configs/datasets/sums/sums_gen_abc123.py": """\
from opencompass.datasets import SumsDataset
from opencompass.openicl.icl_evaluator import AccEvaluator
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

sums_path = "opencompass/sums"
sums_datasets = [
    dict(
        abbr="sums",
        type=SumsDataset,
        path=sums_path,
        reader_cfg=dict(input_columns=["question"], output_column="answer", test_split="test"),
        infer_cfg=dict(
            prompt_template=dict(type=PromptTemplate, template="{question} ="),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=GenInferencer),
        ),
        eval_cfg=dict(evaluator=dict(type=AccEvaluator)),
    )
]
""",
    "opencompass/configs/datasets/sums/sums_ppl.py": """\
from opencompass.datasets import SumsDataset
from opencompass.openicl.icl_evaluator import AccEvaluator
from opencompass.openicl.icl_inferencer import PPLInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

sums_datasets = []
for part in ("small", "large"):
    sums_datasets.append(
        dict(
            abbr=f"sums_{part}",
            type=SumsDataset,
            path=f"./data/sums/{part}",
            reader_cfg=dict(input_columns=["question"], output_column="answer"),
            infer_cfg=dict(
                prompt_template=dict(type=PromptTemplate, template={"2": "{question}2", "3": "{question}3"}),
                retriever=dict(type=ZeroRetriever),
                inferencer=dict(type=PPLInferencer),
            ),
            eval_cfg=dict(evaluator=dict(type=AccEvaluator)),
        )
    )
""",
    "opencompass/configs/datasets/sums/sums_parts.py": "parts = ['small', 'large']\n",
    "opencompass/configs/datasets/other/sums_ppl.py": """\
from opencompass.openicl.icl_inferencer import CLPInferencer

other_datasets = [
    dict(path="org/other", reader_cfg=dict(), infer_cfg=dict(inferencer=dict(type=CLPInferencer)))
]
""",
    "ais_bench/__init__.py": _IMPORTED,
    "ais_bench_benchmark-3.0.dist-info/METADATA": (
        "Metadata-Version: 2.1\nName: ais_bench_benchmark\nVersion: 3.0\n"
    ),
    "ais_bench/benchmark/configs/datasets/sums/README_en.md": "# Sums\nAISBench's sums.\n",
    "ais_bench/benchmark/configs/datasets/sums/sums_gen_0_shot.py": """\
from ais_bench.benchmark.openicl.icl_inferencer import GenInferencer

sums_datasets = [
    dict(
        path="ais_bench/datasets/sums", reader_cfg=dict(), infer_cfg=dict(inferencer=dict(type=GenInferencer))
    )
]
""",
    "lm_eval/__init__.py": _IMPORTED,
    "lm_eval-0.9.dist-info/METADATA": "Metadata-Version: 2.1\nName: lm_eval\nVersion: 0.9\n",
    "lm_eval/tasks/capitals/README.md": "# Capitals\n\n### Paper\n\nTitle: `Do Models Know Capitals?`\n",
    "lm_eval/tasks/capitals/capitals_easy.yaml": """\
task: capitals_easy
dataset_path: org/capitals
dataset_name: easy
test_split: test
output_type: multiple_choice
doc_to_text: "{{question}}"
doc_to_choice: options
doc_to_target: answer
metric_list: [{metric: acc}]
""",
    "lm_eval/tasks/capitals/_capitals.yaml": "group: capitals\ntask: [capitals_easy]\n",
}
ROWS = [{"question": "1 + 1", "answer": "2"}, {"question": "1 + 2", "answer": "3"}]


def write_packages(site: Path) -> Path:
    """Write the packages into a folder, to be put on the path; return it."""
    for name, text in _FILES.items():
        file = site / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return site


def write_rows(folder: Path) -> None:
    """Write the rows of the sums into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
