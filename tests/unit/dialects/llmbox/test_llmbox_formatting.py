"""From a row to its prompt: every key of the document's table, with its value and type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import AuthorError
from assay.core.method import Method
from assay.dialects.llmbox.formatting import BadInstance, _InstanceFields, letter
from fakes.classes import compile_one, compile_text, list_asks

ALL = """
class All(MultipleChoiceDataset):
    instruction = (
        "{{source}}|{{source_idx}}|{{options if options}}|{{target}}|{{target_idx}}|{{num_turns}}|"
        "{{turn_idx}}|{{real_num_shots}}|{{example_idx}}|{{dataset_name}}|{{subset_name}}|{{display_name}}|{{own}}"
    )

    def format_instance(self, instance):
        made = dict(source=instance["q"], options=list(instance["options"]), own="mine")
        made["label" if instance.get("by_label") else "target_idx"] = instance["answer"]
        return made
"""
ROW = {"q": "Q", "options": ["x", " y"], "answer": 1}
EXAMPLE = {"q": "E", "options": ["v", "w"], "answer": 0}


def fields(text: str) -> dict[str, str]:
    names = (
        "source source_idx options target target_idx num_turns turn_idx real_num_shots example_idx "
        "dataset_name subset_name display_name own"
    )
    return dict(zip(names.split(), text.split("|"), strict=True))


@pytest.mark.parametrize("key", ["target_idx", "label"])
@pytest.mark.parametrize("faithful", [False, True])
@pytest.mark.parametrize("method", ["ppl", "prob", "gen"])
def test_every_key_that_an_instruction_may_name(
    tmp_path: Path, method: str, faithful: bool, key: str
) -> None:
    more = {"by_label": key == "label"}
    one = compile_one(
        tmp_path,
        ALL,
        [ROW | more],
        examples=[EXAMPLE | more, EXAMPLE | more | {"q": "F"}],
        settings={"methods": (method,), "shots": 2, "is_faithful": faithful},
    )
    whole = list_asks(one)[0]["source"]
    *shown, question = whole.split("\n\n")
    assert len(shown) == 2
    by_text = method == "ppl"
    expected = {
        "source": "Q",
        "source_idx": "None",
        "options": "" if by_text else "A. x\nB. y",
        "target": " y" if by_text else "B",
        "target_idx": "1",
        "num_turns": "1" if faithful else "0",
        "turn_idx": "0",
        "real_num_shots": "2",
        "example_idx": "-1",
        "dataset_name": "my_dataset",
        "subset_name": "None",
        "display_name": "my_dataset",
        "own": "mine",
    }
    assert fields(question) == expected
    for place, text in enumerate(shown):
        example = fields(text.removesuffix("v" if by_text else "A").removesuffix(" "))
        assert example["example_idx"] == str(place)
        assert example["turn_idx"] == ("0" if faithful else "-1")
        assert example["target"] == ("v" if by_text else "A")
        assert example["real_num_shots"] == "2"


def test_names_of_a_subset(tmp_path: Path) -> None:
    for subset in ("one", "two"):
        (tmp_path / f"{subset}.jsonl").write_text('{"q": "Q"}\n', encoding="utf-8")
    text = """
class Named(GenerationDataset):
    instruction = "{dataset_name}|{subset_name}|{display_name}"
    metrics = []
    load_args = ("named",)
    def format_instance(self, instance):
        return dict(target="t")
"""
    two = compile_text(tmp_path, text, selection=":one,two", dataset_path=str(tmp_path / "{subset}.jsonl"))
    assert [list_asks(one)[0]["source"] for one in two] == [
        "my_dataset|one|my_dataset:one",
        "my_dataset|two|my_dataset:two",
    ]


def test_turns(tmp_path: Path) -> None:
    text = """
class Turns(GenerationDataset):
    instruction = "{{source[turn_idx]}} {{turn_idx}} of {{num_turns}}"
    metrics = []
    multi_turn = True
    def format_instance(self, instance):
        return dict(source=instance["turns"])
"""
    one = compile_one(tmp_path, text, [{"turns": ["a", "b", "c"]}])
    (instance,) = list_asks(one)
    assert (instance["source"], instance["turns"]) == ("a 0 of 3", ("b 1 of 3", "c 2 of 3"))


MUTATING = """
class Same(MultipleChoiceDataset):
    instruction = "{q}"

    def format_instance(self, instance):
        instance["target_idx"] = instance["answer"]
        instance["added"] = instance["q"].upper()
        self.last = instance
        return instance

    @property
    def references(self):
        self.written = [sorted(row) for row in self.evaluation_data]
        self.values = [(row["added"], row["options"], row["target"]) for row in self.evaluation_data]
        return [row["answer"] for row in self.evaluation_data]
"""


def test_rows_are_changed_in_place(tmp_path: Path) -> None:
    """References may read what format_instance and the framework wrote into the row."""
    one = compile_one(tmp_path, MUTATING, [ROW], settings={"methods": ("prob",)})
    dataset: Any = one.task._prepared[Method.PROB].dataset
    (row,) = dataset.evaluation_data
    assert dataset.last is row
    assert row["options"] == "A. x\nB. y"
    assert row["target"] == "B"
    made = "source source_idx target_idx example_idx turn_idx num_turns dataset_name subset_name display_name"
    assert set(row) >= {*made.split(), "real_num_shots"}
    # What is stored of the row is what was read.
    (sample,) = one.task.samples()
    assert sample.fields == ROW


def test_labels_are_put_into_the_list_that_was_returned(tmp_path: Path) -> None:
    text = MUTATING.replace(
        'instance["added"]', 'self.listed = instance["options"]\n        instance["added"]'
    )
    one = compile_one(tmp_path, text, [ROW], settings={"methods": ("prob",)})
    dataset: Any = one.task._prepared[Method.PROB].dataset
    assert dataset.listed == ["A. x", "B. y"]
    (sample,) = one.task.samples()
    assert sample.choices == ("x", " y")


def test_a_row_that_is_twice_is_reported(tmp_path: Path) -> None:
    text = MUTATING + (
        "    def load_raw_dataset(self, *_):\n"
        '        self.evaluation_data = [dict(q="Q", options=["x", "y"], answer=0)] * 2\n'
    )
    with pytest.raises(AuthorError, match=r"row 2: .*reserved for the framework"):
        compile_one(tmp_path, text)


@pytest.mark.parametrize("key", ["dataset_name", "subset_name", "display_name", "real_num_shots"])
def test_keys_that_only_the_framework_sets(tmp_path: Path, key: str) -> None:
    text = ALL.replace('own="mine"', f'own="mine", {key}="x"')
    with pytest.raises(AuthorError, match=rf"LLMBOX-004.*row 1.*'{key}'"):
        compile_one(tmp_path, text, [ROW])


INDEXES = [
    (1, 1),
    (np.int64(1), 1),
    (np.uint8(1), 1),
    (np.bool_(True), 1),
    (True, 1),
    ("1", 1),
    (" 1 ", 1),
    (np.array(1), 1),
    (0, 0),
    (None, None),
]


@pytest.mark.parametrize(("value", "expected"), INDEXES)
def test_indexes_of_every_kind(value: Any, expected: int | None) -> None:
    for key in ("target_idx", "label"):
        taken = _InstanceFields.from_author({key: value, "options": ["a", "b"]}, is_ranking=True)
        assert taken.gold == expected
        assert taken.gold is None or type(taken.gold) is int


@pytest.mark.parametrize("value", ["B", "", "-1", "1.0", "²", 1.0, np.float64(1), [1]])
def test_what_is_no_index_is_reported(value: Any) -> None:
    with pytest.raises(BadInstance, match="target_idx"):
        _InstanceFields.from_author({"target_idx": value, "options": ["a", "b"]}, is_ranking=True)


def test_a_label_may_mean_something_else(tmp_path: Path) -> None:
    assert (
        _InstanceFields.from_author({"label": "entailment", "options": ["a"]}, is_ranking=True).gold is None
    )
    assert _InstanceFields.from_author({"label": -1, "options": ["a"]}, is_ranking=True).gold is None
    assert _InstanceFields.from_author({"label": 3}, is_ranking=False).gold is None


@pytest.mark.parametrize("answer", [2, -1, 7])
def test_an_index_out_of_range(tmp_path: Path, answer: int) -> None:
    with pytest.raises(AuthorError, match=rf"LLMBOX-004.*row 2: target_idx is {answer}, .* 2 options"):
        compile_one(tmp_path, ALL, [ROW, ROW | {"answer": answer}])


def test_options_may_be_a_tuple(tmp_path: Path) -> None:
    text = ALL.replace('list(instance["options"])', 'tuple(instance["options"])')
    one = compile_one(tmp_path, text, [ROW], settings={"methods": ("prob",)})
    assert "A. x\nB. y" in list_asks(one)[0]["source"]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ('source=["a", 3], source_idx=0, target="t"', "expected texts"),
        ('source=["a", "b"], target="t"', "source_idx is None"),
        ('source=["a", "b"], source_idx=2, target="t"', "source_idx is 2"),
        ('source=["a", "b"], source_idx=0', "target"),
        ('source="a", options=["x", 3], target_idx=0', "an option is 3"),
        ('source="a", options=["x", "y"], target=3', "target is 3"),
    ],
)
def test_values_of_the_wrong_kind(tmp_path: Path, returned: str, message: str) -> None:
    text = f"""
class Wrong(MultipleChoiceDataset):
    instruction = "{{source}}"
    def format_instance(self, instance):
        return dict({returned})
"""
    with pytest.raises(AuthorError, match=message):
        compile_one(tmp_path, text, [{"q": 1}])


@given(st.integers(0, 2000))
def test_labels_of_options_are_like_columns_of_a_sheet(n: int) -> None:
    number = 0
    for char in letter(n):
        number = number * 26 + ord(char) - ord("A") + 1
    assert number == n + 1
