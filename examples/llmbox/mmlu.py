"""MMLU: multiple choice in 57 subjects, of four categories.

A row: {"question": "Find the index of <p> in S_5.", "choice0": "8", "choice1": "2", "choice2": "24",
        "choice3": "120", "answer": 2}

`mmlu.py:anatomy,virology` takes two subjects, `mmlu.py:[stem]` a category. Each has five solved rows (dev).
"""

from functools import cached_property

from ..dataset_enum import MMLU_SUBJECTS
from .multiple_choice_dataset import MultipleChoiceDataset


class Mmlu(MultipleChoiceDataset):
    """Each subset is scored by itself; categories and the whole are means over subsets."""

    instruction = (
        "The following are multiple choice questions (with answers) about "
        "{{ subset_name.replace('_', ' ') }}.\n\n"
        "Question: {{ question }}{{ '\n' + options if options }}\nAnswer:"
    )
    load_args = ("cais/mmlu",)
    evaluation_set = "test"
    example_set = "dev"
    categorized_subsets = MMLU_SUBJECTS
    # All subjects once more, in the hub's version.
    banned_subsets = ["all", "auxiliary_train"]

    def format_instance(self, instance):
        return dict(
            question=instance["question"].strip(),
            options=[str(instance[f"choice{number}"]) for number in range(4)],
            target_idx=instance["answer"],
        )

    @cached_property
    def references(self):
        return [instance["answer"] for instance in self.evaluation_data]
