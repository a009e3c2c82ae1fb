"""The conformance script's report on the code that a small checkout's configs name."""

from __future__ import annotations

from pathlib import Path

from assay.dialects.openicl.config.entry import Component, DatasetEntry, InferConfig, ReaderConfig
from benchmarks.conformance_openicl_code import section
from benchmarks.openicl_made_rows import N_ROWS, made_splits

DATASETS = """
from opencompass.registry import LOAD_DATASET
from .base import BaseDataset

@LOAD_DATASET.register_module()
class Quiz(BaseDataset):
    @staticmethod
    def load(path):
        raise AssertionError('made-up rows stand in the place of what it loads')
"""
LACKING = "import no_such_package\n" + DATASETS.replace("class Quiz", "class Lacking")
CONFIG = """
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import FixKRetriever
from opencompass.openicl.icl_inferencer import GenInferencer, AgentInferencer
from opencompass.openicl.icl_evaluator import AccEvaluator
from opencompass.datasets import Quiz, Lacking, unknown_postprocess

def entry(abbr, **more):
    return {**dict(abbr=abbr, type=Quiz, path='p', eval_cfg=dict(evaluator=dict(type=AccEvaluator)),
        reader_cfg=dict(input_columns=['question'], output_column='answer', test_range='[20:]'),
        infer_cfg=dict(inferencer=dict(type=GenInferencer),
            retriever=dict(type=FixKRetriever, fix_id_list=[40]),
            ice_template=dict(
                type=PromptTemplate, ice_token='</E>', template='</E>{question} {A}\\n{answer}'))),
        **more}

agent = entry('agent')
agent['infer_cfg'] = {**agent['infer_cfg'], 'inferencer': dict(type=AgentInferencer)}
quiz_datasets = [
    entry('fine'),
    entry('lacking', type=Lacking, n=2),
    entry('unknown', eval_cfg=dict(
        evaluator=dict(type=AccEvaluator), pred_postprocessor=dict(type=unknown_postprocess))),
    agent,
]
"""


def test_names_and_entries_are_counted_with_reasons(tmp_path: Path) -> None:
    package = tmp_path / "opencompass"
    for folder, name, text in (
        (package / "datasets", "quiz.py", DATASETS),
        (package / "datasets", "lacking.py", LACKING),
        (package / "configs" / "datasets" / "quiz", "quiz_gen.py", CONFIG),
    ):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")

    lines = section(tmp_path).splitlines()
    assert "| dataset classes | 2 | 0 | 1 | 1 | 0 | 0 |" in lines
    assert "| evaluators | 1 | 1 | 0 | 0 | 0 | 0 |" in lines
    assert "| post-processors | 1 | 0 | 0 | 0 | 0 | 1 |" in lines
    assert "| dataset classes that the checkout registers | 2 | 0 | 1 | 1 | 0 | 0 |" in lines
    assert "Packages that are missing, and for how many names: no_such_package (1)." in lines
    # The entry whose class lacks a package has all else.
    assert "Of 4 entries that differ in more than their data, **2 would run**." in lines
    assert any("AgentInferencer" in line and line.startswith("- 1: ") for line in lines)
    assert any("unknown_postprocess" in line and line.startswith("- 1: ") for line in lines)


def test_made_rows_have_the_columns_labels_and_numbers_of_an_entry() -> None:
    template = Component(
        "PromptTemplate", {"template": {"yes": "{question} {A}? yes", "no": "{question} {A}? no"}}
    )
    entry = DatasetEntry(
        "quiz",
        "Quiz",
        ReaderConfig(("question",), "label", train_split="dev", test_range="[30:]"),
        InferConfig(
            Component("FixKRetriever", {"fix_id_list": [0, 50]}), Component("PPLInferencer", {}), template
        ),
        None,
        {},
    )
    splits = made_splits(entry)
    assert list(splits) == ["dev", "test"]
    assert {len(rows) for rows in splits.values()} == {50 + N_ROWS}
    assert all(set(row) == {"question", "label", "A"} for rows in splits.values() for row in rows)
    assert {row["label"] for row in splits["test"]} == {"yes", "no"}
