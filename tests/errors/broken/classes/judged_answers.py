from .generation_dataset import GenerationDataset


class Judged(GenerationDataset):
    instruction = "{{question}}"
    metrics = [GPTEval()]

    def load_raw_dataset(self, dataset_path, subset_name, evaluation_set, example_set):
        self.evaluation_data = [dict(question="Capital of France?", answer="Paris")]

    def format_instance(self, instance):
        return dict(question=instance["question"], target=instance["answer"])

    @property
    def references(self):
        return [row["answer"] for row in self.evaluation_data]
