from functools import cached_property

from .multiple_choice_dataset import MultipleChoiceDataset
from .utils import load_raw_dataset_from_file


class Questions(MultipleChoiceDataset):
    instruction = "Question: {{ question }}{{ '\n' + options if options }}\nAnswer:"

    def load_raw_dataset(self, dataset_path, subset_name, evaluation_set, example_set):
        self.evaluation_data = load_raw_dataset_from_file("../questions.csv")
        self.example_data = load_raw_dataset_from_file("../solved.csv")

    def format_instance(self, instance):
        return dict(
            question=instance["question"],
            options=[instance[label] for label in "ABCD"],
            target_idx="ABCD".index(instance["answer"]),
        )

    @cached_property
    def references(self):
        return ["ABCD".index(instance["answer"]) for instance in self.evaluation_data]
