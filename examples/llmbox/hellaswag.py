"""HellaSwag: which of four endings goes on with the story?

A row: {"activity_label": "Roof shingle removal", "ctx_a": "A man is sitting on a roof.", "ctx_b": "he",
        "endings": ["is using wrap to wrap a pair of skis.", "is ripping level tiles off.", ...],
        "label": "3", ...}
"""

import re
from functools import cached_property

from .multiple_choice_dataset import MultipleChoiceDataset


class Hellaswag(MultipleChoiceDataset):
    """Texts from WikiHow carry marks of their steps, which are taken out."""

    instruction = "{{ activity }}: {{ context }}{{ '\n' + options + '\nAnswer:' if options }}"
    load_args = ("hellaswag",)
    evaluation_set = "validation"
    # The only split that is here. A row is never shown itself.
    example_set = "validation"

    def format_instance(self, instance):
        begun = instance["ctx_b"][:1].upper() + instance["ctx_b"][1:]
        return dict(
            activity=instance["activity_label"],
            context=_without_marks(f"{instance['ctx_a']} {begun}"),
            options=[_without_marks(ending) for ending in instance["endings"]],
            target_idx=int(instance["label"]),
        )

    @cached_property
    def references(self):
        return [int(instance["label"]) for instance in self.evaluation_data]


def _without_marks(text):
    text = text.strip().replace(" [title]", ". ")
    return re.sub(r" {2,}", " ", re.sub(r"\[[^\]]*\]", "", text))
