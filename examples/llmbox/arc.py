"""ARC: science questions of grade schools, in an easy and a hard set.

A row: {"id": "MCAS_2000_4_6", "question": "Which technology was developed most recently?",
        "choices": {"text": ["cellular telephone", "television", "refrigerator", "airplane"],
                    "label": ["A", "B", "C", "D"]},
        "answerKey": "A"}
"""

from functools import cached_property

from .multiple_choice_dataset import MultipleChoiceDataset


class Arc(MultipleChoiceDataset):
    """Options are judged by how much likelier the question makes them."""

    instruction = "Question: {{ question }}{{ '\n' + options if options }}\nAnswer:"
    load_args = ("allenai/ai2_arc",)
    evaluation_set = "validation"
    # The only split that is here. A row is never shown itself.
    example_set = "validation"
    use_normalization = True
    normalization_prompt = "Question: \nAnswer:"

    def format_instance(self, instance):
        return dict(
            question=instance["question"],
            options=instance["choices"]["text"],
            target_idx=self._answer(instance),
        )

    @cached_property
    def references(self):
        return [self._answer(instance) for instance in self.evaluation_data]

    def _answer(self, instance):
        # Labels are letters in most rows and digits in some.
        return instance["choices"]["label"].index(instance["answerKey"])
