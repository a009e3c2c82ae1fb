"""MT-Bench: 80 conversations of two questions, each answer graded from 1 to 10 by a judge (`--judge MODEL`).

A row: {"question_id": 81, "category": "writing",
        "turns": ["Compose an engaging travel blog post about a recent trip to Hawaii, ...",
                  "Rewrite your previous response. Start every sentence with the letter A."]}

Questions with a right answer have a reference answer in a file of their own, which the judge is shown.
"""

from functools import cached_property

from ..metric import GPTEval
from .generation_dataset import GenerationDataset
from .utils import get_raw_dataset_loader


class MtBench(GenerationDataset):
    """The second question is asked once the first is answered."""

    instruction = "{{ source[turn_idx] }}"
    metrics = [GPTEval(multi_turn=True)]
    multi_turn = True
    load_args = ("mt_bench", "question")
    evaluation_set = "test"
    category_column = "category"
    extra_model_args = dict(temperature=0, max_tokens=1024)

    def load_raw_dataset(self, dataset_path, subset_name, evaluation_set, example_set):
        super().load_raw_dataset(dataset_path, subset_name, evaluation_set, example_set)
        folder = "mt_bench/mt_bench/reference_answer"
        load = get_raw_dataset_loader(folder, dataset_path, "gpt-4", (folder,), {})
        known = {row["question_id"]: row["choices"][0]["turns"] for row in load("test")}
        for row in self.evaluation_data:
            answers = known.get(row["question_id"], [])
            # The judge looks for these keys.
            for turn, question in enumerate(row["turns"], 1):
                row[f"question_{turn}"] = question
            for turn, answer in enumerate(answers, 1):
                row[f"ref_answer_{turn}"] = answer

    def format_instance(self, instance):
        return dict(source=instance["turns"])

    @cached_property
    def references(self):
        return self.evaluation_data
