"""The two scripts of the original's document, read from the document and run as they are written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.core.request import Generate, Labels, Sampling, Span
from fakes.transforms import compile_only, list_requests, write_dataset

ROW = {
    "passage": ["The cat sat on the mat.", "The cat did not sit."],
    "question": "",
    "target_scores": {"Yes": 0, "No": 1},
    "answer": "",
}
HEAD = (
    "Question:\nIs the second sentence entailed by the first sentence?\n"
    "First sentence: The cat sat on the mat.\nSecond sentence: The cat did not sit.\n"
)
GEN_PROMPT = (
    f"{HEAD}Requirement:\nChoose and respond with the letter of the correct answer, "
    "including the parentheses.\n"
    "Options:\n(A) Yes\n(B) No\nAnswer:\n"
)
PPL_PROMPT = f"{HEAD}Requirement:\nPlease respond with either 'Yes' or 'No'.\nAnswer:\n"


@pytest.fixture
def folder(seeds: Path, tmp_path: Path) -> Path:
    text = (seeds / "ultraeval.md").read_text(encoding="utf-8")
    gen, ppl = re.findall(r"```\n(import random.*?)```", text, re.DOTALL)
    assert "dataset_name: string" in gen
    assert "dataset_name: string" in ppl
    scripts = {"transform_gen_v0.py": gen, "transform_ppl_v0.py": ppl}
    return write_dataset(tmp_path, [ROW], scripts, name="ax-b")


def test_the_script_for_generation(folder: Path) -> None:
    one = compile_only(folder)
    assert one.task.spec.name == "ax-b"
    ((only,),) = list_requests(one)
    assert only.ask == Generate(GEN_PROMPT, Sampling())
    (sample,) = one.task.samples()
    assert sample.targets == ("(B)",)
    assert sample.choices == ("Yes", "No")
    assert sample.gold == (1,)


def test_the_script_for_likelihoods_scores_the_whole_sentence(folder: Path) -> None:
    (requests,) = list_requests(compile_only(folder, methods=("ppl",)))
    assert [one.ask for one in requests] == [
        Span(f"{PPL_PROMPT}Yes", 0, scores_first_token=False),
        Span(f"{PPL_PROMPT}No", 0, scores_first_token=False),
    ]


def test_the_letters_can_be_compared_by_probability(folder: Path) -> None:
    ((only,),) = list_requests(compile_only(folder, methods=("prob",)))
    assert only.ask == Labels(f"{GEN_PROMPT}(", (("A",), ("B",)))


def test_the_name_without_a_version_serves_both_methods(folder: Path) -> None:
    (folder / "transform_gen_v0.py").rename(folder / "transform.py")
    (folder / "transform_ppl_v0.py").unlink()
    one = compile_only(folder, methods=("gen", "ppl"))
    assert one.task.spec.methods == ("gen", "ppl")
    assert {r.track for r in list_requests(one)[0]} == {"gen", "ppl"}
