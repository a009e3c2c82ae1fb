"""IFEval: prompts with instructions that a program can check, read strictly and loosely.

A row: {"key": 1000, "prompt": "Write a 300+ word summary ... Do not use any commas ...",
        "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
        "kwargs": [{}, {"relation": "at least", "num_words": 300}]}
"""

from functools import cached_property

from ..metric import IFEval
from .generation_dataset import GenerationDataset


class Ifeval(GenerationDataset):
    """The prompt is asked as it stands; the whole row says what to check."""

    instruction = "{prompt}"
    metrics = [IFEval(type="strict"), IFEval(type="loose")]
    load_args = ("ifeval", "input_data")
    evaluation_set = "test"
    extra_model_args = dict(temperature=0, max_tokens=1280)

    def format_instance(self, instance):
        return dict(prompt=instance["prompt"])

    @cached_property
    def references(self):
        return self.evaluation_data
