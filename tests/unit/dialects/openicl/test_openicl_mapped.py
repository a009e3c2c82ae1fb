"""A dataset that the library `datasets` maps from disk is not copied, and comes to the same task."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.core.errors import AuthorError
from assay.sources import mapped_rows
from fakes.configs import GEN, PPL, quiz

datasets = pytest.importorskip("datasets")

ROWS = [
    {"question": f"{nth % 40} + 1?", "A": str(nth % 40 + 1), "B": "0", "answer": "AB"[nth % 40 % 2]}
    for nth in range(50)
]
"""Some of them twice."""
LOAD = """

class QuizDataset(BaseDataset):
    @staticmethod
    def load(path):
        from datasets import load_from_disk
        return load_from_disk("mapped")
"""
READER = "dict(input_columns=['question', 'A', 'B'], output_column='answer'{})"


def compile_prompts(workdir: Path, infer: Mapping[str, str], reader: str, **more: Any) -> tuple[Any, ...]:
    """Return all that a run would take from the task."""
    task = quiz(workdir, infer, rows=[], code=LOAD, reader=READER.format(reader), **more).task
    samples = list(task.samples())
    return samples, [task.requests(sample) for sample in samples], task.spec


@pytest.mark.parametrize(
    "infer",
    [
        GEN,
        PPL,
        {**GEN, "retriever": "dict(type=FixKRetriever, fix_id_list=[4, 2])", "ice_template": ""},
        {**PPL, "retriever": "dict(type=RandomRetriever, ice_num=2)", "ice_template": ""},
    ],
    ids=["gen", "ppl", "fixed examples", "drawn examples"],
)
@pytest.mark.parametrize("reader", ["", ", test_range='[30:5:-2]'", ", test_range=20, train_range='[:10]'"])
def test_a_mapped_dataset_becomes_the_same_task(
    workdir: Path, monkeypatch: pytest.MonkeyPatch, infer: Mapping[str, str], reader: str
) -> None:
    datasets.Dataset.from_list(ROWS).save_to_disk("mapped")
    infer = {key: value for key, value in infer.items() if value}
    if "Zero" not in infer["retriever"]:
        infer["prompt_template"] = infer["prompt_template"].replace("'Q: ", "'</E>Q: ")[:-1]
        infer["prompt_template"] += ", ice_token='</E>')"
        infer["ice_template"] = "dict(type=PromptTemplate, template='{question} {answer}')"
    before = "from ais_bench.benchmark.openicl.icl_retriever import RandomRetriever\n"
    held = compile_prompts(workdir, infer, reader, before=before)
    monkeypatch.setattr(mapped_rows, "_IN_MEMORY_BYTES", 0)
    monkeypatch.setattr(mapped_rows, "_READ_AT_ONCE", 7)
    monkeypatch.setattr(datasets.Dataset, "to_list", lambda self: pytest.fail("all rows were copied"))
    mapped = compile_prompts(workdir, infer, reader, before=before)
    assert mapped == held
    assert msgspec.json.encode(mapped[2]) == msgspec.json.encode(held[2])


def test_what_is_wrong_with_a_mapped_row_names_it(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{**row, "answer": "C" if nth == 20 else row["answer"]} for nth, row in enumerate(ROWS)]
    datasets.Dataset.from_list(rows).save_to_disk("mapped")
    monkeypatch.setattr(mapped_rows, "_IN_MEMORY_BYTES", 0)
    with pytest.raises(AuthorError, match="QuizDataset row 21: the right answer 'C' is not one of"):
        compile_prompts(workdir, PPL, ", test_range='[10:]'")
