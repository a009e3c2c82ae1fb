from .generation_dataset import GenerationDataset


class Talk(GenerationDataset):
    instruction = "{{source[turn_idx]}}"
    multi_turn = True
    metrics = []

    def load_raw_dataset(self, dataset_path, subset_name, evaluation_set, example_set):
        self.evaluation_data = [dict(text="Name a fruit."), dict(text="Name another.")]

    def format_instance(self, instance):
        return dict(source=instance["text"], target="pear")

    @property
    def references(self):
        return ["pear" for _ in self.evaluation_data]
