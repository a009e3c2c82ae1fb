from .generation_dataset import GenerationDataset


class Weather(GenerationDataset):
    instruction = "{source}"
    metrics = [Em()]
    load_args = ("weather",)
    evaluation_set = "test"
    categorized_subsets = {"warm": ["soth", "east"], "cold": ["north"]}

    def format_instance(self, instance):
        return dict(source=instance["q"], target=instance["a"])
