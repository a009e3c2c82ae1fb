"""Rows repeated with permuted options: the answer follows its text."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import AuthorError
from assay.core.sample import Sample
from assay.dialects.openicl.circular import build_circular_rows
from fakes.configs import compile_config


@given(st.integers(2, 4), st.data(), st.sampled_from(["circular", "all_possible"]))
def test_the_answer_stays_with_its_text(
    n: int, data: st.DataObject, pattern: Literal["circular", "all_possible"]
) -> None:
    keys = list("ABCD"[:n])
    answers = data.draw(st.lists(st.sampled_from(keys), max_size=3))
    rows = [{**{key: f"{at}{key}" for key in keys}, "answer": one} for at, one in enumerate(answers)]
    made = list(build_circular_rows(rows, keys, "answer", pattern))
    per_row = n if pattern == "circular" else factorial(n)
    assert len(made) == per_row * len(rows)
    for at, turned in enumerate(made):
        original = rows[at // per_row]
        assert turned["qid"] == at // per_row
        assert turned[turned["answer"]] == original[original["answer"]]
        assert sorted(turned[key] for key in keys) == sorted(original[key] for key in keys)
        assert [turned[place] for place in turned["circular_pattern"]] == [original[key] for key in keys]
    assert [{key: one[key] for key in (*keys, "answer")} for one in made[::per_row]] == rows


@pytest.mark.parametrize(
    ("row", "says"),
    [({"A": "x", "B": "y", "answer": "b"}, "row 1: 'answer' is 'b'"), ({"A": "x", "answer": "A"}, "no 'B'")],
)
def test_a_row_that_cannot_be_turned(row: dict[str, str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        list(build_circular_rows([row], ["A", "B"], "answer"))


def test_options_and_patterns_that_are_none() -> None:
    with pytest.raises(ValueError, match="at least two"):
        list(build_circular_rows([], ["A"], "answer"))
    with pytest.raises(ValueError, match="no pattern"):
        list(build_circular_rows([], ["A", "B"], "answer", "spiral"))  # type: ignore[arg-type]


def test_an_answer_that_is_no_key_moves_as_the_author_says() -> None:
    def move(row: dict[str, Any], order: tuple[str, ...]) -> dict[str, Any]:
        return {**row, "label": int(order[row["label"]][-1])}

    rows = [{"option0": "yes", "option1": "no", "option2": "maybe", "label": 2}]
    made = list(build_circular_rows(rows, ["option0", "option1", "option2"], None, move_answer=move))
    assert [one[f"option{one['label']}"] for one in made] == ["maybe"] * 3
    assert [one["label"] for one in made] == [2, 0, 1]


# --- authors' classes ---

TURNED = """
from datasets import Dataset, DatasetDict

from opencompass.datasets.circular import CircularDatasetMeta

from .base import BaseDataset


class QuizDataset(BaseDataset):
    @staticmethod
    def load(path):
        rows = [{"question": "2 + 2?", "A": "3", "B": "4", "answer": "B"}]
        return ROWS


class TurnedDataset(QuizDataset, metaclass=CircularDatasetMeta):
    dataset_class = QuizDataset
"""
CONFIG = """
from opencompass.datasets import TurnedDataset
from opencompass.datasets.circular import CircularEvaluator
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

quiz_datasets = [dict(
    type=TurnedDataset, abbr="quiz", path="here",
    reader_cfg=dict(input_columns=["question", "A", "B"], output_column="answer"),
    infer_cfg=dict(
        prompt_template=dict(type=PromptTemplate, template="{question} A. {A} B. {B}"),
        retriever=dict(type=ZeroRetriever),
        inferencer=dict(type=GenInferencer),
    ),
    eval_cfg=dict(evaluator=dict(type=CircularEvaluator)),
    MORE
)]
"""
SAID = """    default_option_keys = ["A", "B"]
    default_answer_key = "answer"
"""


def turned(folder: Path, rows: str, message: str, more: str = "") -> list[Sample]:
    (folder / "quiz.py").write_text(TURNED.replace("ROWS", rows) + message, encoding="utf-8")
    (folder / "quiz_gen.py").write_text(CONFIG.replace("MORE", more), encoding="utf-8")
    (one,) = compile_config(folder / "quiz_gen.py")
    return list(one.task.samples())


def list_questions(samples: Sequence[Sample]) -> list[tuple[Any, Any, Any]]:
    return [(one.fields["A"], one.fields["B"], one.fields["answer"]) for one in samples]


ORIGINAL, MOVED = ("3", "4", "B"), ("4", "3", "A")


def test_a_class_is_turned_by_its_metaclass(workdir: Path) -> None:
    samples = turned(workdir, "Dataset.from_list(rows)", SAID)
    assert list_questions(samples) == [ORIGINAL, MOVED]
    assert len({one.cluster for one in samples}) == 1


def test_of_several_splits_those_that_are_named_are_turned(workdir: Path) -> None:
    splits = "DatasetDict(train=Dataset.from_list(rows), test=Dataset.from_list(rows))"
    assert list_questions(turned(workdir, splits, SAID)) == [ORIGINAL]
    only_test = SAID + '    default_circular_splits = ["test"]\n'
    assert list_questions(turned(workdir, splits, only_test)) == [ORIGINAL, MOVED]


def test_an_entry_names_the_columns_that_the_class_does_not(workdir: Path) -> None:
    more = 'option_keys=["A", "B"], answer_key="answer", circular_patterns="all_possible",'
    assert list_questions(turned(workdir, "Dataset.from_list(rows)", "", more)) == [ORIGINAL, MOVED]


def test_a_class_that_does_not_say_what_is_turned(workdir: Path) -> None:
    with pytest.raises(AuthorError, match="must name the columns of the options"):
        turned(workdir, "Dataset.from_list(rows)", "")
