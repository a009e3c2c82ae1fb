from .generation_dataset import GenerationDataset


def first_word(text):
    text.split()[:1]


class Finds(GenerationDataset):
    instruction = "{{question}}"
    metrics = [Em()]

    def load_raw_dataset(self, dataset_path, subset_name, evaluation_set, example_set):
        self.evaluation_data = [dict(question="Capital of France?", answer="Paris")]

    def format_instance(self, instance):
        return dict(question=instance["question"], target=instance["answer"])

    @staticmethod
    def post_processing(predictions):
        return [first_word(text) for text in predictions]

    @property
    def references(self):
        return [[row["answer"]] for row in self.evaluation_data]
