"""WinoGrande: which of two names does the gap stand for?

A row: {"sentence": "Sarah was a much better surgeon than Maria so _ always got the easier cases.",
        "option1": "Sarah", "option2": "Maria", "answer": "2"}

Both names are put into the gap, and what follows the gap is scored after each.
"""

from functools import cached_property

from .multiple_choice_dataset import MultipleChoiceDataset


class Winogrande(MultipleChoiceDataset):
    """Two contexts and one completion."""

    instruction = "{source}"
    load_args = ("winogrande",)
    evaluation_set = "validation"
    # The only split that is here. A row is never shown itself.
    example_set = "validation"

    def format_instance(self, instance):
        before, _, after = instance["sentence"].partition("_")
        return dict(
            source=[before + instance["option1"], before + instance["option2"]],
            source_idx=self._answer(instance),
            target=after,
        )

    @cached_property
    def references(self):
        return [self._answer(instance) for instance in self.evaluation_data]

    def _answer(self, instance):
        return int(instance["answer"]) - 1
