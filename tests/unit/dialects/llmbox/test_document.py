"""Every code block of the original's document, as it is written, completed only where it has `...`."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import AuthorError
from assay.core.prompt import Message
from assay.dialects.llmbox.instruction import build_environment, compile_instruction
from fakes.classes import compile_one, compile_text, list_asks

QUESTION = {
    "question": "[Question A]",
    "answer": 0,
    "A": "[Answer A]",
    "B": "[Answer B]",
    "C": "[Answer C]",
    "D": "[Answer D]",
}


@pytest.fixture(scope="module")
def blocks(seeds: Path) -> list[str]:
    text = (seeds / "llmbox.md").read_text(encoding="utf-8")
    found = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(found) == 13
    return found


def shown(block: str) -> list[dict[str, str]]:
    """Return the evaluation instances that a block shows."""
    instances: list[dict[str, str]] = ast.literal_eval(block)
    return instances


def test_rows_loaded_by_the_class_itself(blocks: list[str], tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_text('{"q": "one"}\n{"q": "two"}\n', encoding="utf-8")
    (tmp_path / "examples.json").write_text('[{"q": "shown"}]', encoding="utf-8")
    block = blocks[0].replace("(...)", f'("my", "{tmp_path}/{{split}}.jsonl", None, (), {{}})')
    block = block.replace("(Dataset)", "(GenerationDataset)")
    text = block + (
        '    instruction = "{q}"\n'
        "    metrics = [Accuracy()]\n"
        "    def format_instance(self, instance):\n"
        '        return dict(q=instance["q"], target="yes")\n'
    )
    one = compile_one(tmp_path, text, settings={"shots": 1})
    assert [list_asks(one, n)[0]["source"] for n in (0, 1)] == ["shown yes\n\none", "shown yes\n\ntwo"]


@pytest.mark.parametrize(("number", "expected"), [(1, "P"), (2, "\nP\n"), (3, "P")])
def test_optional_fields_of_jinja(blocks: list[str], number: int, expected: str) -> None:
    template = ast.literal_eval(f"({blocks[number]})")
    render = compile_instruction(template, build_environment())
    assert render({"passage": "P"}) == expected
    assert render({"passage": None}) == ""
    assert render({}) == ""


def test_multiple_choice_by_likelihood(blocks: list[str], tmp_path: Path) -> None:
    one = compile_one(tmp_path, blocks[4], [QUESTION])
    assert one.task.spec.methods == ("ppl",)
    assert list_asks(one) == shown(blocks[5])


def test_multiple_choice_by_label_probability(blocks: list[str], tmp_path: Path) -> None:
    one = compile_one(tmp_path, blocks[4], [QUESTION], settings={"methods": ("prob",)})
    (instance,) = shown(blocks[6])
    (sample,) = one.task.samples()
    assert list_asks(one) == [{"source": instance["source"], "labels": ["A", "B", "C", "D"]}]
    assert sample.labels[sample.gold[0]] == instance["target"]


def test_several_contexts(blocks: list[str], tmp_path: Path) -> None:
    row = {"ctx_a": "[Context A]", "ctx_b": "[Context B]", "completion": "[Completion]", "answer": "2"}
    one = compile_one(tmp_path, blocks[7], [row])
    assert list_asks(one) == shown(blocks[8])
    (sample,) = one.task.samples()
    assert sample.gold == (1,)
    # The original's code leaves the instruction out.
    faithful = compile_one(tmp_path, blocks[7], [row], settings={"is_faithful": True})
    assert [instance["source"] for instance in list_asks(faithful)] == ["[Context A]", "[Context B]"]
    assert "context_instruction" in {difference.name for difference in faithful.task.spec.differences}


@pytest.mark.parametrize(
    ("model_type", "expected"),
    [
        ("base", "[Q]"),
        ("chat", (Message("user", "Answer the following question.\n\n[Q]\nAnswer:"),)),
    ],
)
def test_generation_depends_on_the_model(
    blocks: list[str], tmp_path: Path, model_type: str, expected: Any
) -> None:
    row = {"question": "[Q]", "answer": "forty"}
    one = compile_one(tmp_path, blocks[9], [row], model_type=model_type)
    assert [instance["source"] for instance in list_asks(one)] == [expected]
    (sample,) = one.task.samples()
    assert sample.targets == ("forty",)
    assert [name.partition("(")[0] for name in one.task.spec.settings["metrics"]] == ["Em", "F1"]


def test_an_instruction_from_the_command_line_wins(blocks: list[str], tmp_path: Path) -> None:
    row = {"question": "[Q]", "answer": "forty"}
    one = compile_one(tmp_path, blocks[9], [row], instruction="Say: {question}")
    assert list_asks(one)[0]["source"] == "Say: [Q]"


def test_several_turns(blocks: list[str], tmp_path: Path) -> None:
    row = {"question_1": "First?", "question_2": "Second?"}
    with pytest.raises(AuthorError, match=r"LLMBOX-006.*return self.evaluation_data"):
        compile_one(tmp_path, blocks[10], [row], model_type="chat")
    rows = "    @property\n    def references(self):\n        return self.evaluation_data\n"
    one = compile_one(tmp_path, blocks[10].replace("    ...\n", rows, 1), [row], model_type="chat")
    (instance,) = list_asks(one)
    assert instance["source"] == (Message("user", "First?"),)
    assert instance["turns"] == ("Second?",)


def test_references(blocks: list[str], tmp_path: Path) -> None:
    body = blocks[4].split("class MyDataset(MultipleChoiceDataset):\n", 1)[1]
    text = blocks[11].replace("    ...\n", body)
    one = compile_one(tmp_path, text, [QUESTION | {"answer": 2}])
    (sample,) = one.task.samples()
    assert sample.gold == (2,)


def hub_with_two_subsets(folder: Path) -> Path:
    for subset in ("subset1", "subset2", "other"):
        place = folder / "path" / subset
        place.mkdir(parents=True)
        for split in ("test", "dev"):
            (place / f"{split}.jsonl").write_text(
                f'{{"q": "{subset} {split}", "answer": "yes"}}\n', encoding="utf-8"
            )
    (folder / "hub.json").write_text('{"huggingface/path": "path"}', encoding="utf-8")
    return folder


def test_the_whole_class_with_its_spellings(blocks: list[str], tmp_path: Path) -> None:
    """`category_subsets`, `reference` and `eval_data` are other names, used by the document once."""
    hub = hub_with_two_subsets(tmp_path / "hub")
    text = blocks[12].replace("def NewDataset", "class NewDataset", 1)
    text = 'def func(row, examples):\n    return row["q"], row["answer"] + str(len(examples))\n\n' + text
    with pytest.raises(AuthorError, match=r"DATA-001.*did you mean .subset2"):
        compile_text(tmp_path, text, hub=hub)
    both = compile_text(tmp_path, text, hub=hub, selection=":[Group]")
    assert [one.task.spec.name for one in both] == ["my_dataset:subset1", "my_dataset:subset2"]
    assert [one.task.spec.categories for one in both] == [("Group",), ("Group",)]
    assert list_asks(both[0])[0]["source"] == "Answer the following question.\n\nsubset1 test"
    assert list_asks(both[0])[0]["sampling"].temperature == 0
    (sample,) = both[0].task.samples()
    assert sample.targets == ("yes",)
    shots = compile_text(tmp_path, text, hub=hub, selection=":subset1", settings={"shots": 1})
    assert list_asks(shots[0])[0]["source"] == (
        "Answer the following question.\n\nsubset1 dev yes1\n\nAnswer the following question.\n\nsubset1 test"
    )


def test_def_for_class_is_reported(blocks: list[str], tmp_path: Path) -> None:
    with pytest.raises(AuthorError) as caught:
        compile_text(tmp_path, blocks[12])
    (problem,) = caught.value.problems
    assert problem.code == "LLMBOX-002"
    assert problem.fix == "write class NewDataset(GenerationDataset):"
    assert problem.where is not None
    assert problem.where.line == 1
