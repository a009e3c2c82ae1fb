from .multiple_choice_dataset import MultipleChoiceDataset


class Capitals(MultipleChoiceDataset):
    instruction = "{{question}}"

    def load_raw_dataset(self, dataset_path, subset_name, evaluation_set, example_set):
        self.evaluation_data = [
            dict(question="Capital of France?", options=["Rome", "Paris"], answer=1),
            dict(question="Capital of Italy?", options=["Rome", "Paris"], answer=0),
        ]

    def format_instance(self, instance):
        return dict(
            question=instance["question"],
            target_idx=instance["answer"],
        )

    @property
    def references(self):
        return [row["answer"] for row in self.evaluation_data]
