"""Which examples stand before a row: never the row itself, nor one that asks the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fakes.classes import compile_one, list_asks

CHOICES = """
from ..metric import Accuracy
from .multiple_choice_dataset import MultipleChoiceDataset

class Fruit(MultipleChoiceDataset):
    instruction = "Q: {question}\\nA:"
    metrics = [Accuracy()]
    def format_instance(self, instance):
        return dict(question=instance["question"], options=instance["options"], target_idx=instance["gold"])
    @property
    def references(self):
        return [row["gold"] for row in self.evaluation_data]
"""


def row(question: str, *options: str, gold: int = 0, **more: Any) -> dict[str, Any]:
    return {"question": question, "options": list(options) or ["yes", "no"], "gold": gold, **more}


def sources(
    rows: list[dict[str, Any]], examples: list[dict[str, Any]], folder: Path, **more: Any
) -> list[str]:
    """Return the text before each row's first option."""
    one = compile_one(folder, CHOICES, rows, examples=examples, **more)
    return [list_asks(one, number)[0]["source"] for number in range(len(rows))]


def test_a_row_is_not_its_own_example(tmp_path: Path) -> None:
    rows = [row("one"), row("two")]
    first, second = sources(rows, rows, tmp_path, settings={"shots": 2})
    assert (first.count("one"), first.count("two")) == (1, 1)
    assert (second.count("one"), second.count("two")) == (1, 1)


def test_nor_is_a_repeated_row(tmp_path: Path) -> None:
    rows = [row("one"), row("one")]
    for source in sources(rows, [row("one"), row("other")], tmp_path, settings={"shots": 2}):
        assert source.count("one") == 1
        assert "other" in source


def test_nor_one_that_asks_the_same_in_another_form(tmp_path: Path) -> None:
    pool = [row("ONE  ", "no", "yes", gold=1, number=7), row("other")]
    (source,) = sources([row("one")], pool, tmp_path, settings={"shots": 2})
    assert source.casefold().count("one") == 1


def test_the_same_words_about_other_options_are_another_question(tmp_path: Path) -> None:
    pool = [row("which?", "a cat", "a dog")]
    (source,) = sources([row("which?", "a cow", "a hen")], pool, tmp_path, settings={"shots": 1})
    assert "a cat" in source


def test_asking_for_more_examples_than_there_are_changes_nothing(tmp_path: Path) -> None:
    one = compile_one(tmp_path, CHOICES, [row("one")], examples=[row("two")], settings={"shots": 1})
    (sample,) = one.task.samples()
    assert one.task.requests(sample, shots=1) == one.task.requests(sample)
    assert one.task.requests(sample, shots=9) == one.task.requests(sample)
