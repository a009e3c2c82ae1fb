"""BIG-Bench Hard: 27 tasks with answers of many kinds: (A), True, valid, 24, sorted words, brackets.

A row: {"input": "not ( True ) and ( True ) is", "target": "False"}

Every task has a file with a description and three problems solved in steps. `--shots 3 --cot base` makes the
prompt of the paper; without `--cot` the same problems are shown with the bare answers.
"""

import re
from functools import cached_property

from ..metric import Accuracy
from .generation_dataset import GenerationDataset
from .utils import get_raw_dataset_loader

LEAD = " Let's think step by step."


class Bbh(GenerationDataset):
    """Answers are compared as they stand: normal forms drop brackets, which are whole answers here."""

    instruction = (
        "{% if example_idx == 0 or not real_num_shots %}{{ description }}\n\n{% endif %}"
        "Q: {{ input }}\nA:{{ lead }}"
    )
    metrics = [Accuracy()]
    load_args = ("bbh",)
    evaluation_set = "test"
    supported_cot = ["base"]
    extra_model_args = dict(temperature=0, max_tokens=1024, stop=["\n\nQ:"])

    def load_raw_dataset(self, dataset_path, subset_name, evaluation_set, example_set):
        super().load_raw_dataset(dataset_path, subset_name, evaluation_set, example_set)
        load = get_raw_dataset_loader("bbh/cot-prompts", dataset_path, subset_name, ("bbh/cot-prompts",), {})
        text = "\n".join(row["text"] for row in load("test"))
        # A mark that keeps the file out of training data stands above the line.
        _, _, prompt = text.partition("\n-----\n")
        self.description, *problems = prompt.strip().split("\n\nQ: ")
        self.example_data = []
        for problem in problems:
            question, _, solution = problem.partition("\nA:")
            self.example_data.append({"input": question, "target": solution})

    def format_instance(self, instance):
        solution = instance["target"]
        return dict(
            description=self.description,
            input=instance["input"],
            lead=LEAD if self.cot else "",
            target=solution.removeprefix(LEAD) if self.cot else _answer(solution),
        )

    def post_processing(self, predictions):
        return [_answer(text) for text in predictions]

    @cached_property
    def references(self):
        return [instance["target"] for instance in self.evaluation_data]


def _answer(text):
    """Return what follows the last "the answer is", without the full stop; else of the first line."""
    _, said, after = text.rpartition("the answer is")
    line = (after if said else text).strip(" \n:").partition("\n")[0].strip()
    return re.sub(r"\.$", "", line)
