from .multiple_choice_dataset import MultipleChoiceDataset


class Contexts(MultipleChoiceDataset):
    instruction = "{source}"

    def load_raw_dataset(self, dataset_path, subset_name, evaluation_set, example_set):
        self.evaluation_data = [dict(a="Snow is", b="Coal is", end="white", answer=0)]

    def format_instance(self, instance):
        return dict(source=[instance["a"], instance["b"]], source_idx=instance["answer"], target=instance["end"])
